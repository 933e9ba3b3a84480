
// c = a b by chain64, a tile of 64 x 64 per workgroup of 256 threads, four by four of it per thread. Sixteen terms of both
// operands at a time lie in workgroup memory. Runs of block() terms are one chain each, which is added to c and snapped;
// into: 0 store, 1 add, 2 a running total that is not snapped.
var<workgroup> tile_a: array<f32, 1024>;  // [term][row]
var<workgroup> tile_b: array<f32, 1024>;  // [term][column]

fn run(group: u32, thread: u32) {
  let across = (n() + 63u) / 64u;
  let row = group / across * 64u;
  let column = group % across * 64u;
  let own_row = thread / 16u * 4u;
  let own_column = thread % 16u * 4u;
  var c = array<f32, 16>();
  for (var i = 0u; i < 16u; i++) {
    let r = row + own_row + i / 4u;
    let col = column + own_column + i % 4u;
    c[i] = 0.0;
    if (into != 0u && r < m() && col < n()) { c[i] = load_c(r * n() + col); }
  }
  for (var first = 0u; first < k(); first += block()) {
    let end = min(first + block(), k());
    var total = array<f32, 16>();
    if (into == 2u) { total = c; }
    for (var begin = first; begin < end; begin += 64u) {
      let stop = min(begin + 64u, end);
      var chain = array<f32, 16>();
      for (var at = begin; at < stop; at += 16u) {
        workgroupBarrier();
        for (var i = thread; i < 1024u; i += 256u) {
          // Neighbours of a thread read neighbours in memory, whichever axis of a is contiguous.
          var r = i / 16u;
          var term = i % 16u;
          if (a_col() != 1u) {
            r = i % 64u;
            term = i / 64u;
          }
          var v = 0u;
          if (at + term < stop && row + r < m()) { v = bits_a((row + r) * a_row() + (at + term) * a_col()); }
          tile_a[term * 64u + r] = bitcast<f32>(v);
          var col = i % 64u;
          term = i / 64u;
          if (b_col() != 1u) {
            col = i / 16u;
            term = i % 16u;
          }
          v = 0u;
          if (at + term < stop && column + col < n()) { v = bits_b((at + term) * b_row() + (column + col) * b_col()); }
          tile_b[term * 64u + col] = bitcast<f32>(v);
        }
        workgroupBarrier();
        for (var term = 0u; term < min(16u, stop - at); term++) {
          let x = term * 64u + own_row;
          let y = term * 64u + own_column;
          let a0 = tile_a[x];
          let a1 = tile_a[x + 1u];
          let a2 = tile_a[x + 2u];
          let a3 = tile_a[x + 3u];
          let b0 = tile_b[y];
          let b1 = tile_b[y + 1u];
          let b2 = tile_b[y + 2u];
          let b3 = tile_b[y + 3u];
          chain[0] = add_plain(chain[0], mul(b0, a0));
          chain[1] = add_plain(chain[1], mul(b1, a0));
          chain[2] = add_plain(chain[2], mul(b2, a0));
          chain[3] = add_plain(chain[3], mul(b3, a0));
          chain[4] = add_plain(chain[4], mul(b0, a1));
          chain[5] = add_plain(chain[5], mul(b1, a1));
          chain[6] = add_plain(chain[6], mul(b2, a1));
          chain[7] = add_plain(chain[7], mul(b3, a1));
          chain[8] = add_plain(chain[8], mul(b0, a2));
          chain[9] = add_plain(chain[9], mul(b1, a2));
          chain[10] = add_plain(chain[10], mul(b2, a2));
          chain[11] = add_plain(chain[11], mul(b3, a2));
          chain[12] = add_plain(chain[12], mul(b0, a3));
          chain[13] = add_plain(chain[13], mul(b1, a3));
          chain[14] = add_plain(chain[14], mul(b2, a3));
          chain[15] = add_plain(chain[15], mul(b3, a3));
        }
      }
      for (var i = 0u; i < 16u; i++) { total[i] = add_plain(total[i], chain[i]); }
    }
    for (var i = 0u; i < 16u; i++) {
      if (into == 2u) {
        c[i] = total[i];
      } else if (into == 1u || first != 0u) {
        c[i] = snap(add(c[i], total[i]));
      } else {
        c[i] = snap(total[i]);
      }
    }
  }
  for (var i = 0u; i < 16u; i++) {
    let r = row + own_row + i / 4u;
    let col = column + own_column + i % 4u;
    if (r < m() && col < n()) { store_c(r * n() + col, c[i]); }
  }
}
