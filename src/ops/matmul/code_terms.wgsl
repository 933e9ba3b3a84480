
// A step covers the columns that share a scale, blocks of 32 or several of them; its terms are added in order.
const blocks_of_step = select(share, input_share, row_scaled != 0u);
const parts_of_sub = select(1u, 2u, has_min != 0u);
const terms_of_step = subs * parts_of_sub;
const steps = (blocks + blocks_of_step - 1u) / blocks_of_step;
var<private> terms: array<f32, 4>;

// Quantised inputs (inputs.wgsl): 20 words for each block of a row.
fn input_word(t: u32, block: u32, k: u32) -> u32 { return bits_inputs((t * blocks + block) * 20u + k); }

fn dot_of(at: u32, r: u32, t: u32, block: u32, first: u32, last: u32) -> i32 {
  var high = 0;
  var low = 0;
  let inputs = (t * blocks + block) * 20u;
  for (var q = first; q < last; q++) {
    let codes = four_codes(at, r, q);
    high += dot_bytes(codes, bits_inputs(inputs + q));
    if (digits != 0u) { low += dot_bytes(codes, bits_inputs(inputs + 8u + q)); }
  }
  return select(high, 255 * high + low, digits != 0u);
}

// The whole block of nibbles in four words, which hold the codes of columns 4 j .. and 16 + 4 j ..
fn dot_of_nibbles(at: u32, r: u32, t: u32, block: u32) -> i32 {
  let inputs = (t * blocks + block) * 20u;
  let code = at / 4u + r;
  let w = vec4<u32>(bits_weight(code), bits_weight(code + 16u), bits_weight(code + 32u), bits_weight(code + 48u));
  let left = w & vec4<u32>(0x0f0f0f0fu);
  let right = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
  let high = dots(left, inputs) + dots(right, inputs + 4u);
  if (digits == 0u) { return high; }
  return 255 * high + dots(left, inputs + 8u) + dots(right, inputs + 12u);
}
fn dots(codes: vec4<u32>, inputs: u32) -> i32 {
  return dot_bytes(codes.x, bits_inputs(inputs)) + dot_bytes(codes.y, bits_inputs(inputs + 1u)) +
         dot_bytes(codes.z, bits_inputs(inputs + 2u)) + dot_bytes(codes.w, bits_inputs(inputs + 3u));
}
fn dot_of_block(at: u32, r: u32, t: u32, block: u32) -> i32 {
  if (bits == 4u && twice_fp4 == 0u) { return dot_of_nibbles(at, r, t, block); }
  return dot_of(at, r, t, block, 0u, 8u);
}

fn find_terms(panel: u32, r: u32, step: u32, t: u32) {
  let first = step * blocks_of_step;
  let offset = bitcast<i32>(code_offset);
  if (blocks_of_step > 1u || row_scaled != 0u) {
    var dot = 0;
    var sum = 0;
    for (var b = first; b < min(first + blocks_of_step, blocks); b++) {
      dot += dot_of_block(codes_at(panel, b), r, t, b);
      sum += bitcast<i32>(input_word(t, b, 17u));
    }
    let sx = bitcast<f32>(input_word(t, first, 16u));
    if (row_scaled != 0u) {
      let row = 16u * panel + r;
      dot = select(dot, 2 * dot, bits == 1u) - offset * sum;
      if (has_zeros != 0u) { dot -= bitcast<i32>(bits_row_zeros(row)) * sum; }
      terms[0] = mul(to_float_i(dot), mul(load_row_scales(row), sx));
      return;
    }
    put_terms(factors_of(panel, r, first, 0u), dot, sum, sx, 0u);
    return;
  }
  let at = codes_at(panel, step);
  let sx = bitcast<f32>(input_word(t, step, 16u));
  if (subs == 1u) {
    put_terms(factors_of(panel, r, step, 0u), dot_of_block(at, r, t, step), bitcast<i32>(input_word(t, step, 17u)), sx, 0u);
    return;
  }
  for (var s = 0u; s < subs; s++) {
    let dot = dot_of(at, r, t, step, s * 8u / subs, (s + 1u) * 8u / subs);
    put_terms(factors_of(panel, r, step, s), dot, bitcast<i32>(input_word(t, step, 18u + s)), sx, s);
  }
}

fn put_terms(f: Factors, dot: i32, sum: i32, sx: f32, s: u32) {
  let offset = bitcast<i32>(code_offset) + f.zero;
  let exact = select(dot, 2 * dot, bits == 1u) - offset * sum;
  terms[s * parts_of_sub] = mul(to_float_i(exact), mul(f.scale, sx));
  if (has_min != 0u) { terms[s * parts_of_sub + 1u] = mul(f.minimum, mul(sx, to_float_i(sum))); }
}

fn finished(row: u32, t: u32, total: f32) -> f32 {
  if (splits_scale != 0u) { return mul(total, load_input_scales(t)); }
  return total;
}
