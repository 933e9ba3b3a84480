
// Spans of many weights, a workgroup of 256 threads each.
fn run(span: u32, thread: u32) {
  let base = span * count();
  var seen = nothing_seen();
  for (var i = thread; i < count(); i += 256u) { seen = merged(seen, seen_at(base + i)); }
  seen = seen_by_all(seen, thread);
  var sum = 0.0;
  if (rule == mean_size) {
    begin_lanes(thread);
    for (var block = 0u; 1024u * block < count(); block += 16u) {
      add_lane_parts(thread, lane_of_block(block + thread / 16u, thread % 16u, base, count()));
    }
    sum = fold_lanes();
  }
  if (thread == 0u) { put_span(span, seen, sum, count()); }
}
