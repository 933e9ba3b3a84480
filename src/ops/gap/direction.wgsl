
// q[g, branch] = the cosine of e and b - y over group g, 0 where one is 0; a group of n elements per workgroup of 256 threads.
fn part_of(which: u32, at: u32) -> f32 {
  let gap = load_e(at);
  if (which == 1u) { return mul(gap, gap); }
  let away = snap(sub(load_b(at), load_y(at)));
  if (which == 0u) { return mul(gap, away); }
  return mul(away, away);
}

fn sum_of(which: u32, base: u32, thread: u32) -> f32 {
  begin_lanes(thread);
  for (var first = 0u; first < n(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, n()); i += 16u) {
      part = add_plain(part, part_of(which, base + i));
    }
    add_lane_parts(thread, part);
  }
  return fold_lanes();
}

fn run(group: u32, thread: u32) {
  let base = group * n();
  let dot = sum_of(0u, base, thread);
  let squares_e = sum_of(1u, base, thread);
  let squares_d = sum_of(2u, base, thread);
  let size = mul(root(squares_e), root(squares_d));
  let cosine = snap(div(dot, size));
  let bounded = select_f(greater(cosine, 1.0), 1.0, select_f(less(cosine, -1.0), -1.0, cosine));
  if (thread == 0u) { store_q(group * cols() + branch(), select_f(greater(size, 0.0), bounded, 0.0)); }
}
