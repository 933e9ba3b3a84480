
// Scores to probabilities, in place; a (row, head) per workgroup of 256 threads. Sums are lanes16 by absolute positions:
// a row begins inside a block of lanes.
var<workgroup> largest_of: array<u32, 256>;

// Bits of floats in the order of their values, NaN apart.
fn ordered(x: u32) -> u32 { return select(x | 0x80000000u, ~x, (x & 0x80000000u) != 0u); }
fn unordered(x: u32) -> u32 { return select(~x, x & 0x7fffffffu, (x & 0x80000000u) != 0u); }

fn run(query: u32, thread: u32) {
  let base = query * width();
  let position = start() + query / heads;  // of the row; it sees what is not behind it, and a window at most
  let seen_end = position + 1u - first_position();
  var seen_begin = 0u;
  if (window() != 0u && position + 1u > window() + first_position()) {
    seen_begin = position + 1u - window() - first_position();
  }
  var largest = 0u;  // below every number
  for (var i = seen_begin + thread; i < seen_end; i += 256u) {
    var bits = bits_scores(base + i);
    if (softcap() > 0u) { bits = bitcast<u32>(capped(bitcast<f32>(bits))); put_scores(base + i, bits); }
    if ((bits & 0x7fffffffu) <= 0x7f800000u) { largest = max(largest, ordered(bits)); }
  }
  largest_of[thread] = largest;
  workgroupBarrier();
  for (var k = 0u; k < 256u; k++) { largest = max(largest, largest_of[k]); }
  let top = bitcast<f32>(unordered(largest));

  for (var i = thread; i < width(); i += 256u) {
    var e = 0.0;
    if (i >= seen_begin && i < seen_end) { e = snap(exp_f(snap(sub(load_scores(base + i), top)))); }
    store_scores(base + i, e);
  }
  storageBarrier();

  begin_lanes(thread);
  let end = first_position() + width();
  for (var first = first_position() / lane_block * lane_block; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var p = max(begin, first_position()) + thread % 16u; p < min(begin + lane_block, end); p += 16u) {
      part = add_plain(part, load_scores(base + p - first_position()));
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var i = thread; i < width(); i += 256u) { store_scores(base + i, snap(div(load_scores(base + i), total))); }
}

fn capped(score: f32) -> f32 {
  let c = bitcast<f32>(softcap());
  return snap(mul(c, snap(tanh_f(snap(div(score, c))))));
}
