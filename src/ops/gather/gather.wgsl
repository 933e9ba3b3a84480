
// y[r] = row ids[r], or row r where `all` are asked for; zeros for an id below 0; a thread per element. row_bits() says what a row holds.
fn run(group: u32, thread: u32) {
  let i = group * 64u + thread;
  if (i >= rows() * cols) { return; }
  var id = i32(i / cols);
  if (all == 0u) { id = bitcast<i32>(bits_ids(i / cols)); }
  if (id < 0) {
    put_y(i, 0u);
  } else {
    put_y(i, row_bits(u32(id), i % cols));
  }
}
