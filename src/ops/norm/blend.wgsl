
// y = a factor_a + b factor_b, a thread per element.
// f32: factor_a, factor_b
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  store_y(i, snap(add(snap(mul(load_a(i), factor_a())), snap(mul(load_b(i), factor_b())))));
}
