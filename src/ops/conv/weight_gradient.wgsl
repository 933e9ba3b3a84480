
// d[g, f, (c, k)] += the sum over samples and positions of g[b, f, o] patch[b, o, (c, k)], sixteen samples at a time. A
// workgroup of 256 threads has sixteen columns (c, k) of `together` filters, and takes sixteen blocks of their chains
// side by side. Holes and padding are +0. reversed: d is laid out as [g, c, f, k]. `apart`: workgroups share the blocks of a
// column, sixteen each, and leave them for add_chunks.wgsl, since the columns alone are too few for a card.
var<workgroup> chain_blocks: array<array<f32, 256>, 4>;

fn run(group: u32, thread: u32) {
  let z = axis_of(0u);
  let y = axis_of(1u);
  let x = axis_of(2u);
  let positions = z.out * y.out * x.out;
  let plane = z.extent * y.extent * x.extent;
  let taps = z.taps * y.taps * x.taps;
  let columns = channels() * taps;
  let tiles = (columns + 15u) / 16u;
  let runs = (filters() + together - 1u) / together;  // of filters, in a group
  let conv_group = group / tiles / runs % groups();
  let round_of_group = group / tiles / runs / groups();
  let first_filter = group / tiles % runs * together;
  // Beyond the last column and filter the last ones are computed again.
  let column = min(group % tiles * 16u + thread % 16u, columns - 1u);
  let channel = column / taps;
  let kz = column % taps / (y.taps * x.taps);
  let ky = column / x.taps % y.taps;
  let kx = column % x.taps;
  let x_step = all_filters() / filters() * channels() * plane;
  let x_begin = (conv_group * channels() + channel) * plane;
  let g_step = all_filters() * positions;
  var g_begin = array<u32, together>();
  for (var j = 0u; j < together; j++) {
    g_begin[j] = (conv_group * filters() + min(first_filter + j, filters() - 1u)) * positions;
  }
  let none = keep(0.0);

  // What this thread writes, if any: column thread % 16 of filter thread / 16.
  let own = first_filter + thread / 16u;
  let writes = thread < 16u * together && own < filters() && group % tiles * 16u + thread % 16u < columns;
  var at = (conv_group * filters() + own) * columns + column;
  if (reversed != 0u) { at = ((conv_group * channels() + channel) * filters() + own) * taps + column % taps; }
  var d = 0.0;
  if (writes && apart == 0u) { d = load_d(at); }
  let rounds = (16u * positions + 1023u) / 1024u;  // of sixteen blocks, in a run of sixteen samples
  var begin_sample = 0u;
  var end_sample = samples();
  var begin_round = 0u;
  if (apart != 0u) {
    begin_sample = round_of_group / rounds * 16u;
    end_sample = min(samples(), begin_sample + 1u);
    begin_round = round_of_group % rounds;
  }
  for (var first = begin_sample; first < end_sample; first += 16u) {
    let rows = min(16u, samples() - first) * positions;
    let end_round = select((rows + 1023u) / 1024u, begin_round + 1u, apart != 0u);
    var total = 0.0;
    for (var of_round = begin_round; of_round < end_round; of_round++) {
      let round = 1024u * of_round;
      let begin = round + thread / 16u * 64u;
      // Positions are walked, since to divide for each of them would cost more than its term.
      var sample = first + begin / positions;
      var oz = begin % positions / (y.out * x.out);
      var oy = begin / x.out % y.out;
      var ox = begin % x.out;
      var part = array<f32, together>();
      for (var r = begin; r < min(begin + 64u, rows); r++) {
        let iz = input_of(z, oz, kz);
        let iy = input_of(y, oy, ky);
        let ix = input_of(x, ox, kx);
        var seen = none;
        if (iz >= 0 && iy >= 0 && ix >= 0) {
          seen = load_x(sample * x_step + x_begin + (bitcast<u32>(iz) * y.extent + bitcast<u32>(iy)) * x.extent +
                        bitcast<u32>(ix));
        }
        let o = sample * g_step + (oz * y.out + oy) * x.out + ox;
        for (var j = 0u; j < together; j++) { part[j] = add_plain(part[j], product(load_g(o + g_begin[j]), seen)); }
        ox++;
        if (ox == x.out) {
          ox = 0u;
          oy++;
        }
        if (oy == y.out) {
          oy = 0u;
          oz++;
        }
        if (oz == z.out) {
          oz = 0u;
          sample++;
        }
      }
      for (var j = 0u; j < together; j++) { chain_blocks[j][thread] = part[j]; }
      workgroupBarrier();
      // Blocks beyond the last one are +0, which changes no sum.
      let chunk = first / 16u * ((16u * positions + 63u) / 64u) + round / 64u;
      for (var b = 0u; b < 16u && writes; b++) {
        let sum = chain_blocks[thread / 16u][16u * b + thread % 16u];
        if (apart == 0u) {
          total = add_plain(total, sum);
        } else if (round + 64u * b < rows) {
          store_d((chunk + b) * all_filters() * columns + at, sum);
        }
      }
      workgroupBarrier();
    }
    d = snap(add(d, total));
  }
  if (writes && apart == 0u) { store_d(at, d); }
}
