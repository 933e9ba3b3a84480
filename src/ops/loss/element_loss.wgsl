
// values[r] = the sum of value(o, t) along row r by lanes16; gradient = slope(o, t) scale[r]. A row per workgroup of 256
// threads. The formulas are those of element_loss_cpu.cpp, by `kind`.
// f32: parameter
struct Term {
  value: f32,
  slope: f32,
}

fn term_of(o: f32, t: f32) -> Term {
  switch (kind) {
    case mse: {
      let e = snap(sub(o, t));
      return Term(mul(e, e), add(e, e));
    }
    case mae: {
      let e = sub(o, t);
      return Term(abs_f(e), select_f(greater(e, 0.0), 1.0, select_f(less(e, 0.0), -1.0, e)));
    }
    case huber: {
      let delta = parameter();
      let e = snap(sub(o, t));
      let size = abs_f(e);
      let outside = mul(delta, sub(size, mul(0.5, delta)));
      let slope = select_f(greater(e, delta), delta, select_f(less(e, neg(delta)), neg(delta), e));
      return Term(select_f(greater(size, delta), outside, mul(0.5, mul(e, e))), slope);
    }
    case crossentropy: {
      let p = add(o, log_floor());
      return Term(sub(0.0, mul(t, log_f(p))), snap(sub(0.0, div(t, p))));
    }
    case bce: {
      let upper = greater(o, 0.5);
      let near = select_f(upper, sub(1.0, o), o);
      let small = select_f(less(near, margin()), margin(), near);
      let log_small = log_f(small);
      let log_large = log1p_f(sub(0.0, small));
      let rest = sub(1.0, t);
      let value = add(mul(t, select_f(upper, log_large, log_small)), mul(rest, select_f(upper, log_small, log_large)));
      let slope = div(select_f(upper, sub(rest, small), sub(small, t)), mul(small, sub(1.0, small)));
      return Term(sub(0.0, value), snap(slope));
    }
    case bce_logits: {
      let away = sub(0.0, abs_f(o));
      let small = sigmoid_f(away);
      let positive = greater(o, 0.0);
      let value = add(sub(select_f(positive, o, 0.0), mul(o, t)), log1p_f(exp_f(away)));
      return Term(value, select_f(positive, sub(sub(1.0, t), small), sub(small, t)));
    }
    case kl_div: {
      let p = add(o, log_floor());
      let e = snap(sub(sub(t, o), log_floor()));
      let far = sub(log_f(t), log_f(p));
      let near = log1p_f(snap(div(e, p)));
      let ratio = select_f(less(abs_f(e), mul(0.5, p)), near, far);
      return Term(select_f(equal(t, 0.0), sub(o, o), mul(t, snap(ratio))), snap(sub(0.0, div(t, p))));
    }
    default: {  // hinge
      let gap = sub(1.0, mul(t, o));
      return Term(select_f(less_equal(gap, 0.0), 0.0, gap), select_f(greater(gap, 0.0), sub(0.0, t), 0.0));
    }
  }
}
// kLossLogFloor, kProbabilityMargin.
fn log_floor() -> f32 { return bitcast<f32>(log_floor_bits); }
fn margin() -> f32 { return bitcast<f32>(margin_bits); }

fn run(row: u32, thread: u32) {
  let base = row * cols();
  let scale = load_scales(row / rows_per_scale());
  begin_lanes(thread);
  for (var first = 0u; first < cols(); first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, cols()); i += 16u) {
      let term = term_of(load_o(base + i), load_t(base + i));
      if (has_gradient != 0u) { store_gradient(base + i, snap(mul(term.slope, scale))); }
      part = add_plain(part, term.value);
    }
    add_lane_parts(thread, part);
  }
  let sum = snap(fold_lanes());
  if (thread == 0u) { store_values(row, sum); }
}
