
// Numbers of a cache (ops/attention/kv_cache.h) in words of its blocks. Fixed: item_bytes, 4 of float32, 2 of bfloat16 and 1
// of int8; block_words.
const in_word = 4u / item_bytes;
const code_bits = 8u * item_bytes;
const line_words = 4u * item_bytes;  // of an element of sixteen keys, or sixteen elements of a value

// Words from the start of a block to element 0 of key p, and to element d of value p. The next element of a key and the next
// value are line_words away.
fn key_word(p: u32) -> u32 { return p / 16u * dim * line_words + p % 16u / in_word; }
fn value_word(p: u32, d: u32) -> u32 {
  return 4u * dim * line_words + (d / 16u * 64u + p) * line_words + d % 16u / in_word;
}

// Scales of int8: those of 64 keys, then those of 64 values, end a block.
fn key_scale(block: u32, p: u32) -> f32 {
  if (item_bytes != 1u) { return 1.0; }
  return load_cache(block + block_words - 128u + p);
}
fn value_scale(block: u32, p: u32) -> f32 {
  if (item_bytes != 1u) { return 1.0; }
  return load_cache(block + block_words - 64u + p);
}

// The code in the lowest byte, as the last digits of 2^23 + 128 + code, times its scale. The sign of a zero is lost.
fn scaled_code(x: u32, scale: f32) -> f32 {
  return product(add_plain(bitcast<f32>((x & 0xffu) ^ 0x4b000080u), -8388736.0), scale);
}

// The number at a place of a word.
fn number_in(word: u32, place: u32, scale: f32) -> f32 {
  if (item_bytes == 4u) { return bitcast<f32>(word); }
  if (item_bytes == 2u) { return bitcast<f32>((word >> (16u * place)) << 16u); }
  return scaled_code(word >> (8u * place), scale);
}
// Two neighbours: a word of bfloat16, the lower half of one of int8.
fn two_numbers(pair: u32, scales: vec2<f32>) -> vec2<f32> {
  if (item_bytes == 2u) { return bitcast<vec2<f32>>(vec2<u32>(pair << 16u, pair & 0xffff0000u)); }
  return vec2<f32>(scaled_code(pair, scales.x), scaled_code(pair >> 8u, scales.y));
}
// Four neighbours, from the start of a word.
fn four_numbers(at: u32, scales: vec4<f32>) -> vec4<f32> {
  if (item_bytes == 4u) { return vec4<f32>(load_cache(at), load_cache(at + 1u), load_cache(at + 2u), load_cache(at + 3u)); }
  let word = bits_cache(at);
  var next = word >> 16u;
  if (item_bytes == 2u) { next = bits_cache(at + 1u); }
  let left = two_numbers(word, scales.xy);
  let right = two_numbers(next, scales.zw);
  return vec4<f32>(left.x, left.y, right.x, right.y);
}
