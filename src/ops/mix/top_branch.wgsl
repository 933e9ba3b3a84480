
// The branch that takes part with the largest entry of a row, the first of equals, or the number of branches; a thread
// per row.
fn run(group: u32, thread: u32) {
  let row = 64u * group + thread;
  if (row >= groups()) { return; }
  var best = cols();
  for (var i = 0u; i < cols(); i++) {
    if (bits_enabled(i) != 0u && (best == cols() || greater(load_z(row * cols() + i), load_z(row * cols() + best)))) {
      best = i;
    }
  }
  put_best(row, best);
}
