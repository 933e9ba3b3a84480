
// Codes that are floats of 16 or 8 bits, and what they stand for. Fixed: mantissa_bits, sign_bit, most (the largest code),
// least_normal, unit_base (bits of 2^23 times the least number) and exponent_offset (of the exponent in an f32, at its
// place in a code).
const code_shift = 23u - mantissa_bits;

fn number_of(code: u32) -> f32 {
  if (code < (1u << mantissa_bits)) { return sub(bitcast<f32>(code + unit_base), bitcast<f32>(unit_base)); }
  return bitcast<f32>((code + exponent_offset) << code_shift);
}

fn code_of(bits: u32, scale: f32, zero: i32) -> i32 {
  let quotient = div(snap(bitcast<f32>(bits)), scale);
  let size = magnitude_of(quotient);
  // The sum ends at the least number; what is greater is rounded in its bits. Both to even.
  let small = bitcast<u32>(add(bitcast<f32>(size), bitcast<f32>(unit_base))) - unit_base;
  let large = ((size + (1u << (code_shift - 1u)) - 1u + ((size >> code_shift) & 1u)) >> code_shift) - exponent_offset;
  let code = min(select(large, small, size < least_normal), most);
  if (magnitude_of(mul(number_of(code), scale)) < 0x26000000u) { return 0; }
  return bitcast<i32>(code | select(0u, sign_bit, (bitcast<u32>(quotient) >> 31u) != 0u));
}
fn value_of(code: i32, scale: f32, zero: i32) -> f32 {
  let given = bitcast<u32>(code);
  let size = mul(number_of(given & (sign_bit - 1u)), scale);
  return snap(bitcast<f32>(bitcast<u32>(size) | select(0u, 0x80000000u, (given & sign_bit) != 0u)));
}
