
// Of values a and gaps e, the target being t = a + factor e within the limit: a t, a a, t t, (t - a)^2.
// f32: factor, limit
fn term(s: u32, i: u32) -> f32 {
  let x = load_a(i);
  var t = add(x, mul(factor(), load_e(i)));
  if (greater(limit(), 0.0)) {
    t = select_f(less(t, neg(limit())), neg(limit()), select_f(greater(t, limit()), limit(), t));
  }
  t = snap(t);
  let d = snap(sub(t, x));
  switch (s) {
    case 0u: { return mul(x, t); }
    case 1u: { return mul(x, x); }
    case 2u: { return mul(t, t); }
    default: { return mul(d, d); }
  }
}
