
// cosine_loss; a row per workgroup of 256 threads.
fn run(row: u32, thread: u32) {
  let base = row * cols();
  let o_norm = norm_of(false, base, thread);
  let t_norm = norm_of(true, base, thread);
  let floored = o_norm.floored || t_norm.floored;
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      let u = unit_entry(false, base + i, o_norm);
      let v = unit_entry(true, base + i, t_norm);
      let d = snap(sub(u, v));
      part = add_plain(part, select_f(floored, mul(u, v), mul(d, d)));
    }
    add_lane_parts(thread, part);
  }
  let sum = fold_lanes();
  let apart = snap(select_f(floored, sub(1.0, sum), mul(0.5, sum)));
  if (thread == 0u) { store_values(row, apart); }
  if (has_gradient != 0u) {
    let factor = flush_factor(div(load_scales(row / rows_per_scale()), o_norm.size));
    for (var i = thread; i < cols(); i += 256u) {
      let u = unit_entry(false, base + i, o_norm);
      let toward = snap(sub(u, unit_entry(true, base + i, t_norm)));
      store_gradient(base + i, snap(mul(snap(sub(toward, mul(apart, u))), factor)));
    }
  }
}
