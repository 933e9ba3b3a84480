
// Attention of queries, (row, head) each, over a cache: scores, their softmax, and sums of values by chains of 64 positions.
// Positions count from the first block that the first row of the run sees; a row of scores has `width` of them.
// f32: scale

// Words of the cache in front of the block that holds a position.
fn block_at(position: u32, kv: u32) -> u32 { return (position / 64u % slots() * kv_heads + kv) * block_words; }

// Where the value of position `i`, the first of a block of 64, has element d of a head.
fn value_at(i: u32, d: u32, kv: u32) -> u32 { return block_at(first_position() + i, kv) + value_word(0u, d); }

// Positions that a row sees: what is not behind it, and a window at most.
fn seen_end_of(row: u32) -> u32 { return start() + row + 1u - first_position(); }
fn seen_begin_of(row: u32) -> u32 {
  let end = start() + row + 1u;
  if (window() == 0u || end <= window() + first_position()) { return 0u; }
  return end - window() - first_position();
}

fn scaled_score(total: f32) -> f32 {
  let score = snap(mul(snap(total), scale()));
  if (softcap() == 0u) { return score; }
  let c = bitcast<f32>(softcap());
  return snap(mul(c, snap(tanh_f(snap(div(score, c))))));
}

fn score_of(q: u32, position: u32, kv: u32) -> f32 {
  let p = position % 64u;
  let block = block_at(position, kv);
  let key = block + key_word(p);
  let scale = key_scale(block, p);
  var total = 0.0;
  for (var begin = 0u; begin < dim; begin += 64u) {
    var chain = 0.0;
    let end = min(begin + 64u, dim);
    for (var d = begin; d < end; d += 8u) {  // eight loads at a time: a chain waits for memory otherwise
      var terms = array<f32, 8>();
      for (var k = 0u; k < 8u; k++) {
        let e = min(d + k, end - 1u);
        terms[k] = product(number_in(bits_cache(key + line_words * e), p % in_word, scale), load_q(q + e));
      }
      for (var k = 0u; k < min(8u, end - d); k++) { chain = add_plain(chain, terms[k]); }
    }
    total = add_plain(total, chain);
  }
  return scaled_score(total);
}
