
// Numbers of a cache whose type is not float32 (ops/attention/kv_cache.h): element i of those of its blocks, whose scales
// count as elements too. Fixed: item_bytes, block_words (elements of a block).
fn cached_code(i: u32) -> u32 {
  return (bits_codes(i * item_bytes / 4u) >> (8u * (i * item_bytes % 4u))) & ((1u << (8u * item_bytes)) - 1u);
}

// Scales of 64 keys lie behind the codes of a block, then those of 64 values.
fn cached_scale(i: u32) -> f32 {
  const values = 64u * dim;
  let inside = i % block_words;
  let key = inside / (16u * dim) * 16u + inside % 16u;
  let value = 64u + (inside - values) / 16u % 64u;
  return bitcast<f32>(bits_codes((i / block_words + 1u) * (block_words / 4u) - 128u + select(value, key, inside < values)));
}

fn load_cache(i: u32) -> f32 {
  if (item_bytes == 2u) { return bfloat_to_float(cached_code(i)); }
  // The code, as the last digits of 2^23 + 128 + code.
  return mul(sub(bitcast<f32>(0x4b000000u | (cached_code(i) ^ 0x80u)), 8388736.0), cached_scale(i));
}
