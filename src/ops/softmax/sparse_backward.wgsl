
// dx = s (dy - sum of s dy / sum of s) / T, a row per workgroup of 256 threads. s is 1 on the support (by_power 0), the
// root of p (1) or a power of it (2), and 0 elsewhere.
// f32: temperature, power
fn slope_of(p: f32) -> f32 {
  let is_above = greater(p, 0.0);
  var s = 1.0;
  if (by_power == 1u) { s = root(select_f(is_above, p, 0.0)); }
  if (by_power == 2u) { s = snap(pow_f(select_f(is_above, p, 1.0), power())); }
  return select_f(is_above, s, 0.0);
}

fn run(row: u32, thread: u32) {
  let base = row * cols();
  var sums = array<f32, 2>(0.0, 0.0);  // of s, and of s dy
  for (var k = 0u; k < 2u; k++) {
    begin_lanes(thread);
    for (var round = 0u; round < cols(); round += 16u * lane_block) {
      let begin = round + thread / 16u * lane_block;
      var part = 0.0;
      for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
        let s = slope_of(load_p(base + i));
        var term = s;
        if (k == 1u) {
          term = mul(s, load_dy(base + i));
          if (by_power == 0u) { term = select_f(greater(s, 0.0), load_dy(base + i), 0.0); }
        }
        part = add_plain(part, term);
      }
      add_lane_parts(thread, part);
    }
    sums[k] = fold_lanes();
  }
  storageBarrier();
  var dot = sums[1];
  if (by_power != 0u) { dot = snap(dot); }
  let mean = snap(div(dot, sums[0]));
  for (var i = thread; i < cols(); i += 256u) {
    let s = slope_of(load_p(base + i));
    var d = snap(sub(load_dy(base + i), mean));
    if (by_power != 0u) {
      d = snap(mul(s, d));
    } else {
      d = select_f(greater(s, 0.0), d, 0.0);
    }
    store_dx(base + i, snap(div(d, temperature())));
  }
}
