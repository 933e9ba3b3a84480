
// Keys and values of a new row into the cache, f32 (ops/attention/kv_cache.h); a row per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let width = kv_heads * dim;
  let position = start() + row;
  let p = position % 64u;
  for (var i = thread; i < width; i += 256u) {
    let d = i % dim;
    let base = (position / 64u % slots() * kv_heads + i / dim) * block_words;
    let source = (first_row() + row) * width + i;
    put_cache(base + (p / 16u * dim + d) * 16u + p % 16u, bits_k(source));
    put_cache(base + 64u * dim + (d / 16u * 64u + p) * 16u + d % 16u, bits_v(source));
  }
}
