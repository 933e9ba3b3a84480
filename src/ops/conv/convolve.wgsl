
// y[b, f, o] = the sum over (c, k) of w[f, c, k] patch[o, (c, k)], then the bias; a thread per element of y. Padding is
// multiplied like everything else, so that a weight that is not finite shows there too; holes are left out, but count
// where a block of the chain ends.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let z = axis_of(0u);
  let y = axis_of(1u);
  let x = axis_of(2u);
  let oz = i / (y.out * x.out) % z.out;
  let oy = i / x.out % y.out;
  let ox = i % x.out;
  let plane = i / (z.out * y.out * x.out);
  let f = plane % all_filters();

  let none = keep(0.0);
  var input = plane / filters() * channels() * z.extent * y.extent * x.extent;
  var column = 0u;  // of all taps
  var w_at = f * channels() * z.taps * y.taps * x.taps;
  var total = 0.0;
  var block = 0.0;
  var block_index = 0u;
  for (var c = 0u; c < channels(); c++) {
    for (var kz = 0u; kz < z.taps; kz++) {
      let iz = input_of(z, oz, kz);
      for (var ky = 0u; ky < y.taps; ky++) {
        let iy = input_of(y, oy, ky);
        let row = (bitcast<u32>(iz) * y.extent + bitcast<u32>(iy)) * x.extent;
        for (var kx = 0u; kx < x.taps; kx++) {
          let ix = input_of(x, ox, kx);
          if (iz != is_hole && iy != is_hole && ix != is_hole) {
            if (column / 64u != block_index) {
              total = add_plain(total, block);
              block = 0.0;
              block_index = column / 64u;
            }
            var seen = none;
            if (iz >= 0 && iy >= 0 && ix >= 0) { seen = load_x(input + row + bitcast<u32>(ix)); }
            block = add_plain(block, mul(load_w(w_at + column), seen));
          }
          column++;
        }
      }
    }
    input += z.extent * y.extent * x.extent;
  }
  let sum = snap(add_plain(total, block));
  if (with_bias != 0u) {
    store_y(i, snap(add(sum, load_bias(f))));
  } else {
    store_y(i, sum);
  }
}
