
// Mean, variance and deviation of each channel; `positions` is 1: a thread per channel.
// f32: eps
fn channel_sum(channel: u32, squares: bool, mean: f32) -> f32 {
  var chains = 0.0;
  for (var begin = 0u; begin < samples(); begin += 64u) {
    var chain = 0.0;
    for (var r = begin; r < min(begin + 64u, samples()); r++) {
      let v = load_x(r * channels() + channel);
      if (squares) {
        let d = snap(sub(v, mean));
        chain = add_plain(chain, mul(d, d));
      } else {
        chain = add_plain(chain, v);
      }
    }
    chains = add_plain(chains, chain);
  }
  return chains;
}

fn run(group: u32, thread: u32) {
  let channel = 64u * group + thread;
  if (channel >= channels()) { return; }
  let count = to_float_u(samples());
  let mean = snap(div(channel_sum(channel, false, 0.0), count));
  let variance = snap(div(channel_sum(channel, true, mean), count));
  store_mean(channel, mean);
  store_variance(channel, variance);
  store_deviation(channel, root(add(variance, eps())));
}
