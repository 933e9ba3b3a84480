
// Codes that are integers, and what they stand for. Fixed: low and high (the least and the largest code), is_binary.
fn code_of(bits: u32, scale: f32, zero: i32) -> i32 {
  let x = snap(bitcast<f32>(bits));
  if (is_binary != 0u) { return select(1, -1, (bitcast<u32>(x) >> 31u) != 0u && bitcast<u32>(scale) != 0u); }
  let steps = max_f(min_f(div(x, scale), 2097152.0), -2097152.0);
  let code = clamp(round_to_int(steps) + zero, bitcast<i32>(low), bitcast<i32>(high));
  // A code whose value would be snapped away becomes that of 0.
  return select(code, zero, magnitude_of(mul(to_float_i(code - zero), scale)) < 0x26000000u);
}
fn value_of(code: i32, scale: f32, zero: i32) -> f32 { return snap(mul(to_float_i(code - zero), scale)); }
