
// The decoded row of a matrix, times a factor.
// f32: factor
fn row_bits(row: u32, c: u32) -> u32 {
  let value = decoded(row, c);
  if (scaled == 0u) { return bitcast<u32>(value); }
  return bitcast<u32>(snap(mul(value, factor())));
}
