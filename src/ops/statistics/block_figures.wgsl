
// Lane j of block b: its sum, how many of its elements are above 1e-6 in size, its largest and the largest of what is
// negated, both in the order of ordered(). squares: the sum of (x - mean)^2 alone. Workgroups of 256 threads take
// sixteen blocks each; figure f of lane j of block b lies at (4 b + f) 16 + j.
fn run(group: u32, thread: u32) {
  let block = 16u * group + thread / 16u;
  let begin = 1024u * block;
  if (begin >= elements()) { return; }
  var sum = 0.0;
  var large = 0.0;
  var largest = 0u;
  var least = 0u;
  for (var i = begin + thread % 16u; i < min(begin + 1024u, elements()); i += 16u) {
    let v = load_x(i);
    if (squares != 0u) {
      let d = snap(sub(v, load_figures(0u)));
      sum = add_plain(sum, mul(d, d));
    } else {
      sum = add_plain(sum, v);
      large = add_plain(large, select_f(greater(abs_f(v), 1e-6), 1.0, 0.0));
      largest = larger_of(largest, v);
      least = larger_of(least, neg(v));
    }
  }
  let at = 64u * block + thread % 16u;
  store_lanes(at, sum);
  if (squares == 0u) {
    store_lanes(at + 16u, large);
    put_lanes(at + 32u, largest);
    put_lanes(at + 48u, least);
  }
}
