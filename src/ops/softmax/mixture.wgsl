
// y = the sum by chain64 of q_m times row m, of `count` rows behind as many weights; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let base = i / cols() * q_cols();
  var sum = 0.0;
  for (var first = 0u; first < count(); first += 64u) {
    var block = 0.0;
    for (var m = first; m < min(first + 64u, count()); m++) {
      block = add_plain(block, mul(load_q(base + m), load_q(base + count() + m * cols() + i % cols())));
    }
    sum = add_plain(sum, block);
  }
  store_y(i, snap(sum));
}
