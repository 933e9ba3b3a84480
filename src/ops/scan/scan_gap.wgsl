
// What a channel of a sample is asked for by its outputs' targets, and the paths that read its inputs, from the last
// step to the first; a thread each.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= batch() * channels()) { return; }
  let sample = i / channels();
  let d = i % channels();
  let skip = load_skip(d);
  for (var n = 0u; n < states(); n++) {
    put_carry((sample * states() + n) * channels() + d, 0u);
    put_paths((sample * states() + n) * channels() + d, 0u);
  }
  var products = 0.0;
  for (var t = steps(); t != 0u; t--) {
    let row = sample * steps() + t - 1u;
    let at = row * channels() + d;
    if (t > length_of(sample)) {
      put_d(at, 0u);
      put_reads(at, 0u);
      continue;
    }
    let dt = load_dt(at);
    let e = load_e(at);
    var asked = 0.0;
    var sizes = 0.0;
    for (var n = 0u; n < states(); n++) {
      let state = n * channels() + d;
      let own = sample * states() * channels() + state;
      let w = decay(decay_log(dt, load_a(state)));
      let own_b = load_b(row * states() + n);
      let own_c = load_c(row * states() + n);
      let g = snap(add(load_carry(own), mul(e, own_c)));
      let r = snap(add(load_paths(own), abs_f(own_c)));
      asked = add(asked, mul(g, own_b));
      sizes = add(sizes, mul(r, abs_f(own_b)));
      store_carry(own, snap(mul(g, w)));
      store_paths(own, snap(mul(r, w)));
    }
    store_d(at, snap(add(mul(snap(asked), dt), mul(e, skip))));
    store_reads(at, snap(add(mul(snap(sizes), dt), abs_f(skip))));
    products = add(products, mul(e, load_x(at)));
  }
  store_dskip(sample * channels() + d, snap(products));
}
