
// Normal numbers by Box and Muller: uniforms 2k and 2k + 1 of the stream give the numbers 2k and 2k + 1; a thread per
// element.
// f32: scale
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let stream = RandomStream(vec2<u32>(seed_low(), seed_high()), domain, step(), site());
  let u = uniform_of(random_word(stream, i & ~1u));
  let v = uniform_of(random_word(stream, i | 1u));
  let radius = root(mul(-2.0, log_f(u)));
  let angle = mul(0x1.921fb6p+2, v);  // two pi
  var wave = cos_f(angle);
  if ((i & 1u) != 0u) { wave = sin_f(angle); }
  store_y(i, snap(mul(scale(), snap(mul(radius, snap(wave))))));
}
