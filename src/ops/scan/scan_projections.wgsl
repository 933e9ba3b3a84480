
// db and dc of state n in one step: sixteen channels fold, blocks of them are added in one chain; a thread per element.
fn fold_block(lanes: array<f32, 16>) -> f32 {
  var v = lanes;
  for (var n = 8u; n != 0u; n >>= 1u) {
    for (var j = 0u; j < n; j++) { v[j] = add(v[j], v[j + n]); }
  }
  return v[0];
}

fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= batch() * steps() * states()) { return; }
  let row = i / states();
  let n = i % states();
  if (row % steps() >= length_of(row / steps())) {
    put_db(i, 0u);
    put_dc(i, 0u);
    return;
  }
  let own_b = load_b(i);
  var db = 0.0;
  var dc = 0.0;
  for (var first = 0u; first < channels(); first += 16u) {
    var of_b = array<f32, 16>();
    var of_c = array<f32, 16>();
    for (var d = first; d < min(first + 16u, channels()); d++) {
      let at = row * channels() + d;
      let state = n * channels() + d;
      let dt = load_dt(at);
      let u = snap(mul(dt, load_x(at)));
      let w = decay(decay_log(dt, load_a(state)));
      let now = next_state(w, load_before(row * states() * channels() + state), u, own_b);
      of_c[d - first] = mul(load_dy(at), now);
      of_b[d - first] = mul(load_slopes(row * states() * channels() + state), u);
    }
    db = add(db, snap(fold_block(of_b)));
    dc = add(dc, snap(fold_block(of_c)));
  }
  store_db(i, snap(db));
  store_dc(i, snap(dc));
}
