
// y[r] = table[ids[r]], zeros for an id below 0; a thread per element.
fn run(group: u32, thread: u32) {
  let i = group * 64u + thread;
  if (i >= rows() * cols) { return; }
  let id = bitcast<i32>(bits_ids(i / cols));
  if (id < 0) {
    put_y(i, 0u);
  } else {
    put_y(i, bits_table(u32(id) * cols + i % cols));
  }
}
