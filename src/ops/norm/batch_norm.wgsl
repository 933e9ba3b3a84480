
// y = (x - mean) / deviation * gamma + beta, all by channel; a thread per element.
fn run(group: u32, thread: u32) {
  let i = 64u * group + thread;
  if (i >= elements()) { return; }
  let channel = i / positions % channels;
  var gamma = 1.0;
  if (has_gamma != 0u) { gamma = load_gamma(channel); }
  var beta = 0.0;
  if (has_beta != 0u) { beta = load_beta(channel); }
  store_y(i, normalised(load_x(i), load_mean(channel), div(1.0, load_deviation(channel)), gamma, beta));
}
