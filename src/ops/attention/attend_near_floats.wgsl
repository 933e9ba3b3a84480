
// Keys and values of attend_near as float32.
const value_width = min(padded_dim, 256u);  // elements of values that threads take at a time,
const value_lanes = 256u / value_width;     // by so many chains of 64 positions
var<workgroup> near_chains: array<f32, 256>;

// Bits of zeros where there is nothing to load: a term of +0 changes no sum, whatever lies there.
fn cached(at: u32, is_there: bool) -> u32 {
  return select(0u, bitcast<u32>(load_cache(select(0u, at, is_there))), is_there);
}

fn begin_near(near: Near, thread: u32) -> vec2<f32> { return vec2<f32>(); }
fn keep_factors(factors: vec2<f32>, thread: u32) {}

fn put_scores(near: Near, thread: u32) -> u32 {
  var largest = 0u;  // below every number
  for (var i = thread; i < most_near; i += 256u) {
    let is_seen = i >= near.begin && i < near.end;
    var score = 0.0;
    if (is_seen) {
      let p = first_position() + i;
      let key = block_at(p, near.kv) + key_word(p % 64u);
      var total = 0.0;
      for (var begin = 0u; begin < dim; begin += 64u) {
        var terms = array<f32, 64>();
        for (var k = 0u; k < 64u; k++) {
          terms[k] = bitcast<f32>(cached(key + 16u * (begin + k), begin + k < dim && i != near.own));
        }
        if (i == near.own) {
          for (var k = 0u; k < 64u; k++) {
            terms[k] = bitcast<f32>(select(0u, bits_own_key(near.kv * dim + min(begin + k, dim - 1u)), begin + k < dim));
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
  return largest;
}

fn value_of(at: u32, i: u32, near: Near, own_value: u32) -> u32 {
  return select(cached(at, i >= near.begin && i < near.end && i != near.own), own_value, i == near.own);
}
fn four_values(at: u32, i: u32, near: Near, own_value: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(value_of(at, i, near, own_value), value_of(at + 16u, i + 1u, near, own_value),
                                      value_of(at + 32u, i + 2u, near, own_value), value_of(at + 48u, i + 3u, near, own_value)));
}
fn with_weights(chain: f32, x: vec4<f32>, i: u32) -> f32 {
  return add_plain(add_plain(add_plain(add_plain(chain, product(x.x, near_weights[i])), product(x.y, near_weights[i + 1u])),
                             product(x.z, near_weights[i + 2u])), product(x.w, near_weights[i + 3u]));
}

fn put_sums(near: Near, out: u32, thread: u32) {
  let lane = thread / value_width;
  for (var first_d = 0u; first_d < dim; first_d += value_width) {
    let d = first_d + thread % value_width;
    let own_value = bits_own_value(near.kv * dim + min(d, dim - 1u));
    var sum = 0.0;
    for (var first = 0u; first < near.end; first += 64u * value_lanes) {
      let begin = first + 64u * lane;
      var chain = 0.0;
      if (lane < value_lanes && d < dim) {
        let at = value_at(begin, d, near.kv);
        // Eight at a time: with sixteen, SwiftShader's compiler takes more than 20 GB.
        for (var k = 0u; k < 64u && begin + k < near.end; k += 8u) {
          let near_values = four_values(at + 16u * k, begin + k, near, own_value);
          let far_values = four_values(at + 16u * k + 64u, begin + k + 4u, near, own_value);
          chain = with_weights(with_weights(chain, near_values, begin + k), far_values, begin + k + 4u);
        }
      }
      near_chains[thread] = chain;
      workgroupBarrier();
      if (lane == 0u) {
        for (var k = 0u; k < value_lanes; k++) { sum = add_plain(sum, near_chains[value_width * k + thread]); }
      }
      workgroupBarrier();
    }
    if (lane == 0u && d < dim) { store_out(out + d, snap(sum)); }
  }
}
