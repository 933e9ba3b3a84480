
// channel_statistics.wgsl with planes of `positions`, a workgroup per channel.
// f32: eps
var<private> squares: bool;
fn plane_term(at: u32, mean: f32) -> f32 {
  if (!squares) { return load_x(at); }
  let d = snap(sub(load_x(at), mean));
  return mul(d, d);
}

fn run(channel: u32, thread: u32) {
  let count = to_float_u(samples() * positions);
  squares = false;
  let mean = snap(div(planes_sum(channel, 0u, samples(), thread, 0.0), count));
  squares = true;
  let variance = snap(div(planes_sum(channel, 0u, samples(), thread, mean), count));
  if (thread == 0u) {
    store_mean(channel, mean);
    store_variance(channel, variance);
    store_deviation(channel, root(add(variance, eps())));
  }
}
