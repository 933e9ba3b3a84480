
// A query per workgroup of 256 threads that sees 512 positions at most: attend_once, of which nothing but its result is
// written to memory, in one function. The time of such a query is that of waiting for memory, so several numbers are on
// their way at a time.
// attend_near_floats and attend_near_codes take keys and values; attend_own and attend_cached say whether its own key and
// value come from elsewhere.
const most_near = 512u;
const padded_dim = (dim + 63u) / 64u * 64u;
var<workgroup> near_q: array<f32, padded_dim>;
var<workgroup> near_weights: array<f32, most_near>;  // scores, then what becomes of them

// The key head of a query, positions that it sees, and the one that is not in the cache.
struct Near { kv: u32, begin: u32, end: u32, own: u32 }

fn run(query: u32, thread: u32) {
  let row = query / heads;
  let head = query % heads;
  let q = query * dim;
  let position = start() + row;
  let seen_end = seen_end_of(row);
  let near = Near(head / (heads / kv_heads), seen_begin_of(row), seen_end, select(0xffffffffu, seen_end - 1u, is_own != 0u));

  for (var d = thread; d < padded_dim; d += 256u) { near_q[d] = bitcast<f32>(select(0u, bits_q(q + min(d, dim - 1u)), d < dim)); }
  let factors = begin_near(near, thread);
  workgroupBarrier();

  let largest = put_scores(near, thread);
  let top = bitcast<f32>(unordered(largest_of_threads(largest, thread)));
  for (var i = thread; i < most_near; i += 256u) {
    var e = 0.0;
    if (i >= near.begin && i < near.end) { e = snap(exp_f(snap(sub(near_weights[i], top)))); }
    near_weights[i] = e;
  }
  begin_lanes(thread);

  // lanes16 by absolute positions: the first block of lanes may begin before the first position.
  let end = first_position() + near.end;
  for (var first = first_position() / lane_block * lane_block; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var p = max(begin, first_position()) + thread % 16u; p < min(begin + lane_block, end); p += 16u) {
      part = add_plain(part, near_weights[p - first_position()]);
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var i = thread; i < near.end; i += 256u) { near_weights[i] = snap(div(near_weights[i], total)); }
  keep_factors(factors, thread);
  workgroupBarrier();

  put_sums(near, q, thread);
  if (is_own != 0u && head % (heads / kv_heads) == 0u) {
    keep_own(block_at(position, near.kv), position % 64u, near.kv, thread);
  }
}
