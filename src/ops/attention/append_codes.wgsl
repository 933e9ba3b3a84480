
// Keys and values of new rows into a cache of bfloat16 or int8 (ops/attention/kv_cache.h). Positions that lie in one word
// of keys belong to a workgroup of 256 threads, from that on which the first row lies in; what stands there of other
// positions stays. Fixed: item_bytes, block_words.
const in_word = 4u / item_bytes;
const vectors_of_row = 2u * kv_heads;  // keys of all heads, then their values
const padded = (dim + 15u) / 16u * 16u;
var<workgroup> scales: array<f32, in_word * vectors_of_row>;

// Row of k and v of a position; one in front of the first row is beyond the last one.
fn row_of(position: u32) -> u32 { return position - start(); }

fn bits_in_row(vector: u32, row: u32, d: u32) -> u32 {
  let at = (first_row() + row) * kv_heads * dim + vector % kv_heads * dim + d;
  if (vector < kv_heads) { return bits_k(at); }
  return bits_v(at);
}

// As cached_scale() has it.
fn scale_of_row(vector: u32, row: u32) -> f32 {
  var size = 0u;
  for (var d = 0u; d < dim; d++) { size = max(size, bits_in_row(vector, row, d) & 0x7fffffffu); }
  if (size >= 0x7f800000u) { return quiet_nan(); }
  return snap(div(bitcast<f32>(size), 127.0));
}

// As encode_cached() has it, in its place of a word.
fn code_in_row(vector: u32, row: u32, d: u32, place: u32) -> u32 {
  let bits = bits_in_row(vector, row, d);
  var code = 0u;
  if (item_bytes == 2u) {
    let is_number = (bits & 0x7fffffffu) <= 0x7f800000u;
    code = select(((bits >> 16u) & 0x8000u) | 0x7fc0u, (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u, is_number);
  } else {
    let scale = scales[place * vectors_of_row + vector];
    if (greater(scale, 0.0)) {
      code = bitcast<u32>(clamp(round_to_int(div(bitcast<f32>(bits), scale)), -127, 127)) & 0xffu;
    }
  }
  return code;
}

fn run(group: u32, thread: u32) {
  let first = (start() / in_word + group) * in_word;
  let p = first % 64u;
  let block = first / 64u % slots() * kv_heads;
  if (item_bytes == 1u) {
    for (var i = thread; i < in_word * vectors_of_row; i += 256u) {
      let row = row_of(first + i / vectors_of_row);
      let vector = i % vectors_of_row;
      if (row < rows()) {
        let scale = scale_of_row(vector, row);
        let head_end = (block + vector % kv_heads + 1u) * block_words;
        scales[i] = scale;
        put_cache(head_end - 128u + vector / kv_heads * 64u + p + i / vectors_of_row, bitcast<u32>(scale));
      }
    }
    workgroupBarrier();
  }
  for (var i = thread; i < kv_heads * dim; i += 256u) {
    let d = i % dim;
    let at = (block + i / dim) * block_words + ((p / 16u * dim + d) * 16u + p % 16u) / in_word;
    var word = bits_cache(at);
    for (var k = 0u; k < in_word; k++) {
      let row = row_of(first + k);
      let shift = 8u * item_bytes * k;
      if (row < rows()) {
        word = insertBits(word, code_in_row(i / dim, row, d, k), shift, 8u * item_bytes);
      }
    }
    put_cache(at, word);
  }
  const words_of_row = padded / in_word;
  for (var i = thread; i < in_word * kv_heads * words_of_row; i += 256u) {
    let place = i / (kv_heads * words_of_row);
    let row = row_of(first + place);
    let head = i / words_of_row % kv_heads;
    let first_d = i % words_of_row * in_word;
    var word = 0u;
    for (var k = 0u; k < in_word; k++) {
      if (row < rows() && first_d + k < dim) {
        word |= code_in_row(kv_heads + head, row, first_d + k, place) << (8u * item_bytes * k);
      }
    }
    let element = 64u * dim + (first_d / 16u * 64u + p + place) * 16u + first_d % 16u;
    if (row < rows()) { put_cache((block + head) * block_words + element / in_word, word); }
  }
}
