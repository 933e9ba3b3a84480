
// The gradients of such a piece: dq = d factor, and of its factor the sum by lanes16 of d q; a piece per workgroup of
// 256 threads. Pieces of d lie `d_step` apart.
fn run(group: u32, thread: u32) {
  let row = group / count();
  let piece = group % count();
  let d = row * d_cols() + d_first() + piece * d_step();
  let q = row * q_cols() + q_first() + piece * width();
  let own = row * q_cols() + factor_first() + piece;
  var factor = 1.0;
  if (is_root == 0u) { factor = load_factors(own); }
  begin_lanes(thread);
  for (var round = 0u; round < width(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, width()); i += 16u) {
      store_dq(q + i, snap(mul(load_d(d + i), factor)));
      part = add_plain(part, mul(load_d(d + i), load_q(q + i)));
    }
    add_lane_parts(thread, part);
  }
  let sum = snap(fold_lanes());
  if (is_root == 0u && thread == 0u) { store_sums(own, sum); }
}
