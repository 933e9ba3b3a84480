
// Sums of values by their probabilities, chain64 over absolute positions; a thread for each element of a (row, head).
fn run(group: u32, thread: u32) {
  let i = group * 64u + thread;
  if (i >= count() * heads * dim) { return; }
  let query = i / dim;
  let d = i % dim;
  let kv = query % heads / (heads / kv_heads);
  let seen_end = start() + query / heads + 1u - first_position();
  var total = 0.0;
  for (var begin = 0u; begin < seen_end; begin += 64u) {
    let block = (first_position() + begin) / 64u % slots();
    let base = (block * kv_heads + kv) * block_words + 64u * dim + d / 16u * 1024u + d % 16u;
    var chain = 0.0;
    for (var p = 0u; p < min(64u, seen_end - begin); p++) {
      chain = add_plain(chain, mul(load_cache(base + 16u * p), load_scores(query * width() + begin + p)));
    }
    total = add_plain(total, chain);
  }
  store_out((first_row() + query / heads) * heads * dim + query % heads * dim + d, snap(total));
}
