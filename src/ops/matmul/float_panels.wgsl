
// Panels of elements, [col][16]: f32, f16, bfloat16, fp8 (kind as PanelKind counts: 1 to 5). A total counts
// in `unit`, which is 2^8 for fp8e4m3.
fn unit_of() -> f32 { return bitcast<f32>(unit); }

// Of 16 bits.
fn half_element(half: u32) -> f32 {
  if (kind == 2u) { return half_to_float(half); }
  return bfloat_to_float(half);
}
fn element(row: u32, c: u32) -> f32 {
  let base = row / 16u * panel_bytes / 4u;
  let at = 16u * c + row % 16u;
  if (kind == 1u) { return bitcast<f32>(bits_weight(base + at)); }
  if (kind == 2u || kind == 3u) { return half_element((bits_weight(base + at / 2u) >> (16u * (at % 2u))) & 0xffffu); }
  let byte = (bits_weight(base + at / 4u) >> (8u * (at % 4u))) & 0xffu;
  if (kind == 4u) { return fp8e4m3_to_float(byte); }
  return fp8e5m2_to_float(byte);
}
