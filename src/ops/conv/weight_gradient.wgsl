
// d[g, f, (c, k)] += the sum over samples and positions of g[b, f, o] patch[b, o, (c, k)], sixteen samples at a time; an
// element of d per workgroup of 64 threads. Holes and padding are +0. reversed: d is laid out as [g, c, f, k].
fn run(group: u32, thread: u32) {
  let z = axis_of(0u);
  let y = axis_of(1u);
  let x = axis_of(2u);
  let positions = z.out * y.out * x.out;
  let plane = z.extent * y.extent * x.extent;
  let taps = z.taps * y.taps * x.taps;
  let k = group % taps;
  let channel = group / taps % channels();
  let f = group / (taps * channels());  // of all groups
  let conv_group = f / filters();
  let groups = all_filters() / filters();
  let none = keep(0.0);

  var at = group;
  if (reversed != 0u) { at = ((conv_group * channels() + channel) * filters() + f % filters()) * taps + k; }
  var d = load_d(at);
  for (var first = 0u; first < samples(); first += 16u) {
    let rows = min(16u, samples() - first) * positions;
    var total = 0.0;
    for (var round = 0u; round < rows; round += 64u * 64u) {
      let begin = round + 64u * thread;
      var part = 0.0;
      for (var r = begin; r < min(begin + 64u, rows); r++) {
        let sample = first + r / positions;
        let o = r % positions;
        let iz = input_of(z, o / (y.out * x.out), k / (y.taps * x.taps));
        let iy = input_of(y, o / x.out % y.out, k / x.taps % y.taps);
        let ix = input_of(x, o % x.out, k % x.taps);
        var seen = none;
        if (iz >= 0 && iy >= 0 && ix >= 0) {
          seen = load_x(((sample * groups + conv_group) * channels() + channel) * plane +
                        (bitcast<u32>(iz) * y.extent + bitcast<u32>(iy)) * x.extent + bitcast<u32>(ix));
        }
        part = add_plain(part, mul(load_g((sample * all_filters() + f) * positions + o), seen));
      }
      total = add_chain_parts(total, thread, part);
    }
    d = snap(add(d, total));
  }
  if (thread == 0u) { store_d(at, d); }
}
