
// c[n] = snap(c[n] + sum of x[r, n]) by chain64 over the rows of each block, ascending; a thread per column.
fn run(group: u32, thread: u32) {
  let col = 64u * group + thread;
  if (col >= cols()) { return; }
  var c = load_c(col);
  for (var first = 0u; first < rows(); first += block()) {
    let end = min(first + block(), rows());
    var total = 0.0;
    for (var begin = first; begin < end; begin += 64u) {
      var chain = 0.0;
      for (var r = begin; r < min(begin + 64u, end); r++) { chain = add_plain(chain, load_x(r * cols() + col)); }
      total = add_plain(total, chain);
    }
    c = snap(add(c, total));
  }
  store_c(col, c);
}
