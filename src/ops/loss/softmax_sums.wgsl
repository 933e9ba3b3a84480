
// Of a row of logits (softmax_loss.h): the largest, where it first stands, the sum of the other exponentials, of all of them,
// and the logarithm of that. A NaN that stands first is the largest, and then there is no first: `at` is n.
struct Sums {
  top: f32,
  at: u32,
  rest: f32,
  total: f32,
  log_total: f32,
}

fn softmax_sums(base: u32, n: u32, thread: u32) -> Sums {
  let starts_with_nan = is_nan(load_x(base));
  let first_at = select(first_largest(base, n, thread), n, starts_with_nan);
  let top = load_x(base + select(first_at, 0u, starts_with_nan));
  begin_lanes(thread);
  for (var first = 0u; first < n; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, n); i += 16u) {
      var e = 0.0;
      if (i != first_at) { e = exponential(base + i, top); }
      part = add_plain(part, e);
    }
    add_lane_parts(thread, part);
  }
  var rest = fold_lanes();
  if (!is_finite(top)) { rest = quiet_nan(); }
  return Sums(top, first_at, rest, add(1.0, rest), snap(log1p_f(rest)));
}

fn exponential(at: u32, top: f32) -> f32 { return snap(exp_f(snap(sub(load_x(at), top)))); }
