
// Attention over whole sequences: rows of scores, of one (sample, head, step) per workgroup of 256 threads. Samples count
// from first_sample(), rows of p and ds from 0. What a step does not see is 0.
// f32: scale
var<workgroup> chains: array<f32, 256>;

fn seen_end_of(step: u32) -> u32 { return select(keys, min(step + 1u, keys), causal != 0u); }
fn seen_begin_of(step: u32) -> u32 {
  if (window() == 0u || step + 1u <= window()) { return 0u; }
  return min(step + 1u - window(), seen_end_of(step));
}
fn sees(sample: u32, step: u32, key: u32) -> bool {
  if (key < seen_begin_of(step) || key >= seen_end_of(step)) { return false; }
  return has_mask == 0u || greater(load_mask(sample * keys + key), 0.0);
}

fn score_of(q: u32, k: u32) -> f32 {
  var total = 0.0;
  for (var begin = 0u; begin < dim; begin += 64u) {
    var chain = 0.0;
    for (var d = begin; d < min(begin + 64u, dim); d++) { chain = add_plain(chain, mul(load_k(k + d), load_q(q + d))); }
    total = add_plain(total, chain);
  }
  return snap(mul(snap(total), scale()));
}
// y of c y, c the softcap.
fn squashed(score: f32) -> f32 { return snap(tanh_f(snap(div(score, bitcast<f32>(softcap()))))); }

// Probabilities of a step into row `base` of p.
fn attend(base: u32, sample: u32, step: u32, q: u32, k: u32, thread: u32) {
  let end = seen_end_of(step);
  var largest = 0u;
  for (var j = thread; j < keys; j += 256u) {
    var score = 0.0;
    if (sees(sample, step, j)) {
      score = score_of(q, k + j * kv_heads * dim);
      if (softcap() != 0u) { score = snap(mul(bitcast<f32>(softcap()), squashed(score))); }
      largest = larger_of(largest, score);
    }
    store_p(base + j, score);
  }
  largest = largest_of_threads(largest, thread);
  let top = bitcast<f32>(unordered(largest));
  for (var j = thread; j < keys; j += 256u) {
    var e = 0.0;
    if (sees(sample, step, j)) { e = snap(exp_f(snap(sub(load_p(base + j), top)))); }
    store_p(base + j, e);
  }
  storageBarrier();
  begin_lanes(thread);
  for (var first = 0u; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var j = begin + thread % 16u; j < min(begin + lane_block, end); j += 16u) {
      part = add_plain(part, load_p(base + j));
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var j = thread; j < end && largest != 0u; j += 256u) { store_p(base + j, snap(div(load_p(base + j), total))); }
}
