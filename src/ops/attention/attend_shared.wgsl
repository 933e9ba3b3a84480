
// What kernels of queries that see many positions have in common, whether workgroups share a query or not.
struct Query {
  kv: u32,          // its key head
  at: u32,          // in q and out
  scores: u32,      // its row of them
  seen_begin: u32,
  seen_end: u32,
}

fn query_of(query: u32) -> Query {
  let row = query / heads;
  return Query(query % heads / (heads / kv_heads), query * dim, query * width(), seen_begin_of(row), seen_end_of(row));
}

// The score of a position that may be out of sight, where it is 0.
fn seen_score(query: Query, i: u32) -> f32 {
  var score = 0.0;
  if (i >= query.seen_begin) { score = score_of(query.at, first_position() + i, query.kv); }
  return score;
}

// Scores become probabilities; `largest` is that of those which a thread has seen.
fn soften(query: Query, largest: u32, thread: u32) {
  let top = bitcast<f32>(unordered(largest_of_threads(largest, thread)));
  for (var i = thread; i < query.seen_end; i += 256u) {
    var e = 0.0;
    if (i >= query.seen_begin) { e = snap(exp_f(snap(sub(load_scores(query.scores + i), top)))); }
    store_scores(query.scores + i, e);
  }
  storageBarrier();

  // lanes16 by absolute positions: the first block of lanes may begin before the first position.
  begin_lanes(thread);
  let end = first_position() + query.seen_end;
  for (var first = first_position() / lane_block * lane_block; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var p = max(begin, first_position()) + thread % 16u; p < min(begin + lane_block, end); p += 16u) {
      part = add_plain(part, load_scores(query.scores + p - first_position()));
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var i = thread; i < query.seen_end; i += 256u) {
    store_scores(query.scores + i, snap(div(load_scores(query.scores + i), total)));
  }
}

// Probabilities of the positions that the chains of a workgroup take, one of each thread, and scales of their values.
var<workgroup> seen_weights: array<f32, 256>;
var<workgroup> seen_scales: array<f32, 256>;
fn take_weight(query: Query, i: u32, thread: u32) {
  if (i < query.seen_end) {
    let position = first_position() + i;
    seen_weights[thread] = load_scores(query.scores + i);
    seen_scales[thread] = value_scale(block_at(position, query.kv), position % 64u);
  }
}

// The chain of element d of the values of 64 positions from `begin` on, which threads from `first_thread` on have taken.
fn values_of(query: Query, begin: u32, d: u32, first_thread: u32) -> f32 {
  var chain = 0.0;
  if (d < dim && begin < query.seen_end) {
    let values = value_at(begin, d, query.kv);
    let count = min(64u, query.seen_end - begin);
    // What a row does not see is no part of its sum, whatever it is.
    for (var first = max(query.seen_begin, begin) - begin; first < count; first += 8u) {
      var terms = array<f32, 8>();
      for (var k = 0u; k < 8u; k++) {
        let p = min(first + k, count - 1u);
        let number = number_in(bits_cache(values + line_words * p), d % in_word, seen_scales[first_thread + p]);
        terms[k] = product(number, seen_weights[first_thread + p]);
      }
      for (var k = 0u; k < min(8u, count - first); k++) { chain = add_plain(chain, terms[k]); }
    }
  }
  return chain;
}
