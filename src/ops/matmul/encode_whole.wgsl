
// What pieces (encode_pieces) saw, put together by one workgroup of 256 threads.
fn run(group: u32, thread: u32) {
  var seen = nothing_seen();
  for (var p = thread; p < pieces(); p += 256u) {
    let at = 4u * p;
    seen = merged(seen, vec4<u32>(bits_seen(at), bits_seen(at + 1u), bits_seen(at + 2u), bits_seen(at + 3u)));
  }
  seen = seen_by_all(seen, thread);
  var sum = 0.0;
  if (rule == mean_size) {
    begin_lanes(thread);
    for (var p = 0u; p < pieces(); p++) { add_lane_parts(thread, load_lanes(256u * p + thread)); }
    sum = fold_lanes();
  }
  if (thread == 0u) { put_span(0u, seen, sum, count()); }
}
