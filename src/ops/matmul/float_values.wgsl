
// The value of column c of a matrix row, as Matrix::decode_row() has it.
fn decoded(row: u32, c: u32) -> f32 {
  if (kind < 4u) { return element(row, c); }
  return snap(mul(mul(element(row, c), unit_of()), load_row_scales(row)));
}
