
// Keys and values of attend_near as codes (cache.wgsl): a thread takes two neighbours of a word at a time, positions of keys or
// elements of values. Scales are read once per position.
const value_pairs = min(padded_dim / 2u, 128u);  // of elements that threads take at a time,
const value_lanes = 256u / value_pairs;          // by so many chains of 64 positions
const value_width = 2u * value_pairs;
const own_words = select(1u, 2u * padded_dim, is_own != 0u);
var<workgroup> near_chains: array<f32, 512>;
// Codes of the own key and value, which the cache does not have yet, and what becomes their scales.
var<workgroup> own_codes: array<u32, own_words>;
var<workgroup> own_scales: array<f32, 2>;
var<workgroup> own_sizes: array<u32, 32>;

fn bits_own(vector: u32, d: u32, near: Near) -> u32 {
  var bits = 0u;
  if (d < dim) {
    if (vector == 0u) { bits = bits_own_key(near.kv * dim + d); } else { bits = bits_own_value(near.kv * dim + d); }
  }
  return bits;
}

// The scale of a value, 1 for bfloat16; 0 where there is nothing to load, so that terms are +0, whatever lies there.
fn factor_of(near: Near, i: u32) -> f32 {
  var factor = 0.0;
  if (i >= near.begin && i < near.end && i != near.own) {
    let position = first_position() + i;
    factor = value_scale(block_at(position, near.kv), position % 64u);
  }
  return factor;
}
// Of all positions, in the memory of what has ended before the sums of values: workgroups have little.
fn keep_factors(factors: vec2<f32>, thread: u32) {
  largest_of[thread] = bitcast<u32>(factors.x);
  lane_parts[thread] = factors.y;
}
fn kept_factor(i: u32) -> f32 {
  let thread = i % 256u;
  return bitcast<f32>(select(bitcast<u32>(lane_parts[thread]), largest_of[thread], i < 256u));
}

// Factors of the two positions that a thread keeps; makes the codes of the own key and value.
fn begin_near(near: Near, thread: u32) -> vec2<f32> {
  let factors = vec2<f32>(factor_of(near, thread), factor_of(near, thread + 256u));
  if (is_own != 0u) { encode_own(near, thread); }
  return factors;
}
fn encode_own(near: Near, thread: u32) {
  if (item_bytes == 1u) {
    if (thread < 32u) {
      var size = 0u;
      for (var d = thread % 16u; d < dim; d += 16u) { size = max(size, bits_own(thread / 16u, d, near) & 0x7fffffffu); }
      own_sizes[thread] = size;
    }
    workgroupBarrier();
  }
  for (var i = thread; i < 2u * padded_dim; i += 256u) {
    let vector = i / padded_dim;
    var scale = 1.0;
    if (item_bytes == 1u) {
      var size = 0u;
      for (var k = 0u; k < 16u; k++) { size = max(size, own_sizes[16u * vector + k]); }
      scale = scale_of_size(size);
    }
    own_codes[i] = code_of(bits_own(vector, i % padded_dim, near), scale);
    if (i % padded_dim == 0u) { own_scales[vector] = scale; }
  }
}

