
// Terms of a tile of codes, four at a time.
fn float_of(x: i32) -> f32 {
  if (small_dots != 0u) { return f32(x); }  // exact: |x| < 2^24
  return to_float_i(x);
}
fn four_floats(x: vec4<i32>) -> vec4<f32> { return vec4<f32>(float_of(x.x), float_of(x.y), float_of(x.z), float_of(x.w)); }
fn four_products(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(product(a.x, b.x), product(a.y, b.y), product(a.z, b.z), product(a.w, b.w));
}
fn four_sums(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(add_plain(a.x, b.x), add_plain(a.y, b.y), add_plain(a.z, b.z), add_plain(a.w, b.w));
}
