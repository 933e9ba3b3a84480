
// w = snap(w + v) within the limit, unless nothing moves or something failed; a thread per element.
// f32: limit
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  if (equal(load_rate(1u), 0.0) || equal(load_figures(0u), 0.0) || bits_failed(0u) != 0u) { return; }
  var next = snap(add(load_w(i), load_v(i)));
  if (greater(limit(), 0.0)) {
    next = select_f(greater(next, limit()), limit(), select_f(less(next, neg(limit())), neg(limit()), next));
  }
  store_w(i, next);
}
