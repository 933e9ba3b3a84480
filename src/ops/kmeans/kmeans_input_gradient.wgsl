
// dx = -(the sum by chain64 over centers of u_k (x - c_k)) / t2; a thread per element.
// f32: t2
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let row = i / cols();
  let x = load_x(i);
  var sum = 0.0;
  for (var first = 0u; first < clusters(); first += 64u) {
    var block = 0.0;
    for (var k = first; k < min(first + 64u, clusters()); k++) {
      let d = snap(sub(x, load_centers(k * cols() + i % cols())));
      block = add_plain(block, mul(load_u(row * clusters() + k), d));
    }
    sum = add_plain(sum, block);
  }
  store_dx(i, snap(div(neg(snap(sum)), t2())));
}
