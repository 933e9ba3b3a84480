
// An element of a group of n, and what its row of m asks for. kind: 1 gate, 2 noise, 3 intervention.
fn acts(group: u32) -> bool {
  if (kind == 1u) { return true; }
  return greater(load_m(group * columns()), select_f(kind == 2u, 0.0, 0.5));
}
// 2 u - 1, which is exact.
fn noise_of(i: u32) -> f32 {
  let stream = RandomStream(vec2<u32>(seed_low(), seed_high()), domain, step(), site());
  let u = uniform_of(random_word(stream, counted() + i));
  return sub(add(u, u), 1.0);
}
