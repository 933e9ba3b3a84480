
// Sums over the planes of a channel, which is a workgroup of 256 threads: lanes16 over the positions of each sample,
// chain64 over the samples.
fn plane_sum(channel: u32, sample: u32, thread: u32, mean: f32) -> f32 {
  let plane = (sample * channels() + channel) * positions;
  begin_lanes(thread);
  for (var first = 0u; first < positions; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var i = begin + thread % 16u; i < min(begin + lane_block, positions); i += 16u) {
      part = add_plain(part, plane_term(plane + i, mean));
    }
    add_lane_parts(thread, part);
  }
  return fold_lanes();
}

fn planes_sum(channel: u32, first: u32, end: u32, thread: u32, mean: f32) -> f32 {
  var chains = 0.0;
  for (var begin = first; begin < end; begin += 64u) {
    var chain = 0.0;
    for (var r = begin; r < min(begin + 64u, end); r++) {
      chain = add_plain(chain, plane_sum(channel, r, thread, mean));
    }
    chains = add_plain(chains, chain);
  }
  return chains;
}
