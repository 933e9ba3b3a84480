
// Spans of at most 1024 weights of a row, a thread each.
fn run(group: u32, thread: u32) {
  let span = 64u * group + thread;
  if (span >= spans()) { return; }
  let first = span % per_row() * group_cols();
  let base = span / per_row() * cols() + first;
  let count = min(group_cols(), cols() - first);
  var seen = nothing_seen();
  for (var i = 0u; i < count; i++) { seen = merged(seen, seen_at(base + i)); }
  var sum = 0.0;
  if (rule == mean_size) {
    var lanes = array<f32, 16>();
    for (var lane = 0u; lane < 16u; lane++) { lanes[lane] = lane_of_block(0u, lane, base, count); }
    for (var n = 8u; n != 0u; n >>= 1u) {
      for (var j = 0u; j < n; j++) { lanes[j] = add_plain(lanes[j], lanes[j + n]); }
    }
    sum = lanes[0];
  }
  put_span(span, seen, sum, count);
}
