
// f32: count, threshold
fn budget_of(dot: f32, squares_a: f32, squares_t: f32) -> f32 {
  let no_a = equal(squares_a, 0.0);
  let no_t = equal(squares_t, 0.0);
  if (no_a && no_t) { return 1.0; }
  if (no_a || no_t) { return 0.5; }
  let cosine = snap(div(dot, mul(root(squares_a), root(squares_t))));
  let above = select_f(less(cosine, -1.0), 0.0, select_f(greater(cosine, 1.0), 2.0, add(cosine, 1.0)));
  return mul(above, 0.5);
}

fn finish() {
  let budget = snap(budget_of(totals[0], totals[1], totals[2]));
  let size = root(div(totals[3], count()));
  store_figures(0u, budget);
  store_figures(1u, size);
  store_figures(2u, select_f(less(budget, threshold()), 0.0, 1.0));
  if (!is_finite(size)) { put_failed(0u, 0x3f800000u); }
}
