
// Scale and zero point of a span of weights, as dtypes/quantize.cpp finds them. Fixed: rule (ScaleRule), top (bits of the
// largest code as a float), is_binary, grouped, dropped (low bits that a group's scale does not keep).
const power_of_two = 1u;
const signed_two = 3u;
const asymmetric = 4u;
const mean_size = 5u;

// What is known of some weights: the largest size of those below and above 0, the least size that is not 0, and where the
// first of the largest size stands.
fn nothing_seen() -> vec4<u32> { return vec4<u32>(0u, 0u, 0xffffffffu, 0xffffffffu); }

// Bits of a weight's size, snapped; larger ones count as 2^126.
fn size_of_weight(at: u32) -> u32 {
  let size = bits_values(at) & 0x7fffffffu;
  return select(min(size, 0x7e800000u), 0u, size < 0x26000000u);
}

fn seen_at(at: u32) -> vec4<u32> {
  let size = size_of_weight(at);
  let below = (bits_values(at) >> 31u) != 0u;
  return vec4<u32>(select(0u, size, below), select(size, 0u, below), select(size, 0xffffffffu, size == 0u), at);
}

fn merged(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
  let a_size = max(a.x, a.y);
  let b_size = max(b.x, b.y);
  var first = select(b.w, a.w, a_size > b_size);
  if (a_size == b_size) { first = min(a.w, b.w); }
  return vec4<u32>(max(a.x, b.x), max(a.y, b.y), min(a.z, b.z), first);
}

// What threads of a workgroup of 256 know together.
var<workgroup> seen_by: array<vec4<u32>, 256>;

fn seen_by_all(seen: vec4<u32>, thread: u32) -> vec4<u32> {
  seen_by[thread] = seen;
  workgroupBarrier();
  for (var half = 128u; half != 0u; half >>= 1u) {
    if (thread < half) { seen_by[thread] = merged(seen_by[thread], seen_by[thread + half]); }
    workgroupBarrier();
  }
  return seen_by[0];
}

// The sum of a lane of a block's sizes (lanes16); the last block may be short.
fn lane_of_block(block: u32, lane: u32, base: u32, count: u32) -> f32 {
  var sum = 0.0;
  for (var i = 1024u * block + lane; i < min(1024u * (block + 1u), count); i += 16u) {
    sum = add_plain(sum, bitcast<f32>(size_of_weight(base + i)));
  }
  return sum;
}

