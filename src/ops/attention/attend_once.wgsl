
// A query per workgroup of 256 threads: scores by a thread for each position, their softmax, then the sum of values, by four
// threads for each element of the head, which take chains in turn.
var<workgroup> chains: array<f32, 256>;

fn run(query: u32, thread: u32) {
  let row = query / heads;
  let head = query % heads;
  let kv = head / (heads / kv_heads);
  let q = query * dim;
  let base = query * width();
  let position = start() + row;  // it sees what is not behind it, and a window at most
  let seen_end = position + 1u - first_position();
  var seen_begin = 0u;
  if (window() != 0u && position + 1u > window() + first_position()) {
    seen_begin = position + 1u - window() - first_position();
  }

  var largest = 0u;  // below every number
  for (var i = thread; i < seen_end; i += 256u) {
    var score = 0.0;
    if (i >= seen_begin) {
      score = score_of(q, first_position() + i, kv);
      largest = larger_of(largest, score);
    }
    store_scores(base + i, score);
  }
  let top = bitcast<f32>(unordered(largest_of_threads(largest, thread)));
  for (var i = thread; i < seen_end; i += 256u) {
    var e = 0.0;
    if (i >= seen_begin) { e = snap(exp_f(snap(sub(load_scores(base + i), top)))); }
    store_scores(base + i, e);
  }
  storageBarrier();

  // lanes16 by absolute positions: the first block of lanes may begin before the first position.
  begin_lanes(thread);
  let end = first_position() + seen_end;
  for (var first = first_position() / lane_block * lane_block; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var p = max(begin, first_position()) + thread % 16u; p < min(begin + lane_block, end); p += 16u) {
      part = add_plain(part, load_scores(base + p - first_position()));
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var i = thread; i < seen_end; i += 256u) { store_scores(base + i, snap(div(load_scores(base + i), total))); }
  storageBarrier();

  let lane = thread / 64u;
  for (var first_d = 0u; first_d < dim; first_d += 64u) {
    let d = first_d + thread % 64u;
    var sum = 0.0;
    for (var first = 0u; first < seen_end; first += 256u) {
      let begin = first + 64u * lane;
      var chain = 0.0;
      if (d < dim && begin < seen_end) {
        let values = block_at(first_position() + begin, kv) + 64u * dim + d / 16u * 1024u + d % 16u;
        let count = min(64u, seen_end - begin);
        // What a row does not see is no part of its sum, whatever it is.
        for (var first_p = max(seen_begin, begin) - begin; first_p < count; first_p += 8u) {
          var terms = array<f32, 8>();
          for (var k = 0u; k < 8u; k++) {
            let p = min(first_p + k, count - 1u);
            terms[k] = product(load_cache(values + 16u * p), load_scores(base + begin + p));
          }
          for (var k = 0u; k < min(8u, count - first_p); k++) { chain = add_plain(chain, terms[k]); }
        }
      }
      chains[thread] = chain;
      workgroupBarrier();
      if (lane == 0u) {
        for (var k = 0u; k < 4u; k++) { sum = add_plain(sum, chains[64u * k + thread]); }
      }
      workgroupBarrier();
    }
    if (lane == 0u && d < dim) { store_out(q + d, snap(sum)); }
  }
}
