
// Sizes and directions of rows (direction_loss.h), by workgroups of 256 threads. f32: least_norm
struct Norm {
  size: f32,
  floored: bool,
}

fn entry(of_target: bool, at: u32) -> f32 {
  if (of_target) { return load_t(at); }
  return load_o(at);
}

// |x| of `cols` entries from element `base` of o or t on.
fn norm_of(of_target: bool, base: u32, thread: u32) -> Norm {
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      let x = entry(of_target, base + i);
      part = add_plain(part, mul(x, x));
    }
    add_lane_parts(thread, part);
  }
  let size = root(fold_lanes());
  let floored = less(size, least_norm());
  return Norm(select_f(floored, least_norm(), select_f(is_finite(size), size, quiet_nan())), floored);
}

fn unit_entry(of_target: bool, at: u32, norm: Norm) -> f32 { return snap(div(entry(of_target, at), norm.size)); }
