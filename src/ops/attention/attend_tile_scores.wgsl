
// Scores of 64 rows and the 64 positions of a block of the cache.
fn queries_of(row: u32, head: u32, d: u32) -> vec4<f32> {
  var q = vec4<u32>();
  if (d < dim) {
    for (var k = 0u; k < 4u; k++) { q[k] = bits_q(query_at(row + k, head) + d); }
  }
  return bitcast<vec4<f32>>(q);
}
// Of four positions from that of `key` on. Those beyond the last have scores that nobody stores.
fn keys_of(key: u32, scales: vec4<f32>, d: u32) -> vec4<f32> {
  var four = vec4<f32>();
  if (d < dim) { four = four_numbers(key + line_words * d, scales); }
  return four;
}

fn run(group: u32, thread: u32) {
  let blocks = (width() + 63u) / 64u;
  let first = 64u * (group % blocks);
  let head = group / blocks % heads;
  let row = 64u * (group / blocks / heads);
  if (first >= seen_end_of(min(row + 63u, rows() - 1u)) || first + 64u <= seen_begin_of(row)) { return; }

  let x = thread % 16u;
  let y = thread / 16u;
  let p = 16u * (thread / 64u) + 4u * (thread % 4u);  // a thread takes four positions of one step, and four rows of another
  let step = thread / 4u % 16u;
  let block = block_at(first_position() + first, head / (heads / kv_heads));
  let key = block + key_word(p);
  let scales = vec4<f32>(key_scale(block, p), key_scale(block, p + 1u), key_scale(block, p + 2u), key_scale(block, p + 3u));
  var left = queries_of(row + 4u * y, head, x);
  var right = keys_of(key, scales, step);
  var chains = no_sums();
  var totals = no_sums();
  for (var begin = 0u; begin < dim; begin += 16u) {
    workgroupBarrier();
    tile_left[17u * x + y] = left;
    tile_right[17u * step + p / 4u] = right;
    workgroupBarrier();
    left = queries_of(row + 4u * y, head, begin + 16u + x);
    right = keys_of(key, scales, begin + 16u + step);
    chains = with_steps(chains, x, y);
    if (begin % 64u == 48u || begin + 16u >= dim) {
      totals = with_sums(totals, chains);
      chains = no_sums();
    }
  }

  // A loop, lest compilers meet sixteen copies of what follows.
  var all = array<vec4<f32>, 4>(totals.x, totals.y, totals.z, totals.w);
  for (var n = 0u; n < 16u; n++) {
    let r = row + 4u * y + n / 4u;
    let i = first + 4u * x + n % 4u;
    if (r < rows() && sees(r, i)) { store_scores(scores_at(r, head) + i, scaled_score(all[n / 4u][n % 4u])); }
  }
}
