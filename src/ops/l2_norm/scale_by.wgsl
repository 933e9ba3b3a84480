
// x = snap(snap(first x) second), a factor of 1 left out; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let first = load_clip(2u);
  let second = load_clip(3u);
  if (equal(first, 1.0) && equal(second, 1.0)) { return; }
  var v = load_x(i);
  if (!equal(first, 1.0)) { v = snap(mul(v, first)); }
  store_x(i, snap(mul(v, second)));
}
