
// Scale and zero point of the span that a weight lies in; of one scale for all, per_row is 0. Fixed: has_scales, has_zeros.
fn span_of(row: u32, col: u32) -> u32 { return row * per_row() + col / group_cols(); }
fn scale_of(span: u32) -> f32 {
  if (has_scales == 0u) { return 1.0; }
  return load_spans(2u * span);
}
fn zero_of(span: u32) -> i32 {
  if (has_zeros == 0u) { return 0; }
  return bitcast<i32>(bits_spans(2u * span + 1u));
}
