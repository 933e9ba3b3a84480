
// What a cache of bfloat16 or int8 makes of new numbers, with cache.wgsl.

// As cached_scale() has it, of a row whose numbers have such bits at most, without their sign.
fn scale_of_size(size: u32) -> f32 {
  if (size >= 0x7f800000u) { return quiet_nan(); }
  return snap(div(bitcast<f32>(size), 127.0));
}

// As encode_cached() has it.
fn code_of(bits: u32, scale: f32) -> u32 {
  var code = 0u;
  if (item_bytes == 2u) {
    let is_number = (bits & 0x7fffffffu) <= 0x7f800000u;
    code = select(((bits >> 16u) & 0x8000u) | 0x7fc0u, (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u, is_number);
  } else if (greater(scale, 0.0)) {
    code = bitcast<u32>(clamp(round_to_int(div(bitcast<f32>(bits), scale)), -127, 127)) & 0xffu;
  }
  return code;
}
