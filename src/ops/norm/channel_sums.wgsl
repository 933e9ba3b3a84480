
// c[channel] = snap(c + sum of a b) for each block of samples, ascending; without `has_b` the sum of a. `positions` is 1: a
// thread per channel.
fn run(group: u32, thread: u32) {
  let channel = 64u * group + thread;
  if (channel >= channels()) { return; }
  var total = load_c(channel);
  for (var first = 0u; first < samples(); first += block()) {
    let end = min(first + block(), samples());
    var chains = 0.0;
    for (var begin = first; begin < end; begin += 64u) {
      var chain = 0.0;
      for (var r = begin; r < min(begin + 64u, end); r++) {
        let at = r * channels() + channel;
        if (has_b != 0u) {
          chain = add_plain(chain, mul(load_a(at), load_b(at)));
        } else {
          chain = add_plain(chain, load_a(at));
        }
      }
      chains = add_plain(chains, chain);
    }
    total = snap(add(total, chains));
  }
  store_c(channel, total);
}
