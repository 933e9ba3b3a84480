
// y[r] = the decoded row ids[r] of a matrix, times a factor; zeros for an id below 0. A thread per element.
// f32: factor
fn run(group: u32, thread: u32) {
  let i = group * 64u + thread;
  if (i >= rows() * cols) { return; }
  let id = bitcast<i32>(bits_ids(i / cols));
  if (id < 0) {
    put_y(i, 0u);
    return;
  }
  var value = decoded(u32(id), i % cols);
  if (scaled != 0u) { value = snap(mul(value, factor())); }
  store_y(i, value);
}
