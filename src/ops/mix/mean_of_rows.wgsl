
// y[g] = the mean of `rows` rows by chain64, or with `backward` y[r] = x[r / rows] / rows; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let row = i / cols();
  var sum = 0.0;
  if (backward != 0u) {
    sum = load_x(row / rows() * cols() + i % cols());
  } else {
    for (var first = 0u; first < rows(); first += 64u) {
      var block = 0.0;
      for (var r = first; r < min(first + 64u, rows()); r++) {
        block = add_plain(block, load_x((row * rows() + r) * cols() + i % cols()));
      }
      sum = add_plain(sum, block);
    }
    sum = snap(sum);
  }
  store_y(i, snap(div(sum, to_float_u(rows()))));
}
