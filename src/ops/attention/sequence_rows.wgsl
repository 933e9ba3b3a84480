
// Attention over whole sequences, by rows: of one (sample, head, step) per workgroup of 256 threads, samples counted from
// first_sample(). scores holds the products of a query and all keys, of which a step sees some; p becomes the probabilities,
// and may lie there, since each thread reads a score before it writes.
// With `backward`, ds holds the products of a gradient and all values, and becomes the gradient of the scores. Of keys that
// a step does not see both are 0.
// f32: scale
fn seen_end_of(step: u32) -> u32 { return select(keys, min(step + 1u, keys), causal != 0u); }
fn seen_begin_of(step: u32) -> u32 {
  if (window() == 0u || step + 1u <= window()) { return 0u; }
  return min(step + 1u - window(), seen_end_of(step));
}
fn sees(sample: u32, step: u32, key: u32) -> bool {
  if (key < seen_begin_of(step) || key >= seen_end_of(step)) { return false; }
  return has_mask == 0u || greater(load_mask(sample * keys + key), 0.0);
}

fn score_of(at: u32) -> f32 { return snap(mul(load_scores(at), scale())); }
// y of c y, c the softcap.
fn squashed(score: f32) -> f32 { return snap(tanh_f(snap(div(score, bitcast<f32>(softcap()))))); }
fn capped(at: u32) -> f32 {
  if (softcap() == 0u) { return score_of(at); }
  return snap(mul(bitcast<f32>(softcap()), squashed(score_of(at))));
}

// The sum of p, or with `weighted` of p ds, over the first `end` keys.
fn sum_of_row(base: u32, end: u32, weighted: bool, thread: u32) -> f32 {
  storageBarrier();
  begin_lanes(thread);
  for (var first = 0u; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var j = begin + thread % 16u; j < min(begin + lane_block, end); j += 16u) {
      if (weighted) {
        part = add_plain(part, mul(load_p(base + j), load_ds(base + j)));
      } else {
        part = add_plain(part, load_p(base + j));
      }
    }
    add_lane_parts(thread, part);
  }
  return fold_lanes();
}

fn run(group: u32, thread: u32) {
  let step = group % steps;
  let sample = first_sample() + group / steps / heads;
  let base = group * keys;
  let end = seen_end_of(step);
  var largest = 0u;
  for (var j = thread; j < end; j += 256u) {
    if (sees(sample, step, j)) { largest = larger_of(largest, capped(base + j)); }
  }
  largest = largest_of_threads(largest, thread);
  let top = bitcast<f32>(unordered(largest));
  for (var j = thread; j < keys; j += 256u) {
    var e = 0.0;
    if (sees(sample, step, j)) { e = snap(exp_f(snap(sub(capped(base + j), top)))); }
    store_p(base + j, e);
  }
  let total = sum_of_row(base, end, false, thread);
  for (var j = thread; j < end && largest != 0u; j += 256u) { store_p(base + j, snap(div(load_p(base + j), total))); }
  if (backward == 0u) { return; }

  let mean = sum_of_row(base, end, true, thread);
  for (var j = thread; j < keys; j += 256u) {
    var d = 0.0;
    if (sees(sample, step, j)) {
      d = snap(mul(load_p(base + j), snap(sub(load_ds(base + j), mean))));
      if (softcap() != 0u) {
        let y = squashed(score_of(base + j));
        d = snap(mul(d, snap(sub(1.0, snap(mul(y, y))))));
      }
      d = snap(mul(d, scale()));
    }
    store_ds(base + j, d);
  }
}
