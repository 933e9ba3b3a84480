
// The class of every head from its targets: the first of the largest, and the first entry where that is a NaN. Workgroups of 256 threads
// have a head of a row each, as those of head_loss.wgsl.
fn run(group: u32, thread: u32) {
  let row = group / count();
  let head = group % count();
  let base = row * cols() + first() + head * width();
  let largest = first_largest(base, width(), thread);
  if (thread == 0u) { put_classes(row * heads() + first_head() + head, select(largest, 0u, is_nan(load_x(base)))); }
}
