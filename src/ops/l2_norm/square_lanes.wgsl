
// The sixteen lanes of each block of 1024 elements: sums of squares of snap(x factor), a thread per lane. With `second` zeros
// where the norm at `known` is finite.
// f32: factor
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  let block = i / 16u;
  if (block >= blocks()) { return; }
  var sum = 0.0;
  if (second == 0u || !is_finite(load_known(0u))) {
    for (var k = 1024u * block + i % 16u; k < min(1024u * (block + 1u), elements()); k += 16u) {
      var v = load_x(k);
      if (second != 0u) { v = mul(v, factor()); }
      v = snap(v);
      sum = add_plain(sum, mul(v, v));
    }
  }
  store_lanes(i, sum);
}
