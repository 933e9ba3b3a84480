
// xh = (x - mean) / deviation and dx = (g - mean(g) - xh mean(g xh)) / deviation, g = dy gamma; a row per workgroup of
// 256 threads as in layer_norm.wgsl. Without `centred` no mean is subtracted, of x or of g.
// f32: eps
fn gained(base: u32, row: u32, i: u32) -> f32 {
  return snap(mul(load_dy(base + i), load_gamma(row % groups * (cols / positions) + i / positions)));
}

fn run(row: u32, thread: u32) {
  let base = row * cols;
  let moments = moments_of(base, thread);
  let inverse = div(1.0, moments.y);
  for (var i = thread; i < cols; i += 256u) {
    store_xh(base + i, snap(mul(centred_of(load_x(base + i), moments.x), inverse)));
  }
  if (wants_dx == 0u) { return; }
  storageBarrier();
  let count = to_float_u(cols);
  var mean = 0.0;
  if (centred != 0u) {
    begin_lanes(thread);
    for (var first = 0u; first < cols; first += 16u * lane_block) {
      let begin = first + thread / 16u * lane_block;
      var part = 0.0;
      for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
        part = add_plain(part, gained(base, row, i));
      }
      add_lane_parts(thread, part);
    }
    mean = snap(div(fold_lanes(), count));
  }
  begin_lanes(thread);
  for (var first = 0u; first < cols; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
      part = add_plain(part, mul(gained(base, row, i), load_xh(base + i)));
    }
    add_lane_parts(thread, part);
  }
  let dot = snap(div(fold_lanes(), count));
  for (var i = thread; i < cols; i += 256u) {
    var g = gained(base, row, i);
    if (centred != 0u) { g = sub(g, mean); }
    store_dx(base + i, snap(mul(snap(sub(g, mul(load_xh(base + i), dot))), inverse)));
  }
}
