
// A span that many workgroups share: what each of them sees of 16 blocks, and their lanes.
fn run(piece: u32, thread: u32) {
  var seen = nothing_seen();
  for (var i = 16384u * piece + thread; i < min(16384u * (piece + 1u), count()); i += 256u) {
    seen = merged(seen, seen_at(i));
  }
  seen = seen_by_all(seen, thread);
  if (rule == mean_size) {
    store_lanes(256u * piece + thread, lane_of_block(16u * piece + thread / 16u, thread % 16u, 0u, count()));
  }
  if (thread < 4u) { put_seen(4u * piece + thread, seen[thread]); }
}
