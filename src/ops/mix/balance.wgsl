
// sum += factor * the sum by lanes16 of shares_i * mean of p_i; one workgroup of 256 threads.
// f32: factor
fn run(group: u32, thread: u32) {
  begin_lanes(thread);
  for (var round = 0u; round < cols(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      var total = 0.0;
      for (var first = 0u; first < groups(); first += 64u) {
        var block = 0.0;
        for (var g = first; g < min(first + 64u, groups()); g++) { block = add_plain(block, load_p(g * cols() + i)); }
        total = add_plain(total, block);
      }
      part = add_plain(part, mul(load_shares(i), snap(div(total, to_float_u(groups())))));
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  if (thread == 0u) { store_sum(0u, snap(add(load_sum(0u), snap(mul(factor(), total))))); }
}
