
// The figures of a tensor from the lanes of its blocks, or with `squares` the deviation alone; one workgroup of 16
// threads.
var<workgroup> totals: array<array<f32, 16>, 2>;
var<workgroup> extremes: array<array<u32, 16>, 2>;

fn folded(which: u32) -> f32 {
  var v = totals[which];
  for (var n = 8u; n != 0u; n >>= 1u) {
    for (var j = 0u; j < n; j++) { v[j] = add(v[j], v[j + n]); }
  }
  return v[0];
}
fn extreme(which: u32) -> f32 {
  var most = 0u;
  for (var j = 0u; j < 16u; j++) { most = max(most, extremes[which][j]); }
  if (most <= 1u) { return quiet_nan(); }
  return bitcast<f32>(unordered(most));
}

fn run(group: u32, thread: u32) {
  var sum = 0.0;
  var large = 0.0;
  var largest = 0u;
  var least = 0u;
  for (var b = 0u; b < blocks(); b++) {
    let at = 64u * b + thread;
    sum = add_plain(sum, load_lanes(at));
    if (squares == 0u) {
      large = add_plain(large, load_lanes(at + 16u));
      largest = max(largest, bits_lanes(at + 32u));
      least = max(least, bits_lanes(at + 48u));
    }
  }
  totals[0][thread] = sum;
  totals[1][thread] = large;
  extremes[0][thread] = largest;
  extremes[1][thread] = least;
  workgroupBarrier();
  if (thread != 0u) { return; }
  let count = to_float_u(elements());
  let mean = div(folded(0u), count);
  if (squares != 0u) {
    store_figures(1u, snap(root(mean)));
    return;
  }
  store_figures(0u, snap(mean));
  store_figures(2u, extreme(0u));
  store_figures(3u, snap(neg(extreme(1u))));  // snap makes the one quiet NaN
  store_figures(4u, folded(1u));
  store_figures(5u, count);
}
