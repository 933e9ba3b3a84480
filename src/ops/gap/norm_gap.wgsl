
// out = e s / gamma, 0 where gamma is no larger than the threshold; a group of channels per workgroup of 256 threads.
// f32: threshold
fn run(row: u32, thread: u32) {
  let base = row * cols;
  let first = row % groups * (cols / positions);
  var s = 0.0;
  if (has_deviation == 0u) { s = moments_of(base, thread).y; }
  for (var i = thread; i < cols; i += 256u) {
    let channel = i / positions;
    var own = s;
    if (has_deviation != 0u) { own = load_deviation(channel); }
    let gain = load_gamma(first + channel);
    var factor = 0.0;
    if (greater(abs_f(gain), threshold())) { factor = snap(div(own, gain)); }
    store_out(base + i, snap(mul(load_e(base + i), factor)));
  }
}
