
// y[b, f, o] = the sum over (c, k) of w[f, c, k] patch[o, (c, k)], then the bias; a thread per position of y and
// `together` filters of a group. Padding is multiplied like everything else, so that a weight that is not finite shows
// there too; holes are left out, but count where a block of the chain ends.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let z = axis_of(0u);
  let y = axis_of(1u);
  let x = axis_of(2u);
  let oz = i / (y.out * x.out) % z.out;
  let oy = i / x.out % y.out;
  let ox = i % x.out;
  let positions = z.out * y.out * x.out;
  let runs = (filters() + together - 1u) / together;  // of filters, in a group
  let run_of_sample = i / positions % (all_filters() / filters() * runs);
  let sample = i / positions / (all_filters() / filters() * runs);
  let conv_group = run_of_sample / runs;
  let first = run_of_sample % runs * together;
  let f = conv_group * filters() + first;

  let none = keep(0.0);
  let terms = channels() * z.taps * y.taps * x.taps;
  var input = (sample * (all_filters() / filters()) + conv_group) * channels() * z.extent * y.extent * x.extent;
  var column = 0u;  // of all taps
  // Beyond the last filter the last one is computed again.
  var w_at = array<u32, together>();
  for (var j = 0u; j < together; j++) { w_at[j] = (f + min(j, filters() - 1u - first)) * terms; }
  var total = array<f32, together>();
  var block = array<f32, together>();
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
              for (var j = 0u; j < together; j++) {
                total[j] = add_plain(total[j], block[j]);
                block[j] = 0.0;
              }
              block_index = column / 64u;
            }
            var seen = none;
            if (iz >= 0 && iy >= 0 && ix >= 0) { seen = load_x(input + row + bitcast<u32>(ix)); }
            for (var j = 0u; j < together; j++) {
              block[j] = add_plain(block[j], product(load_w(w_at[j] + column), seen));
            }
          }
          column++;
        }
      }
    }
    input += z.extent * y.extent * x.extent;
  }
  let o = i % positions;
  for (var j = 0u; j < min(together, filters() - first); j++) {
    var sum = snap(add_plain(total[j], block[j]));
    if (with_bias != 0u) { sum = snap(add(sum, load_bias(f + j))); }
    store_y((sample * all_filters() + f + j) * positions + o, sum);
  }
}
