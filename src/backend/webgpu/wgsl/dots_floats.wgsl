// The sum of the products of four signed bytes, by floats: every sum is an integer below 2^24, so no step rounds, fused or not,
// in any order.
fn dot_bytes(a: u32, b: u32) -> i32 {
  let left = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(a << 24u, a << 16u, a << 8u, a)) >> vec4<u32>(24u));
  let right = vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(b << 24u, b << 16u, b << 8u, b)) >> vec4<u32>(24u));
  return i32(fma(left.x, right.x, fma(left.y, right.y, fma(left.z, right.z, left.w * right.w))));
}
