
// dx = gamma / deviation * (dy - mean_dy - xh * mean_dot), all by channel, without the means where there are none; a thread
// per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let channel = i / positions % channels;
  var mean = bitcast<f32>(opaque_zero);
  var dot = bitcast<f32>(opaque_zero);
  if (has_means != 0u) {
    mean = load_mean_dy(channel);
    dot = load_mean_dot(channel);
  }
  let slope = snap(div(load_gamma(channel), load_deviation(channel)));
  let d = snap(sub(sub(load_dy(i), mean), mul(load_xh(i), dot)));
  store_dx(i, snap(mul(d, slope)));
}
