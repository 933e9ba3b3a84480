
// The weights of a gate; a row per workgroup of 256 threads. This number stands for a branch that was left out: a NaN
// whose bits no stored value has.
// f32: temperature
const absent = 0x7fc00001u;

fn sum_of_weights(base: u32, thread: u32) -> f32 {
  storageBarrier();
  begin_lanes(thread);
  for (var round = 0u; round < cols(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      part = add_plain(part, load_p(base + i));
    }
    add_lane_parts(thread, part);
  }
  return fold_lanes();
}

fn run(row: u32, thread: u32) {
  let base = row * cols();
  var left_out = 0u;
  var largest = 0u;
  for (var i = thread; i < cols(); i += 256u) {
    if (!is_kept(base, i)) {
      left_out = 1u;
      put_p(base + i, select(absent, 0u, given != 0u));
    } else if (given != 0u) {
      put_p(base + i, bits_z(base + i));
    } else {
      let v = snap(div(load_z(base + i), temperature()));
      largest = larger_of(largest, v);
      store_p(base + i, v);
    }
  }
  if (given != 0u) {
    left_out = largest_of_threads(left_out, thread);
  } else {
    largest = largest_of_threads(largest, thread);
    var top = -0x1.fffffep+127;
    if (largest > 1u) { top = max_f(bitcast<f32>(unordered(largest)), top); }
    for (var i = thread; i < cols(); i += 256u) {
      if (bits_p(base + i) == absent) {
        put_p(base + i, 0u);
      } else {
        store_p(base + i, snap(exp_f(snap(sub(load_p(base + i), top)))));
      }
    }
  }
  let sum = sum_of_weights(base, thread);
  if (given != 0u && left_out == 0u) { return; }
  for (var i = thread; i < cols(); i += 256u) {
    let v = load_p(base + i);
    if (equal(v, 0.0)) {
      put_p(base + i, 0u);  // whatever the sum is
    } else if (!equal(sum, 0.0)) {
      store_p(base + i, snap(div(v, sum)));
    } else if (given != 0u) {
      put_p(base + i, 0u);
    }
  }
}
