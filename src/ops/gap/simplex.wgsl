
// Targets p + e cut at 0 and scaled to the sum of p, less p; a distribution of `width` entries per workgroup of 256 threads.
fn cut_of(at: u32) -> f32 {
  let t = snap(add(load_p(at), load_e(at)));
  return select_f(greater(t, 0.0) || is_nan(t), t, 0.0);
}

fn run(group: u32, thread: u32) {
  let base = group / count() * cols() + first() + group % count() * width();
  begin_lanes(thread);
  for (var round = 0u; round < width(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, width()); i += 16u) {
      part = add_plain(part, load_p(base + i));
    }
    add_lane_parts(thread, part);
  }
  let given = fold_lanes();
  begin_lanes(thread);
  for (var round = 0u; round < width(); round += 16u * lane_block) {
    let begin = round + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, width()); i += 16u) {
      part = add_plain(part, cut_of(base + i));
    }
    add_lane_parts(thread, part);
  }
  let wanted = fold_lanes();
  let some = greater(wanted, 0.0);
  let factor = snap(div(given, wanted));
  for (var i = thread; i < width(); i += 256u) {
    let gap = snap(sub(snap(mul(cut_of(base + i), factor)), load_p(base + i)));
    store_out(base + i, select_f(some, gap, 0.0));
  }
}
