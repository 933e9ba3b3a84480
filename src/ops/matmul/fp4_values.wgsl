
// The value of column c of a matrix row of fp4, exactly as Matrix::decode_row() has it.
fn decoded(row: u32, c: u32) -> f32 {
  let panel = row / 16u;
  let block = c / 32u;
  let code = (four_codes(codes_at(panel, block), row % 16u, c % 32u / 4u) >> (8u * (c % 4u))) & 15u;
  return snap(mul(fp4_to_float(code), factors_of(panel, row % 16u, block, 0u).scale));
}
