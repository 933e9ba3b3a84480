
// A query per workgroup of 256 threads: scores by a thread for each position, their softmax, then the sum of values, by four
// threads for each element of the head, which take chains in turn.
var<workgroup> chains: array<f32, 256>;

fn run(group: u32, thread: u32) {
  let query = query_of(group);
  var largest = 0u;  // below every number
  for (var i = thread; i < query.seen_end; i += 256u) {
    let score = seen_score(query, i);
    if (i >= query.seen_begin) { largest = larger_of(largest, score); }
    store_scores(query.scores + i, score);
  }
  soften(query, largest, thread);
  storageBarrier();

  let lane = thread / 64u;
  for (var first_d = 0u; first_d < dim; first_d += 64u) {
    let d = first_d + thread % 64u;
    var sum = 0.0;
    for (var first = 0u; first < query.seen_end; first += 256u) {
      take_weight(query, first + thread, thread);
      workgroupBarrier();
      chains[thread] = values_of(query, first + 64u * lane, d, 64u * lane);
      workgroupBarrier();
      if (lane == 0u) {
        for (var k = 0u; k < 4u; k++) { sum = add_plain(sum, chains[64u * k + thread]); }
      }
      workgroupBarrier();
    }
    if (lane == 0u && d < dim) { store_out(query.at + d, snap(sum)); }
  }
}
