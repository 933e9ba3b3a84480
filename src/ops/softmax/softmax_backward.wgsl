
// dx = p (dy - sum of p dy) / T, a distribution of `width` entries per workgroup of 256 threads.
// f32: temperature
fn run(group: u32, thread: u32) {
  let base = group / count() * cols() + first() + group % count() * width();
  begin_lanes(thread);
  for (var round = 0u; round < width(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, width()); i += 16u) {
      part = add_plain(part, mul(load_p(base + i), load_dy(base + i)));
    }
    add_lane_parts(thread, part);
  }
  storageBarrier();
  let mean = snap(fold_lanes());
  for (var i = thread; i < width(); i += 256u) {
    let slope = snap(mul(load_p(base + i), snap(sub(load_dy(base + i), mean))));
    store_dx(base + i, snap(div(slope, temperature())));
  }
}
