
// y = x mask / keep_share, the mask being 1 where the uniform number of the element is at least `least`, else 0; a
// thread per element.
// f32: least, keep_share
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let stream = RandomStream(vec2<u32>(seed_low(), seed_high()), domain, step(), site());
  let u = uniform_of(random_word(stream, first() + i));
  let mask = keep(select_f(greater_equal(u, least()), 1.0, 0.0));  // what is not finite times 0 is NaN
  store_y(i, snap(div(mul(load_x(i), mask), keep_share())));
}