// Integers of 64 bits: the low half, then the high one. By 0 to 63.
fn shifted_right(v: vec2<u32>, by: u32) -> vec2<u32> {
  if (by >= 32u) { return vec2<u32>(v.y >> (by - 32u), 0u); }
  if (by == 0u) { return v; }
  return vec2<u32>((v.x >> by) | (v.y << (32u - by)), v.y >> by);
}
fn shifted_left(v: vec2<u32>, by: u32) -> vec2<u32> {
  if (by >= 32u) { return vec2<u32>(0u, v.x << (by - 32u)); }
  if (by == 0u) { return v; }
  return vec2<u32>(v.x << by, (v.y << by) | (v.x >> (32u - by)));
}
fn sum_of(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn is_zero(v: vec2<u32>) -> bool { return (v.x | v.y) == 0u; }
fn bits_of_number(v: vec2<u32>) -> u32 {
  return select(64u - countLeadingZeros(v.y), 32u - countLeadingZeros(v.x), v.y == 0u);
}
// v / 2^by to the nearest, ties to even; `more`: v is somewhat larger than that. By 1 to 62.
fn rounded_off(v: vec2<u32>, by: u32, more: bool) -> vec2<u32> {
  let kept = shifted_right(v, by);
  let is_half = (shifted_right(v, by - 1u).x & 1u) != 0u;
  let is_more = more || (by > 1u && !is_zero(shifted_left(v, 65u - by)));
  return sum_of(kept, vec2<u32>(select(0u, 1u, is_half && (is_more || (kept.x & 1u) != 0u)), 0u));
}

// (a + b) / n for the bits of two sizes, not both 0, and n = 3, 15 or 255: the sum as f64 has it, whose quotient is then
// rounded to f32. That it is rounded to f64 before changes nothing: one step of the sum's last place is, divided by n, more
// than half a place of the quotient, which so comes to lie halfway between two floats only where it is exactly there.
fn range_over(a: u32, b: u32, n: u32) -> u32 {
  let larger = max(a, b);
  let smaller = min(a, b);
  let apart = (larger >> 23u) - (smaller >> 23u);
  let one = vec2<u32>(((larger & 0x7fffffu) | 0x800000u) << 30u, ((larger & 0x7fffffu) | 0x800000u) >> 2u);
  var other = vec2<u32>();
  var lost = false;
  if (smaller != 0u) {
    let whole = vec2<u32>(((smaller & 0x7fffffu) | 0x800000u) << 30u, ((smaller & 0x7fffffu) | 0x800000u) >> 2u);
    other = shifted_right(whole, min(apart, 63u));
    lost = apart > 30u && !is_zero(shifted_left(whole, 64u - min(apart, 63u)));
  }
  let both = sum_of(one, other);
  let first_off = bits_of_number(both) - 53u;
  let sum = shifted_left(rounded_off(both, first_off, lost), 10u);
  var quotient = vec2<u32>();
  var rest = 0u;
  for (var digit = 4u; digit != 0u; digit -= 1u) {  // of 16 bits
    let at = 16u * (digit - 1u);
    let part = (rest << 16u) | (shifted_right(sum, at).x & 0xffffu);
    quotient = sum_of(quotient, shifted_left(vec2<u32>(part / n, 0u), at));
    rest = part % n;
  }
  let second_off = bits_of_number(quotient) - 24u;
  let significand = rounded_off(quotient, second_off, rest != 0u).x;
  return (((larger >> 23u) - 40u + first_off + second_off) << 23u) + (significand - 0x800000u);
}

fn plain_scale(seen: vec4<u32>, sum: f32, count: u32) -> u32 {
  let largest = max(seen.x, seen.y);
  if (rule == power_of_two) {
    return (127u + (largest >> 23u) - (top >> 23u) + select(0u, 1u, (largest & 0x7fffffu) > (top & 0x7fffffu))) << 23u;
  }
  if (rule == signed_two) {
    let below = seen.x > seen.y || (seen.x == seen.y && (bits_values(seen.w) >> 31u) != 0u);
    return (largest - 0x800000u) | select(0x80000000u, 0u, below);
  }
  if (rule == asymmetric) { return range_over(seen.x, seen.y, bitcast<u32>(round_to_int(bitcast<f32>(top)))); }
  if (rule == mean_size) {
    if (seen.z == largest) { return largest; }
    let mean = div(sum, to_float_u(count));
    return bitcast<u32>(select_f(less(mean, bitcast<f32>(largest)), mean, bitcast<f32>(largest)));
  }
  return bitcast<u32>(div(bitcast<f32>(largest), bitcast<f32>(top)));
}

fn scale_bits(seen: vec4<u32>, sum: f32, count: u32) -> u32 {
  const none = select(0x3f800000u, 0u, is_binary != 0u);
  if (max(seen.x, seen.y) == 0u) { return none; }
  var scale = plain_scale(seen, sum, count);
  if (grouped == 0u) { return select(scale, 0u, is_binary != 0u && scale < 0x26000000u); }
  scale = (scale + dropped) & ~dropped;
  return select(scale, none, (scale & 0x7fffffffu) < 0x33800000u);
}

fn put_span(span: u32, seen: vec4<u32>, sum: f32, count: u32) {
  let scale = scale_bits(seen, sum, count);
  put_spans(2u * span, scale);
  var zero = 0;
  if (rule == asymmetric) {
    zero = round_to_int(min_f(div(bitcast<f32>(seen.x), bitcast<f32>(scale)), bitcast<f32>(top)));
  }
  put_spans(2u * span + 1u, bitcast<u32>(zero));
}
