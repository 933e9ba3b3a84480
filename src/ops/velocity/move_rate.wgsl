
// One thread: rate = base (0.5 + 0.5 budget) factor and 1 where the figures say that the cell moves, else 0, 0.
// f32: base
fn run(group: u32, thread: u32) {
  if (thread != 0u) { return; }
  var own = mul(base(), add(0.5, mul(0.5, load_figures(0u))));
  if (has_factor != 0u) { own = mul(own, load_factor(0u)); }
  let moves = load_figures(2u);
  store_rate(0u, select_f(equal(moves, 0.0), 0.0, own));
  store_rate(1u, moves);
}
