
// Scaled products of queries with keys; a thread for each position of a (row, head), from the first block that the
// first row sees. A row of scores has `width` positions.
// f32: scale
fn run(group: u32, thread: u32) {
  let per_row = (width() + 63u) / 64u;
  let query = group / per_row;
  let i = group % per_row * 64u + thread;
  if (i >= width()) { return; }
  let row = query / heads;
  let head = query % heads;
  let position = first_position() + i;
  let base = position / 64u % slots() * kv_heads * block_words + head / (heads / kv_heads) * block_words +
             (position % 64u / 16u * dim) * 16u + position % 16u;
  let q = ((first_row() + row) * heads + head) * dim;
  var total = 0.0;
  for (var begin = 0u; begin < dim; begin += 64u) {
    var chain = 0.0;
    for (var d = begin; d < min(begin + 64u, dim); d++) {
      chain = add_plain(chain, mul(load_cache(base + 16u * d), load_q(q + d)));
    }
    total = add_plain(total, chain);
  }
  store_scores(query * width() + i, snap(mul(snap(total), scale())));
}
