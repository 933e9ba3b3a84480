
// The root of the mean square of a row of `cols` elements, less their mean where it is `centred`, plus eps.
// f32: eps
fn deviation_of(base: u32, thread: u32) -> f32 {
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
    mean = snap(div(fold_lanes(), count));
  }
  begin_lanes(thread);
  for (var first = 0u; first < cols; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols); i += 16u) {
      let d = snap(sub(load_x(base + i), mean));
      part = add_plain(part, mul(d, d));
    }
    add_lane_parts(thread, part);
  }
  return root(add(div(fold_lanes(), count), eps()));
}
