
// entmax by bisection of the threshold, which lies in [-1, 0]; a row per workgroup of 256 threads.
// f32: power
fn above(z: f32, tau: f32) -> f32 {
  let height = snap(sub(z, tau));
  let is_above = greater(height, 0.0);
  return select_f(is_above, snap(pow_f(select_f(is_above, height, 1.0), power())), 0.0);
}

fn sum_above(base: u32, thread: u32, tau: f32) -> f32 {
  begin_lanes(thread);
  for (var round = 0u; round < cols(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      part = add_plain(part, above(load_p(base + i), tau));
    }
    add_lane_parts(thread, part);
  }
  return fold_lanes();
}

fn run(row: u32, thread: u32) {
  let base = row * cols();
  let is_whole = shift_row(base, thread);
  var low = -1.0;
  var high = 0.0;
  for (var step = 0u; step < 30u; step++) {
    let tau = mul(add(low, high), 0.5);
    let is_low = greater_equal(sum_above(base, thread, tau), 1.0);
    low = select_f(is_low, tau, low);
    high = select_f(is_low, high, tau);
  }
  let total = sum_above(base, thread, low);
  storageBarrier();
  if (!is_whole) { return; }
  for (var i = thread; i < cols(); i += 256u) { store_p(base + i, snap(div(above(load_p(base + i), low), total))); }
}
