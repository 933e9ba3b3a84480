
// More of Wide (fold/wide.wgsl): numbers from f64, products, quotients by f32, order, and exp64 of simd/math64.h. The
// sign of a zero may be lost.
fn wide_of_double(high: u32, low: u32) -> Wide {
  var w = Wide();
  let field = (high >> 20u) & 0x7ffu;
  if (field != 0u) {
    w.kind = 1u;
    w.sign = high >> 31u;
    w.exponent = i32(field) - 1023;
    w.high = (high & 0xfffffu) | 0x100000u;
    w.low = low;
  }
  return w;
}

fn negated(a: Wide) -> Wide {
  var w = a;
  w.sign = a.sign ^ 1u;
  return w;
}

// Of finite numbers: 106 bits, of which the last 42 only tell whether there are any.
fn multiply_wide(a: Wide, b: Wide) -> Wide {
  var product = Wide();
  if (a.kind != 0u && b.kind != 0u) {
    let left = a.high * b.low;
    let right = a.low * b.high;
    var second = mul_hi(a.low, b.low) + left;
    var carry = select(0u, 1u, second < left);
    second += right;
    carry += select(0u, 1u, second < right);
    let upper = a.high * b.high;
    let third = mul_hi(a.high, b.low) + mul_hi(a.low, b.high) + carry + upper;
    let fourth = mul_hi(a.high, b.high) + select(0u, 1u, third < upper);
    let lost = (a.low * b.low) | (second << 22u);
    let bits = vec2<u32>((third >> 10u) | (fourth << 22u), (second >> 10u) | (third << 22u) | select(0u, 1u, lost != 0u));
    product = rounded_wide(a.sign ^ b.sign, a.exponent + b.exponent - 7, bits);
  }
  return product;
}

// Of a finite number by one of 24 bits, which is not 0: in bytes, the first one first.
fn divide_by_float(a: Wide, b: Wide) -> Wide {
  var quotient = Wide();
  if (a.kind != 0u) {
    let divisor = (b.high << 3u) | (b.low >> 29u);
    var rest = 0u;
    var bits = vec2<u32>();
    for (var k = 0u; k < 11u; k++) {
      var word = 0u;
      if (k < 3u) {
        word = a.high >> (16u - 8u * k);
      } else if (k < 7u) {
        word = a.low >> (48u - 8u * k);
      }
      let part = (rest << 8u) | (word & 0xffu);
      let digit = part / divisor;
      rest = part - digit * divisor;
      bits = vec2<u32>((bits.x << 8u) | (bits.y >> 24u), (bits.y << 8u) | digit);
    }
    bits.y |= select(0u, 1u, rest != 0u);
    quotient = rounded_wide(a.sign ^ b.sign, a.exponent - b.exponent - 6, bits);
  }
  return quotient;
}

// Of finite numbers that are not negative.
fn is_less(a: Wide, b: Wide) -> bool {
  if (a.kind == 0u || b.kind == 0u) { return a.kind < b.kind; }
  if (a.exponent != b.exponent) { return a.exponent < b.exponent; }
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

// The bits of the nearest f32, subnormal ones too.
fn float_bits_of(w: Wide) -> u32 {
  let sign = w.sign << 31u;
  if (w.kind == 0u) { return 0u; }
  if (w.kind == 3u) { return 0x7fc00000u; }
  if (w.kind == 2u || w.exponent > 127) { return sign | 0x7f800000u; }
  let down = u32(max(-126 - w.exponent, 0));
  let m = shifted_right(vec2<u32>(w.high, w.low), down);
  var mantissa = (m.x << 3u) | (m.y >> 29u);
  let rest = m.y & 0x1fffffffu;
  if (rest > 0x10000000u || (rest == 0x10000000u && (mantissa & 1u) != 0u)) { mantissa += 1u; }
  // The first bit of a normal number counts as one of the exponent.
  return sign | ((u32(max(w.exponent + 126, 0)) << 23u) + mantissa);
}

fn exp_coefficient(k: u32) -> Wide {
  switch (k) {
    case 0u: { return wide_of_double(0x3fe00000u, 0u); }
    case 1u: { return wide_of_double(0x3fc55555u, 0x5555555du); }
    case 2u: { return wide_of_double(0x3fa55555u, 0x5555556cu); }
    case 3u: { return wide_of_double(0x3f811111u, 0x1110e54bu); }
    case 4u: { return wide_of_double(0x3f56c16cu, 0x16c0a434u); }
    case 5u: { return wide_of_double(0x3f2a01a0u, 0x1b5f388au); }
    case 6u: { return wide_of_double(0x3efa01a0u, 0x1e89a8b4u); }
    case 7u: { return wide_of_double(0x3ec71ddeu, 0xab001984u); }
    case 8u: { return wide_of_double(0x3e927e44u, 0xaa2c73abu); }
    case 9u: { return wide_of_double(0x3e5af744u, 0x2105fef7u); }
    default: { return wide_of_double(0x3e220506u, 0x3d6172ebu); }
  }
}

// Of finite numbers that are not positive: 0 below -709, and below 2^-1022.
fn exp_wide(x: Wide) -> Wide {
  var y = Wide();
  if (!is_less(wide_of_double(0x40862800u, 0u), negated(x))) {
    let round_shift = wide_of_double(0x43380000u, 0u);
    let shift = add_wide(multiply_wide(x, wide_of_double(0x3ff71547u, 0x652b82feu)), round_shift);
    let n = add_wide(shift, negated(round_shift));
    let t = add_wide(x, negated(multiply_wide(n, wide_of_double(0x3fe62e42u, 0xfefa2000u))));
    let rest = negated(multiply_wide(n, wide_of_double(0x3d69ef35u, 0x793c7673u)));
    let r = add_wide(t, rest);
    let lost = add_wide(add_wide(t, negated(r)), rest);

    var tail = exp_coefficient(10u);
    for (var k = 10u; k != 0u; k--) { tail = add_wide(exp_coefficient(k - 1u), multiply_wide(r, tail)); }
    let one = wide_of_double(0x3ff00000u, 0u);
    let high = add_wide(one, r);
    let low = add_wide(add_wide(one, negated(high)), r);
    y = add_wide(high, add_wide(low, add_wide(lost, multiply_wide(multiply_wide(r, r), tail))));
    // n has at most ten bits before its point.
    if (n.kind != 0u) { y.exponent -= i32(n.high >> (20u - u32(n.exponent))); }
    if (y.exponent < -1022) { y = Wide(); }
  }
  return y;
}
