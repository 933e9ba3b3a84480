
// The sum of a row by lanes16, for workgroups of 256 threads: thread 16 b + j adds lane j of block b, sixteen blocks at
// a time. Blocks hold kLaneBlock elements.
const lane_block = 1024u;
var<workgroup> lane_parts: array<f32, 256>;
var<workgroup> lane_totals: array<f32, 16>;

fn begin_lanes(thread: u32) {
  workgroupBarrier();  // a sum before this one may still be read
  if (thread < 16u) { lane_totals[thread] = 0.0; }
}

// `part` is the sum of lane thread % 16 over one block; parts come in ascending rounds.
fn add_lane_parts(thread: u32, part: f32) {
  lane_parts[thread] = part;
  workgroupBarrier();
  if (thread < 16u) {
    var total = lane_totals[thread];
    for (var b = 0u; b < 16u; b++) { total = add_plain(total, lane_parts[16u * b + thread]); }
    lane_totals[thread] = total;
  }
  workgroupBarrier();
}

// In steps of 8, 4, 2 and 1, written out: an array that loops walk through may lie in memory.
fn two_lanes(j: u32) -> f32 { return add_plain(lane_totals[j], lane_totals[j + 8u]); }
fn four_lanes(j: u32) -> f32 { return add_plain(two_lanes(j), two_lanes(j + 4u)); }
fn fold_lanes() -> f32 {
  return add_plain(add_plain(four_lanes(0u), four_lanes(2u)), add_plain(four_lanes(1u), four_lanes(3u)));
}
