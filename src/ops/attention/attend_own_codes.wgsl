
// attend_own for codes, which attend_near_codes has made. A word of keys has other positions too: nobody else writes it, and
// who reads it meanwhile takes only what does not change.
const is_own = 1u;
fn bits_own_key(i: u32) -> u32 { return bits_k(i); }
fn bits_own_value(i: u32) -> u32 { return bits_v(i); }
fn keep_own(block: u32, p: u32, kv: u32, thread: u32) {
  for (var d = thread; d < dim; d += 256u) {
    let at = block + key_word(p) + line_words * d;
    put_cache(at, insertBits(bits_cache(at), own_codes[d], code_bits * (p % in_word), code_bits));
  }
  for (var d = in_word * thread; d < (dim + 15u) / 16u * 16u; d += in_word * 256u) {
    var word = 0u;
    for (var k = 0u; k < in_word; k++) { word |= own_codes[padded_dim + d + k] << (code_bits * k); }
    put_cache(block + value_word(p, d), word);
  }
  if (item_bytes == 1u && thread < 2u) {
    put_cache(block + block_words - 128u + 64u * thread + p, bitcast<u32>(own_scales[thread]));
  }
}
