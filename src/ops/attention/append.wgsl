
// Keys and values of new rows into the cache, f32 (ops/attention/kv_cache.h); a thread per element of a row.
fn run(group: u32, thread: u32) {
  let i = group * 64u + thread;
  let width = kv_heads * dim;
  if (i >= count() * width) { return; }
  let position = start() + i / width;
  let head = i % width / dim;
  let d = i % dim;
  let base = position / 64u % slots() * kv_heads * block_words + head * block_words;
  let p = position % 64u;
  let source = (first_row() + i / width) * width + head * dim + d;
  put_cache(base + (p / 16u * dim + d) * 16u + p % 16u, bits_k(source));
  put_cache(base + 64u * dim + (d / 16u * 64u + p) * 16u + d % 16u, bits_v(source));
}
