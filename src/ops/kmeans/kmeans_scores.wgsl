
// l[r, k] = -the sum by lanes16 of (x_r - c_k)^2, divided by 2 t2; a workgroup of 256 threads each.
// f32: twice_t2
fn run(group: u32, thread: u32) {
  let x = group / clusters() * cols();
  let center = group % clusters() * cols();
  begin_lanes(thread);
  for (var round = 0u; round < cols(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      let d = snap(sub(load_x(x + i), load_centers(center + i)));
      part = add_plain(part, mul(d, d));
    }
    add_lane_parts(thread, part);
  }
  let sum = fold_lanes();
  if (thread == 0u) { store_l(group, snap(neg(div(sum, twice_t2())))); }
}
