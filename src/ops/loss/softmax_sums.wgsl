
// Of a row of logits (softmax_loss.h): the largest, where it first stands, the sum of the other exponentials, of all of them,
// and the logarithm of that.
struct Sums {
  top: f32,
  at: u32,
  rest: f32,
  total: f32,
  log_total: f32,
}

fn softmax_sums(base: u32, n: u32, thread: u32) -> Sums {
  let largest = first_largest(base, n, thread);
  begin_lanes(thread);
  for (var first = 0u; first < n; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, n); i += 16u) {
      var e = 0.0;
      if (i != largest.at) { e = exponential(base + i, largest.value); }
      part = add_plain(part, e);
    }
    add_lane_parts(thread, part);
  }
  var rest = fold_lanes();
  if (!is_finite(largest.value)) { rest = quiet_nan(); }
  return Sums(largest.value, largest.at, rest, add(1.0, rest), snap(log1p_f(rest)));
}

fn exponential(at: u32, top: f32) -> f32 { return snap(exp_f(snap(sub(load_x(at), top)))); }

// A factor of gradients: a subnormal one is 0.
fn flush_factor(x: f32) -> f32 { return select_f(magnitude_of(x) < 0x800000u, 0.0, x); }
