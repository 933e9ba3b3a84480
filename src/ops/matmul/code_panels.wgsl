
// Panels of codes (dtypes/panel.h): where the codes and factors of a row lie, and what they stand for. The layout is
// fixed: bits, low_bits, sub_cols, share (blocks with one scale), factors (PanelFactors), has_min, has_zeros,
// code_offset, scale_offset, twice_fp4, row_scaled, panel_bytes, block_code_bytes, factor_bytes, super_at, blocks.
const factors_f32 = 0u;
const factors_f16 = 1u;
const factors_shared = 2u;
const factors_bytes = 3u;
const factors_nibbles = 4u;
const factors_exponents = 5u;
const is_super = factors >= factors_shared && factors <= factors_nibbles;
const subs = select(1u, 32u / sub_cols, sub_cols < 32u);

fn weight_byte(at: u32) -> u32 { return (bits_weight(at / 4u) >> (8u * (at % 4u))) & 0xffu; }
fn weight_half(at: u32) -> f32 { return half_to_float((bits_weight(at / 4u) >> (8u * (at % 4u))) & 0xffffu); }

// Byte offsets in the matrix: of the codes of a block of 32 columns, and of the factors that hold for it.
fn codes_at(panel: u32, block: u32) -> u32 {
  let base = panel * panel_bytes;
  if (is_super) { return base + (block / 8u + 1u) * factor_bytes + block * block_code_bytes; }
  return base + block / share * factor_bytes + block * block_code_bytes;
}
fn factors_at(panel: u32, block: u32) -> u32 {
  let base = panel * panel_bytes;
  if (is_super) { return base + block / 8u * (factor_bytes + 8u * block_code_bytes); }
  let group = block / share;
  return base + group * factor_bytes + min((group + 1u) * share, blocks) * block_code_bytes;
}

// Four codes as bytes: those of columns 4 q .. 4 q + 3 of a block, 0 <= q < 8.
fn four_codes(at: u32, row: u32, q: u32) -> u32 {
  if (bits == 8u) { return bits_weight(at / 4u + 16u * q + row); }
  let low = bits_weight(at / 4u + 16u * (q % low_bits) + row) >> (low_bits * (q / low_bits));
  var codes = low & (0x01010101u * ((1u << low_bits) - 1u));
  if (low_bits != bits) {
    const high_bits = max(bits - low_bits, 1u);
    let high = bits_weight(at / 4u + 16u * (low_bits + q % high_bits) + row) >> (high_bits * (q / high_bits));
    codes |= (high & (0x01010101u * ((1u << high_bits) - 1u))) << low_bits;
  }
  if (twice_fp4 != 0u) { codes = twice_of(codes); }
  return codes;
}
// OCP E2M1 as twice its value plus 12, which is an integer (kTwiceFp4).
fn twice_of(codes: u32) -> u32 {
  const table = array<u32, 4>(0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u);
  var out = 0u;
  for (var k = 0u; k < 32u; k += 8u) {
    let code = (codes >> k) & 15u;
    out |= ((table[code / 4u] >> (8u * (code % 4u))) & 0xffu) << k;
  }
  return out;
}

// Scale, minimum and zero point of a sub-block.
struct Factors { scale: f32, minimum: f32, zero: i32 }
fn factors_of(panel: u32, row: u32, block: u32, s: u32) -> Factors {
  let at = factors_at(panel, block);
  var f = Factors(0.0, 0.0, 0);
  if (is_super) {
    let number = (block % 8u * subs + s) * 16u;
    let d = weight_half(at + super_at + 2u * row);
    if (factors == factors_shared) { f.scale = d; }
    if (factors == factors_bytes) {
      let pair = select(number, 2u * number, has_min != 0u);
      f.scale = mul(d, to_float_i(i32(weight_byte(at + pair + row)) - i32(scale_offset)));
      if (has_min != 0u) { f.minimum = to_float_u(weight_byte(at + pair + 16u + row)); }
    }
    if (factors == factors_nibbles) {
      let both = weight_byte(at + number + row);
      f.scale = mul(d, to_float_i(i32(both & 15u) - i32(scale_offset)));
      f.minimum = to_float_u(both >> 4u);
    }
    if (has_min != 0u) { f.minimum = neg(mul(weight_half(at + super_at + 32u + 2u * row), f.minimum)); }
    return f;
  }
  const slot = select(select(16u, 32u, factors == factors_f16), 64u, factors == factors_f32);
  const parts = select(1u, 2u, has_min != 0u);
  let first = at + s * slot * parts;
  if (factors == factors_f32) {
    f.scale = bitcast<f32>(bits_weight(first / 4u + row));
    if (has_min != 0u) { f.minimum = bitcast<f32>(bits_weight(first / 4u + 16u + row)); }
  }
  if (factors == factors_f16) {
    f.scale = weight_half(first + 2u * row);
    if (has_min != 0u) { f.minimum = weight_half(first + 32u + 2u * row); }
  }
  if (factors == factors_exponents) { f.scale = bitcast<f32>(weight_byte(first + row) << 23u); }
  if (has_zeros != 0u) { f.zero = i32(weight_byte(at + subs * slot * parts + row)); }
  return f;
}
