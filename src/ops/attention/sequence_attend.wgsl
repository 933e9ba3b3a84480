
fn run(group: u32, thread: u32) {
  let head = group / steps % heads;
  let step = group % steps;
  let sample = first_sample() + group / steps / heads;
  let base = group * keys;
  let q = ((sample * steps + step) * heads + head) * dim;
  let k = (sample * keys * kv_heads + head / (heads / kv_heads)) * dim;
  attend(base, sample, step, q, k, thread);
  storageBarrier();

  // The sum of values, by four threads for each element of the head, which take blocks of 64 keys in turn.
  let lane = thread / 64u;
  let end = seen_end_of(step);
  for (var first_d = 0u; first_d < dim; first_d += 64u) {
    let d = first_d + thread % 64u;
    var sum = 0.0;
    for (var first = 0u; first < end; first += 256u) {
      let begin = first + 64u * lane;
      var chain = 0.0;
      if (d < dim) {
        for (var j = begin; j < min(begin + 64u, end); j++) {
          chain = add_plain(chain, mul(load_v(k + j * kv_heads * dim + d), load_p(base + j)));
        }
      }
      chains[thread] = chain;
      workgroupBarrier();
      if (lane == 0u) {
        for (var b = 0u; b < 4u; b++) { sum = add_plain(sum, chains[64u * b + thread]); }
      }
      workgroupBarrier();
    }
    if (lane == 0u && d < dim) { store_out(q + d, snap(sum)); }
  }
}
