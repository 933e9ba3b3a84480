
// Of a step: probabilities once more, the gradient of its scores into ds, and dq.
fn run(group: u32, thread: u32) {
  let head = group / steps % heads;
  let step = group % steps;
  let sample = first_sample() + group / steps / heads;
  let base = group * keys;
  let q = ((sample * steps + step) * heads + head) * dim;
  let k = (sample * keys * kv_heads + head / (heads / kv_heads)) * dim;
  let end = seen_end_of(step);
  attend(base, sample, step, q, k, thread);
  for (var j = thread; j < keys; j += 256u) {
    var total = 0.0;
    if (j < end) {
      for (var begin = 0u; begin < dim; begin += 64u) {
        var chain = 0.0;
        for (var d = begin; d < min(begin + 64u, dim); d++) {
          chain = add_plain(chain, mul(load_v(k + j * kv_heads * dim + d), load_dout(q + d)));
        }
        total = add_plain(total, chain);
      }
    }
    store_ds(base + j, snap(total));
  }
  storageBarrier();
  begin_lanes(thread);
  for (var first = 0u; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var j = begin + thread % 16u; j < min(begin + lane_block, end); j += 16u) {
      part = add_plain(part, mul(load_p(base + j), load_ds(base + j)));
    }
    add_lane_parts(thread, part);
  }
  let mean = fold_lanes();
  storageBarrier();
  for (var j = thread; j < end; j += 256u) {
    var d = 0.0;
    if (sees(sample, step, j)) {
      d = snap(mul(load_p(base + j), snap(sub(load_ds(base + j), mean))));
      if (softcap() != 0u) {
        let y = squashed(score_of(q, k + j * kv_heads * dim));
        d = snap(mul(d, snap(sub(1.0, snap(mul(y, y))))));
      }
      d = snap(mul(d, scale()));
    }
    store_ds(base + j, d);
  }
  storageBarrier();

  for (var d = thread; d < dim; d += 256u) {
    var total = 0.0;
    for (var begin = 0u; begin < end; begin += 64u) {
      var chain = 0.0;
      for (var j = begin; j < min(begin + 64u, end); j++) {
        chain = add_plain(chain, mul(load_k(k + j * kv_heads * dim + d), load_ds(base + j)));
      }
      total = add_plain(total, chain);
    }
    store_dq(q + d, snap(total));
  }
}
