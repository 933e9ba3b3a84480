
// d = p[., branch] dy, 0 where p is, whatever dy holds; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let weight = load_p(i / width() * branches() + branch());
  var d = 0.0;
  if (!equal(weight, 0.0)) { d = snap(mul(load_dy(i), weight)); }
  store_d(i, d);
}
