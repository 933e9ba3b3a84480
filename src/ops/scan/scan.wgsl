
// The selective scan of one channel of one sample per thread. keeps: `before` takes the state before each step.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= batch() * channels()) { return; }
  let sample = i / channels();
  let d = i % channels();
  let skip = load_skip(d);
  for (var t = 0u; t < steps(); t++) {
    let row = sample * steps() + t;
    let at = row * channels() + d;
    if (t >= length_of(sample)) {
      put_y(at, 0u);
      continue;
    }
    let x = load_x(at);
    let dt = load_dt(at);
    let u = snap(mul(dt, x));
    var sum = 0.0;
    for (var n = 0u; n < states(); n++) {
      let state = n * channels() + d;
      let own = sample * states() * channels() + state;
      let was = load_h(own);
      if (keeps != 0u) { store_before(row * states() * channels() + state, was); }
      let w = decay(decay_log(dt, load_a(state)));
      let now = next_state(w, was, u, load_b(row * states() + n));
      store_h(own, now);
      sum = add(sum, mul(load_c(row * states() + n), now));
    }
    store_y(at, snap(add(snap(sum), mul(skip, x))));
  }
}
