
// Weights of candidates (sorted.wgsl) and integers that bound their sums (SumOfAll of draw.cpp).
fn value_of(key: u32) -> Wide {
  return wide_of(select((0x80000000u - key) | 0x80000000u, key - 0x80000000u, key >= 0x80000000u));
}
fn weight_beside(best: u32, key: u32, temperature: u32) -> Wide {
  return exp_wide(divide_by_float(add_wide(value_of(key), negated(value_of(best))), wide_of(temperature)));
}

// The whole part of w, below 2^53; its last bit is set where anything is lost.
fn units_of(w: Wide) -> vec2<u32> {
  var units = vec2<u32>();
  if (w.kind != 0u) { units = shifted_right(vec2<u32>(w.high, w.low), u32(52 - w.exponent)); }
  return units;
}
fn wide_of_units(units: vec2<u32>) -> Wide {
  return rounded_wide(0u, 55, units);
}
fn added(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.y + b.y;
  return vec2<u32>(a.x + b.x + select(0u, 1u, low < a.y), low);
}

// The sum of all threads of a workgroup, in the first one.
var<workgroup> units_high: array<u32, 256>;
var<workgroup> units_low: array<u32, 256>;
fn sum_units(units: vec2<u32>, thread: u32) -> vec2<u32> {
  var sum = units;
  for (var step = 128u; step != 0u; step >>= 1u) {
    units_high[thread] = sum.x;
    units_low[thread] = sum.y;
    workgroupBarrier();
    let other = min(thread + step, 255u);
    sum = added(sum, vec2<u32>(units_high[other], units_low[other]));
    workgroupBarrier();
  }
  return sum;
}
