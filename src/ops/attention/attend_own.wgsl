
// A query whose own key and value, k and v, are not in the cache yet: the first head that reads them puts them there, and
// nobody else looks.
const is_own = 1u;
fn bits_own_key(i: u32) -> u32 { return bits_k(i); }
fn bits_own_value(i: u32) -> u32 { return bits_v(i); }
fn keep_own(block: u32, p: u32, kv: u32, thread: u32) {
  for (var d = thread; d < dim; d += 256u) {
    put_cache(block + key_word(p) + 16u * d, bits_k(kv * dim + d));
    put_cache(block + value_word(p, d), bits_v(kv * dim + d));
  }
}
