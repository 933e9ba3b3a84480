
// y[o] of windows: the largest element, or with `averages` the sum by chain64 over what counts; with `seeks` where the
// largest lies in its plane, the plane's size where there is none. A thread per window.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let z = window_axis(0u);
  let y = window_axis(1u);
  let x = window_axis(2u);
  let oz = i / (y.out * x.out) % z.out;
  let oy = i / x.out % y.out;
  let ox = i % x.out;
  let plane = z.extent * y.extent * x.extent;
  let base = i / (z.out * y.out * x.out) * plane;

  var winner = plane;
  var largest = neg(infinity());
  var total = 0.0;
  var block = 0.0;
  var block_index = 0u;
  for (var kz = 0u; kz < z.taps; kz++) {
    let iz = element_under(z, oz, kz);
    if (iz >= z.extent) { continue; }
    for (var ky = 0u; ky < y.taps; ky++) {
      let iy = element_under(y, oy, ky);
      if (iy >= y.extent) { continue; }
      for (var kx = 0u; kx < x.taps; kx++) {
        let ix = element_under(x, ox, kx);
        if (ix >= x.extent) { continue; }
        let at = (iz * y.extent + iy) * x.extent + ix;
        let value = load_x(base + at);
        if (averages == 0u) {
          if (greater(value, largest) || (winner == plane && !is_nan(value))) {
            largest = value;
            winner = at;
          }
        } else {
          let tap = (kz * y.taps + ky) * x.taps + kx;
          if (tap / 64u != block_index) {
            total = add_plain(total, block);
            block = 0.0;
            block_index = tap / 64u;
          }
          block = add_plain(block, value);
        }
      }
    }
  }
  if (seeks != 0u) {
    put_y(i, winner);
  } else if (averages != 0u) {
    let count = to_float_u(counted(z, oz) * counted(y, oy) * counted(x, ox));
    store_y(i, snap(div(add_plain(total, block), count)));
  } else {
    store_y(i, snap(largest));
  }
}
