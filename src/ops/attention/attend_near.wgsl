
// A query per workgroup of 256 threads that sees 512 positions at most: attend_once, of which nothing but its result is
// written to memory, in one function. The time of such a query is that of waiting for memory, so several numbers are on
// their way at a time.
// attend_own and attend_cached say whether its own key and value come from elsewhere.
const most_near = 512u;
const padded_dim = (dim + 63u) / 64u * 64u;
const value_width = min(padded_dim, 256u);  // elements of values that threads take at a time,
const value_lanes = 256u / value_width;     // by so many chains of 64 positions
var<workgroup> near_q: array<f32, padded_dim>;
var<workgroup> near_weights: array<f32, most_near>;  // scores, then what becomes of them
var<workgroup> near_chains: array<f32, 256>;

// Bits of zeros where there is nothing to load: a term of +0 changes no sum, whatever lies there.
fn cached(at: u32, is_there: bool) -> u32 {
  return select(0u, bitcast<u32>(load_cache(select(0u, at, is_there))), is_there);
}

// Positions that are seen, the one that is not in the cache, and its value there.
struct Seen { begin: u32, end: u32, own: u32, own_value: u32 }
fn value_of(at: u32, i: u32, there: Seen) -> u32 {
  return select(cached(at, i >= there.begin && i < there.end && i != there.own), there.own_value, i == there.own);
}
fn four_values(at: u32, i: u32, there: Seen) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(value_of(at, i, there), value_of(at + 16u, i + 1u, there), value_of(at + 32u, i + 2u, there),
                                      value_of(at + 48u, i + 3u, there)));
}
fn with_weights(chain: f32, x: vec4<f32>, i: u32) -> f32 {
  return add_plain(add_plain(add_plain(add_plain(chain, product(x.x, near_weights[i])), product(x.y, near_weights[i + 1u])),
                             product(x.z, near_weights[i + 2u])), product(x.w, near_weights[i + 3u]));
}

fn run(query: u32, thread: u32) {
  let row = query / heads;
  let head = query % heads;
  let kv = head / (heads / kv_heads);
  let q = query * dim;
  let position = start() + row;
  let seen_begin = seen_begin_of(row);
  let seen_end = seen_end_of(row);

  let own = select(0xffffffffu, seen_end - 1u, is_own != 0u);

  for (var d = thread; d < padded_dim; d += 256u) { near_q[d] = bitcast<f32>(select(0u, bits_q(q + min(d, dim - 1u)), d < dim)); }
  workgroupBarrier();

  var largest = 0u;  // below every number
  for (var i = thread; i < most_near; i += 256u) {
    let is_seen = i >= seen_begin && i < seen_end;
    var score = 0.0;
    if (is_seen) {
      let p = first_position() + i;
      let key = block_at(p, kv) + p % 64u / 16u * dim * 16u + p % 16u;
      var total = 0.0;
      for (var begin = 0u; begin < dim; begin += 64u) {
        var terms = array<f32, 64>();
        for (var k = 0u; k < 64u; k++) {
          terms[k] = bitcast<f32>(cached(key + 16u * (begin + k), begin + k < dim && i != own));
        }
        if (i == own) {
          for (var k = 0u; k < 64u; k++) {
            terms[k] = bitcast<f32>(select(0u, bits_own_key(kv * dim + min(begin + k, dim - 1u)), begin + k < dim));
          }
        }
        var chain = 0.0;
        for (var k = 0u; k < 64u; k++) { chain = add_plain(chain, product(terms[k], near_q[begin + k])); }
        total = add_plain(total, chain);
      }
      score = scaled_score(total);
      largest = larger_of(largest, score);
    }
    near_weights[i] = score;
  }
  let top = bitcast<f32>(unordered(largest_of_threads(largest, thread)));
  for (var i = thread; i < most_near; i += 256u) {
    var e = 0.0;
    if (i >= seen_begin && i < seen_end) { e = snap(exp_f(snap(sub(near_weights[i], top)))); }
    near_weights[i] = e;
  }
  begin_lanes(thread);

  // lanes16 by absolute positions: the first block of lanes may begin before the first position.
  let end = first_position() + seen_end;
  for (var first = first_position() / lane_block * lane_block; first < end; first += 16u * lane_block) {
    let begin = first + thread / 16u * lane_block;
    var part = 0.0;
    for (var p = max(begin, first_position()) + thread % 16u; p < min(begin + lane_block, end); p += 16u) {
      part = add_plain(part, near_weights[p - first_position()]);
    }
    add_lane_parts(thread, part);
  }
  let total = fold_lanes();
  for (var i = thread; i < seen_end; i += 256u) { near_weights[i] = snap(div(near_weights[i], total)); }
  workgroupBarrier();

  let lane = thread / value_width;
  for (var first_d = 0u; first_d < dim; first_d += value_width) {
    let d = first_d + thread % value_width;
    let own_value = bits_own_value(kv * dim + min(d, dim - 1u));
    var sum = 0.0;
    for (var first = 0u; first < seen_end; first += 64u * value_lanes) {
      let begin = first + 64u * lane;
      var chain = 0.0;
      if (lane < value_lanes && d < dim) {
        let at = value_at(begin, d, kv);
        let there = Seen(seen_begin, seen_end, own, own_value);
        // Eight at a time: with sixteen, SwiftShader's compiler takes more than 20 GB.
        for (var k = 0u; k < 64u && begin + k < seen_end; k += 8u) {
          let near = four_values(at + 16u * k, begin + k, there);
          let far = four_values(at + 16u * k + 64u, begin + k + 4u, there);
          chain = with_weights(with_weights(chain, near, begin + k), far, begin + k + 4u);
        }
      }
      near_chains[thread] = chain;
      workgroupBarrier();
      if (lane == 0u) {
        for (var k = 0u; k < value_lanes; k++) { sum = add_plain(sum, near_chains[value_width * k + thread]); }
      }
      workgroupBarrier();
    }
    if (lane == 0u && d < dim) { store_out(q + d, snap(sum)); }
  }
  if (is_own != 0u && head % (heads / kv_heads) == 0u) {
    let p = position % 64u;
    keep_own(block_at(position, kv) + p / 16u * dim * 16u + p % 16u, value_at(seen_end - 1u - p, 0u, kv) + p * 16u, kv, thread);
  }
}
