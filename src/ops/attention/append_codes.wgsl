
// Keys and values of new rows into a cache of bfloat16 or int8 (cache.wgsl, cache_codes.wgsl). Positions that lie in one word
// of keys belong to a workgroup of 256 threads, from that on which the first row lies in; what stands there of other
// positions stays.
const vectors_of_row = 2u * kv_heads;  // keys of all heads, then their values
const padded = (dim + 15u) / 16u * 16u;
var<workgroup> scales: array<f32, in_word * vectors_of_row>;
var<workgroup> sizes: array<u32, 256>;  // of sixteen vectors, by sixteen threads each

// Row of k and v of a position; one in front of the first row is beyond the last one.
fn row_of(position: u32) -> u32 { return position - start(); }

fn bits_in_row(vector: u32, row: u32, d: u32) -> u32 {
  let at = (first_row() + row) * kv_heads * dim + vector % kv_heads * dim + d;
  if (vector < kv_heads) { return bits_k(at); }
  return bits_v(at);
}

// In its place of a word.
fn code_in_row(vector: u32, row: u32, d: u32, place: u32) -> u32 {
  var scale = 1.0;
  if (item_bytes == 1u) { scale = scales[place * vectors_of_row + vector]; }
  return code_of(bits_in_row(vector, row, d), scale);
}

// The scales of the vectors of rows that positions from `first` on have.
fn find_scales(first: u32, block: u32, thread: u32) {
  let begin = (max(first, start()) - first) * vectors_of_row;
  let end = (min(first + in_word, start() + rows()) - first) * vectors_of_row;
  for (var vectors = begin; vectors < end; vectors += 16u) {
    let mine = vectors + thread / 16u;
    var size = 0u;
    if (mine < end) {
      let row = row_of(first + mine / vectors_of_row);
      for (var d = thread % 16u; d < dim; d += 16u) {
        size = max(size, bits_in_row(mine % vectors_of_row, row, d) & 0x7fffffffu);
      }
    }
    sizes[thread] = size;
    workgroupBarrier();
    let i = vectors + thread;
    if (thread < 16u && i < end) {
      var largest = 0u;
      for (var k = 0u; k < 16u; k++) { largest = max(largest, sizes[16u * thread + k]); }
      let scale = scale_of_size(largest);
      let vector = i % vectors_of_row;
      scales[i] = scale;
      put_cache((block + vector % kv_heads + 1u) * block_words - 128u + vector / kv_heads * 64u + first % 64u + i / vectors_of_row,
                bitcast<u32>(scale));
    }
    workgroupBarrier();
  }
}

fn run(group: u32, thread: u32) {
  let first = (start() / in_word + group) * in_word;
  let p = first % 64u;
  let block = first / 64u % slots() * kv_heads;
  if (item_bytes == 1u) { find_scales(first, block, thread); }
  for (var i = thread; i < kv_heads * dim; i += 256u) {
    let at = (block + i / dim) * block_words + key_word(p) + line_words * (i % dim);
    var word = bits_cache(at);
    for (var k = 0u; k < in_word; k++) {
      let row = row_of(first + k);
      if (row < rows()) { word = insertBits(word, code_in_row(i / dim, row, i % dim, k), code_bits * k, code_bits); }
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
        word |= code_in_row(kv_heads + head, row, first_d + k, place) << (code_bits * k);
      }
    }
    if (row < rows()) { put_cache((block + head) * block_words + value_word(p + place, first_d), word); }
  }
}
