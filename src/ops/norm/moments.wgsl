
// The mean of a row of `cols` elements and its deviation, the root of the mean square of x - mean plus eps; without
// `centred` the mean is left out, with `snaps_mean` it is snapped first.
// f32: eps
fn moments_of(base: u32, thread: u32) -> vec2<f32> {
  let count = to_float_u(cols);
  var mean = 0.0;
  if (centred != 0u) {
    begin_lanes(thread);
    for (var first = 0u; first < cols; first += 16u * lane_block) {
      let begin = first + thread / 16u * lane_block;
      var part = 0.0;
      for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
        part = add_plain(part, load_x(base + i));
      }
      add_lane_parts(thread, part);
    }
    mean = div(fold_lanes(), count);
    if (snaps_mean != 0u) { mean = snap(mean); }
  }
  begin_lanes(thread);
  for (var first = 0u; first < cols; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
      let d = centred_of(load_x(base + i), mean);
      part = add_plain(part, mul(d, d));
    }
    add_lane_parts(thread, part);
  }
  return vec2<f32>(mean, root(add(div(fold_lanes(), count), eps())));
}

fn centred_of(x: f32, mean: f32) -> f32 {
  if (centred == 0u) { return x; }
  return snap(sub(x, mean));
}
