
// dc[k] += the sum of a_rk g_r and (the sum of u_rk (x_r - c_k)) / t2 over each block of rows, by chain64; a thread per
// element. with_values: there are a and g.
// f32: t2
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let k = i / cols();
  let column = i % cols();
  let c = load_centers(i);
  var sum = load_dc(i);
  for (var begin = 0u; begin < rows(); begin += block_rows()) {
    let end = min(begin + block_rows(), rows());
    var values = 0.0;
    var distances = 0.0;
    for (var first = begin; first < end; first += 64u) {
      var block_of_values = 0.0;
      var block_of_distances = 0.0;
      for (var r = first; r < min(first + 64u, end); r++) {
        let d = snap(sub(load_x(r * cols() + column), c));
        block_of_distances = add_plain(block_of_distances, mul(load_u(r * clusters() + k), d));
        if (with_values != 0u) {
          block_of_values = add_plain(block_of_values, mul(load_a(r * clusters() + k), load_g(r * cols() + column)));
        }
      }
      values = add_plain(values, block_of_values);
      distances = add_plain(distances, block_of_distances);
    }
    if (with_values != 0u) { sum = snap(add(sum, values)); }
    sum = snap(add(sum, snap(div(snap(distances), t2()))));
  }
  store_dc(i, sum);
}
