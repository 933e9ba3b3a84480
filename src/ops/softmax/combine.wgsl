
// Pieces of a row, each times a number of its own: to_i = factor_i q_i, `count` pieces of `width` entries a row; a
// thread per element. Pieces of the root have the factor 1.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let row = i / (count() * width());
  let at = i % (count() * width());
  var factor = 1.0;
  if (is_root == 0u) { factor = load_factors(row * q_cols() + factor_first() + at / width()); }
  store_to(row * to_cols() + to_first() + at, snap(mul(load_q(row * q_cols() + q_first() + at), factor)));
}
