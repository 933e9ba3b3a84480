
// The value of column c of a matrix row, exactly as Matrix::decode_row() has it.
fn decoded(row: u32, c: u32) -> f32 {
  let panel = row / 16u;
  let block = c / 32u;
  let i = c % 32u;
  let byte = (four_codes(codes_at(panel, block), row % 16u, i / 4u) >> (8u * (i % 4u))) & 0xffu;
  var code = i32(byte);
  if (bits == 8u) { code = extractBits(i32(byte), 0u, 8u); }
  code = select(code, 2 * code - 1, bits == 1u);
  if (bits != 1u) { code -= code_offset_of(); }
  if (row_scaled != 0u) {
    if (has_zeros != 0u) { code -= bitcast<i32>(bits_row_zeros(row)); }
    return snap(mul(to_float_i(code), load_row_scales(row)));
  }
  let f = factors_of(panel, row % 16u, block, i / sub_cols % subs);
  code -= f.zero;
  let product = mul(to_float_i(code), f.scale);
  if (has_min != 0u) { return snap(add(product, f.minimum)); }
  return snap(product);
}
fn code_offset_of() -> i32 { return bitcast<i32>(code_offset); }
