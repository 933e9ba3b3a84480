
// sums[c] = snap(sums + sum over rows of |w|) by chain64; a thread per column.
fn run(group: u32, thread: u32) {
  let col = 64u * group + thread;
  if (col >= cols()) { return; }
  var total = 0.0;
  for (var begin = 0u; begin < rows(); begin += 64u) {
    var chain = 0.0;
    for (var r = begin; r < min(begin + 64u, rows()); r++) { chain = add_plain(chain, abs_f(load_w(r * cols() + col))); }
    total = add_plain(total, chain);
  }
  store_sums(col, snap(add(load_sums(col), total)));
}
