
// mean = the mean over the rows of a column of p by chain64, times a factor where there is one; one thread.
// f32: count
fn run(group: u32, thread: u32) {
  if (thread != 0u) { return; }
  var total = 0.0;
  for (var begin = 0u; begin < rows(); begin += 64u) {
    var chain = 0.0;
    for (var r = begin; r < min(begin + 64u, rows()); r++) { chain = add_plain(chain, load_p(r * cols() + column())); }
    total = add_plain(total, chain);
  }
  var mean = snap(div(total, count()));
  if (has_factor != 0u) { mean = snap(mul(mean, load_factor(0u))); }
  store_mean(0u, mean);
}
