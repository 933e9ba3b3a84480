
// d = d / sums of its column, or d, less what it counts from; 0 where the sum is no larger than the threshold. A thread per
// element.
// f32: threshold
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let sum = load_sums(i % cols());
  if (!greater(sum, threshold())) {
    put_d(i, 0u);
    return;
  }
  var gap = load_d(i);
  if (divides != 0u) { gap = snap(div(gap, sum)); }
  if (has_base != 0u) { gap = sub(gap, load_base(i)); }
  store_d(i, snap(gap));
}
