
// d[c] += the sum over samples and positions of g[b, c, o], sixteen samples at a time; a channel per workgroup of 64
// threads, or, where blocks are `apart`, 64 blocks of a channel, which are left for add_chunks.wgsl.
fn block_of(channel: u32, first: u32, begin: u32, rows: u32) -> f32 {
  var sum = 0.0;
  var sample = first + begin / positions();
  var o = begin % positions();
  for (var r = begin; r < min(begin + 64u, rows); r++) {
    sum = add_plain(sum, load_g((sample * channels() + channel) * positions() + o));
    o++;
    if (o == positions()) {
      o = 0u;
      sample++;
    }
  }
  return sum;
}

fn run(group: u32, thread: u32) {
  let channel = group % channels();
  if (apart != 0u) {
    let chunks_of_run = (16u * positions() + 63u) / 64u;
    let chunk = 64u * (group / channels()) + thread;
    let first = chunk / chunks_of_run * 16u;
    let rows = min(16u, samples() - min(first, samples())) * positions();
    let begin = 64u * (chunk % chunks_of_run);
    if (begin < rows) { store_d(chunk * channels() + channel, block_of(channel, first, begin, rows)); }
    return;
  }
  var d = load_d(channel);
  for (var first = 0u; first < samples(); first += 16u) {
    let rows = min(16u, samples() - first) * positions();
    var total = 0.0;
    for (var round = 0u; round < rows; round += 64u * 64u) {
      total = add_chain_parts(total, thread, block_of(channel, first, round + 64u * thread, rows));
    }
    d = snap(add(d, total));
  }
  if (thread == 0u) { store_d(channel, d); }
}
