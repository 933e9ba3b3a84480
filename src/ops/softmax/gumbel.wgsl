
// y = x - ln(-ln u), a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let u = uniform_of(random_word(RandomStream(vec2<u32>(seed_low(), seed_high()), domain, step(), site()), first() + i));
  store_y(i, snap(sub(load_x(i), snap(log_f(neg(log_f(u)))))));
}
