
// d[c] += the sum over samples and positions of g[b, c, o], sixteen samples at a time; a channel per workgroup of 64
// threads.
fn run(channel: u32, thread: u32) {
  var d = load_d(channel);
  for (var first = 0u; first < samples(); first += 16u) {
    let rows = min(16u, samples() - first) * positions();
    var total = 0.0;
    for (var round = 0u; round < rows; round += 64u * 64u) {
      let begin = round + 64u * thread;
      var part = 0.0;
      for (var r = begin; r < min(begin + 64u, rows); r++) {
        let sample = first + r / positions();
        part = add_plain(part, load_g((sample * channels() + channel) * positions() + r % positions()));
      }
      total = add_chain_parts(total, thread, part);
    }
    d = snap(add(d, total));
  }
  if (thread == 0u) { store_d(channel, d); }
}
