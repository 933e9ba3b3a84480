
// The norm over all norms and the factors that bring it down to the limit; one thread.
// f32: limit, shrink, off_zero, tiny, first_factor
fn norm_of_all(scale: f32) -> f32 {
  var total = 0.0;
  for (var begin = 0u; begin < count(); begin += 64u) {
    var chain = 0.0;
    for (var i = begin; i < min(begin + 64u, count()); i++) {
      var own = load_norms(2u * i);
      if (!equal(load_norms(2u * i + 1u), scale)) { own = mul(own, scale); }
      chain = add_plain(chain, mul(own, own));
    }
    total = add_plain(total, chain);
  }
  return snap(root(total));
}

fn run(group: u32, thread: u32) {
  if (thread != 0u) { return; }
  var scale = 1.0;
  for (var i = 0u; i < count(); i++) {
    if (!equal(load_norms(2u * i + 1u), 1.0)) { scale = shrink(); }
  }
  var norm = norm_of_all(scale);
  if (equal(scale, 1.0) && !is_finite(norm)) {
    scale = shrink();
    norm = norm_of_all(scale);
  }
  var first = 1.0;
  var second = 1.0;
  let most = mul(limit(), scale);
  if (!equal(limit(), 0.0) && greater(norm, most) && is_finite(norm)) {
    let below = add(norm, mul(off_zero(), scale));
    let factor = div(limit(), below);
    if (equal(scale, 1.0) && greater_equal(factor, tiny())) {
      second = factor;
    } else {
      first = first_factor();
      second = div(mul(limit(), div(scale, first_factor())), below);
    }
  }
  store_clip(0u, norm);
  store_clip(1u, scale);
  store_clip(2u, first);
  store_clip(3u, second);
}
