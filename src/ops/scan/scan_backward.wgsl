
// The gradients of one channel of one sample per thread, from its last step to its first. `slopes` takes the gradient
// of the state after each step, `carry` what goes on to the step before.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= batch() * channels()) { return; }
  let sample = i / channels();
  let d = i % channels();
  let skip = load_skip(d);
  let rates = (sample * channels() + d) * states();
  for (var n = 0u; n < states(); n++) {
    put_carry((sample * states() + n) * channels() + d, 0u);
    put_da_log(rates + n, 0u);
  }
  var dskip = 0.0;
  for (var t = steps(); t != 0u; t--) {
    let row = sample * steps() + t - 1u;
    let at = row * channels() + d;
    if (t > length_of(sample)) {
      put_dx(at, 0u);
      put_ddt(at, 0u);
      continue;
    }
    let x = load_x(at);
    let dt = load_dt(at);
    let dy = load_dy(at);
    var du = 0.0;
    var ddt = 0.0;
    for (var n = 0u; n < states(); n++) {
      let state = n * channels() + d;
      let own = sample * states() * channels() + state;
      let a = load_a(state);
      let z = decay_log(dt, a);
      let w = decay(z);
      let g = snap(add(load_carry(own), mul(dy, load_c(row * states() + n))));
      let dz = snap(mul(snap(mul(g, load_before(row * states() * channels() + state))), w));
      du = add(du, mul(g, load_b(row * states() + n)));
      ddt = add(ddt, mul(dz, a));
      store_da_log(rates + n, snap(add(load_da_log(rates + n), mul(dz, z))));
      store_carry(own, snap(mul(g, w)));
      store_slopes(row * states() * channels() + state, g);
    }
    du = snap(du);
    dskip = add(dskip, mul(dy, x));
    store_ddt(at, snap(add(snap(ddt), mul(du, x))));
    store_dx(at, snap(add(mul(du, dt), mul(dy, skip))));
  }
  store_dskip(sample * channels() + d, snap(dskip));
}