fn put_scores(near: Near, thread: u32) -> u32 {
  let i = 2u * thread;
  var scores = vec2<f32>();
  var largest = 0u;  // below every number
  if (i < near.end && i + 2u > near.begin) {
    let p = (first_position() + i) % 64u;
    let block = block_at(first_position() + i, near.kv);
    let key = block + key_word(p);
    let shift = code_bits * (p % in_word);
    let has_own = is_own != 0u && i / 2u == near.own / 2u;
    let place = near.own % 2u;
    var scales = vec2<f32>(key_scale(block, p), key_scale(block, p + 1u));
    if (has_own && place == 0u) { scales.x = own_scales[0]; }
    if (has_own && place == 1u) { scales.y = own_scales[0]; }
    var total = vec2<f32>();
    for (var begin = 0u; begin < dim; begin += 64u) {
      var pairs = array<u32, 64>();
      for (var k = 0u; k < 64u; k++) {
        let is_there = begin + k < dim;
        pairs[k] = select(0u, bits_cache(select(0u, key + line_words * (begin + k), is_there)) >> shift, is_there);
      }
      if (has_own) {
        for (var k = 0u; k < 64u; k++) { pairs[k] = insertBits(pairs[k], own_codes[begin + k], code_bits * place, code_bits); }
      }
      var chain = vec2<f32>();
      for (var k = 0u; k < 64u; k++) { chain = with_pair(chain, two_numbers(pairs[k], scales), near_q[begin + k]); }
      total.x = add_plain(total.x, chain.x);
      total.y = add_plain(total.y, chain.y);
    }
    if (i >= near.begin) {
      scores.x = scaled_score(total.x);
      largest = larger_of(largest, scores.x);
    }
    if (i + 1u < near.end) {
      scores.y = scaled_score(total.y);
      largest = larger_of(largest, scores.y);
    }
  }
  near_weights[i] = scores.x;
  near_weights[i + 1u] = scores.y;
  return largest;
}

fn with_pair(chain: vec2<f32>, pair: vec2<f32>, factor: f32) -> vec2<f32> {
  return vec2<f32>(add_plain(chain.x, product(pair.x, factor)), add_plain(chain.y, product(pair.y, factor)));
}
fn with_value(chain: vec2<f32>, pair: u32, i: u32) -> vec2<f32> {
  let factor = kept_factor(i);
  let seen = select(pair, 0u, item_bytes == 2u && bitcast<u32>(factor) == 0u);
  return with_pair(chain, two_numbers(seen, vec2<f32>(factor)), near_weights[i]);
}
fn four_pairs(at: u32, shift: u32) -> vec4<u32> {
  return vec4<u32>(bits_cache(at), bits_cache(at + line_words), bits_cache(at + 2u * line_words), bits_cache(at + 3u * line_words)) >>
         vec4<u32>(shift);
}
fn with_values(chain: vec2<f32>, pairs: vec4<u32>, i: u32) -> vec2<f32> {
  return with_value(with_value(with_value(with_value(chain, pairs.x, i), pairs.y, i + 1u), pairs.z, i + 2u), pairs.w, i + 3u);
}

fn put_sums(near: Near, out: u32, thread: u32) {
  let lane = thread / value_pairs;
  for (var first_d = 0u; first_d < dim; first_d += value_width) {
    let pair_d = first_d + 2u * (thread % value_pairs);
    let d = first_d + thread;
    var sum = 0.0;
    for (var first = 0u; first < near.end; first += 64u * value_lanes) {
      let begin = first + 64u * lane;
      var chain = vec2<f32>();
      if (pair_d < dim) {
        let at = value_at(begin, pair_d, near.kv);
        let shift = code_bits * (pair_d % in_word);
        for (var k = 0u; k < 64u && begin + k < near.end; k += 8u) {
          let near_pairs = four_pairs(at + line_words * k, shift);
          let far_pairs = four_pairs(at + line_words * (k + 4u), shift);
          chain = with_values(with_values(chain, near_pairs, begin + k), far_pairs, begin + k + 4u);
        }
        // The last of all positions.
        if (is_own != 0u && begin <= near.own && near.own - begin < 64u) {
          let codes = own_codes[padded_dim + pair_d] | (own_codes[padded_dim + pair_d + 1u] << code_bits);
          chain = with_pair(chain, two_numbers(codes, vec2<f32>(own_scales[1])), near_weights[near.own]);
        }
      }
      near_chains[2u * thread] = chain.x;
      near_chains[2u * thread + 1u] = chain.y;
      workgroupBarrier();
      if (thread < value_width) {
        for (var k = 0u; k < value_lanes; k++) { sum = add_plain(sum, near_chains[value_width * k + thread]); }
      }
      workgroupBarrier();
    }
    if (thread < value_width && d < dim) { store_out(out + d, snap(sum)); }
  }
}
