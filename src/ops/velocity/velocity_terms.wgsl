
// v = snap(snap(keep v) + snap(take snap(rate g))), and of it: v^2, and how many numbers are not finite. Sums come one after
// the other, so the first stores v and the second reads it.
// f32: keep_share, take_share
fn moves() -> bool { return !equal(load_rate(1u), 0.0); }

fn term(s: u32, i: u32) -> f32 {
  if (s == 0u) {
    if (!moves()) { return 0.0; }
    let taken = snap(mul(take_share(), snap(mul(load_rate(0u), load_g(i)))));
    let now = snap(add(snap(mul(keep_share(), load_v(i))), taken));
    store_v(i, now);
    return mul(now, now);
  }
  let bad_g = !is_finite(load_g(i));
  let bad_w = moves() && !is_finite(add(load_w(i), load_v(i)));
  return select_f(bad_g || bad_w, 1.0, 0.0);
}
