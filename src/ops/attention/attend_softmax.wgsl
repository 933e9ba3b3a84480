
// A query per workgroup of 256 threads, whose scores are there.
fn run(group: u32, thread: u32) {
  let query = query_of(group);
  var largest = 0u;
  for (var i = query.seen_begin + thread; i < query.seen_end; i += 256u) {
    largest = larger_of(largest, load_scores(query.scores + i));
  }
  soften(query, largest, thread);
}
