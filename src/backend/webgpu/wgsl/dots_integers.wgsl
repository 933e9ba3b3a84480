// The sum of the products of four signed bytes, by integers of 32 bits.
fn dot_bytes(a: u32, b: u32) -> i32 {
  let left = bitcast<vec4<i32>>(vec4<u32>(a << 24u, a << 16u, a << 8u, a)) >> vec4<u32>(24u);
  let right = bitcast<vec4<i32>>(vec4<u32>(b << 24u, b << 16u, b << 8u, b)) >> vec4<u32>(24u);
  let products = left * right;
  return products.x + products.y + products.z + products.w;
}
