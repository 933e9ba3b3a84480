
// A query whose own key and value, k and v, are not in the cache yet: the first head that reads them puts them there, and
// nobody else looks.
const is_own = 1u;
fn bits_own_key(i: u32) -> u32 { return bits_k(i); }
fn bits_own_value(i: u32) -> u32 { return bits_v(i); }
fn keep_own(key: u32, value: u32, kv: u32, thread: u32) {
  for (var d = thread; d < dim; d += 256u) {
    put_cache(key + 16u * d, bits_k(kv * dim + d));
    put_cache(value + d / 16u * 1024u + d % 16u, bits_v(kv * dim + d));
  }
}
