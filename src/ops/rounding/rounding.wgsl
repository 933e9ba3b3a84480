
// Elements rounded to a narrower float, in place; a thread per element. dropped: bits that the significand loses; the
// least normal number of the type is 2^lowest, the largest below 2^highest. scaled: by the two numbers of `scales`.

// Magnitudes to nearest, ties to even; a carry runs into the exponent, as it should.
fn rounded(size: u32) -> u32 {
  return (size + (1u << (dropped - 1u)) - 1u + ((size >> dropped) & 1u)) & ~((1u << dropped) - 1u);
}

// The same to the distance of the least numbers, for magnitudes below the least normal one.
fn rounded_to_grid(size: f32) -> f32 {
  let shift = bitcast<f32>((127u + lowest() + dropped) << 23u);  // wraps below 0
  return sub(add(size, shift), shift);
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  var v = load_x(i);
  if (scaled != 0u) {
    if (equal(load_scales(0u), 0.0)) { return; }
    v = mul(v, load_scales(0u));
  }
  let size = magnitude_of(v);
  var to = rounded(size);
  if (to >= (127u + highest()) << 23u) { to = 0x7f800000u; }
  if (size < (127u + lowest()) << 23u) { to = bitcast<u32>(rounded_to_grid(abs_f(v))); }
  to |= bitcast<u32>(v) & 0x80000000u;
  var result = bitcast<f32>(select(to, bitcast<u32>(v), is_nan(v)));
  if (scaled != 0u) { result = mul(result, load_scales(1u)); }
  store_x(i, snap(result));
}
