
// dz = p (q - sum of p q) / temperature, or of a gate that ends in a softmax (q - sum of p q) / sum of what is kept; a
// row per workgroup of 256 threads. dz may be q.
// f32: temperature
fn run(row: u32, thread: u32) {
  let base = row * cols();
  var left_out = 0u;
  var kept_sum = 0.0;
  if (given != 0u) {
    begin_lanes(thread);
    for (var round = 0u; round < cols(); round += 16u * lane_block) {
      let begin = round + thread / 16u * lane_block;
      var part = 0.0;
      for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
        if (is_kept(base, i)) {
          part = add_plain(part, load_z(base + i));
        } else {
          left_out = 1u;
        }
      }
      add_lane_parts(thread, part);
    }
    kept_sum = fold_lanes();
    left_out = largest_of_threads(left_out, thread);
  }
  begin_lanes(thread);
  for (var round = 0u; round < cols(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      part = add_plain(part, mul(load_p(base + i), load_q(base + i)));
    }
    add_lane_parts(thread, part);
  }
  storageBarrier();
  let mean = snap(fold_lanes());
  for (var i = thread; i < cols(); i += 256u) {
    let gap = snap(sub(load_q(base + i), mean));
    var slope = 0.0;
    if (given == 0u) {
      let weight = load_p(base + i);
      if (!equal(weight, 0.0)) { slope = snap(div(snap(mul(weight, gap)), temperature())); }
    } else if (left_out == 0u) {
      slope = load_q(base + i);
    } else if (is_kept(base, i) && !equal(kept_sum, 0.0)) {
      slope = snap(div(gap, kept_sum));
    }
    store_dz(base + i, slope);
  }
}
