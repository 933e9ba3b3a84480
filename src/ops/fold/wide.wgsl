
// Numbers as f64 has them, by integers: sums, quotients and what is made of f32, each rounded to nearest, ties to even.
// They stay far from the ends of its exponents.
struct Wide {
  kind: u32,     // 0: zero, 1: finite, 2: infinite, 3: NaN
  sign: u32,
  exponent: i32, // of the first bit
  high: u32,     // 53 bits, the first one set
  low: u32,
}

fn wide_of(bits: u32) -> Wide {
  var w = Wide();
  let field = (bits >> 23u) & 0xffu;
  var mantissa = bits & 0x7fffffu;
  w.sign = bits >> 31u;
  w.exponent = i32(field) - 127;
  w.kind = 1u;
  if (field == 255u) {
    w.kind = select(2u, 3u, mantissa != 0u);
  } else if (field != 0u) {
    mantissa |= 0x800000u;
  } else if (mantissa == 0u) {
    w.kind = 0u;
  } else {
    let by = countLeadingZeros(mantissa) - 8u;
    mantissa = mantissa << by;
    w.exponent = -126 - i32(by);
  }
  w.high = mantissa >> 3u;
  w.low = mantissa << 29u;
  return w;
}

// 64 bits to the right; the last one stands for all that are lost.
fn shifted_right(bits: vec2<u32>, by: u32) -> vec2<u32> {
  var high = bits.x;
  var low = bits.y;
  var lost = 0u;
  var rest = min(by, 64u);
  if (rest >= 32u) {
    lost = low;
    low = high;
    high = 0u;
    rest -= 32u;
  }
  if (rest >= 32u) {
    lost |= low;
    low = 0u;
    rest -= 32u;
  }
  if (rest != 0u) {
    lost |= low << (32u - rest);
    low = (low >> rest) | (high << (32u - rest));
    high = high >> rest;
  }
  return vec2<u32>(high, low | select(0u, 1u, lost != 0u));
}

fn shifted_left(bits: vec2<u32>, by: u32) -> vec2<u32> {
  var high = bits.x;
  var low = bits.y;
  var rest = by;
  if (rest >= 32u) {
    high = low;
    low = 0u;
    rest -= 32u;
  }
  if (rest != 0u) {
    high = (high << rest) | (low >> (32u - rest));
    low = low << rest;
  }
  return vec2<u32>(high, low);
}

// bits * 2^(exponent - 55), rounded: the last three of 56 bits go.
fn rounded_wide(sign: u32, exponent: i32, bits: vec2<u32>) -> Wide {
  var w = Wide();
  if ((bits.x | bits.y) != 0u) {
    let lead = select(32u + countLeadingZeros(bits.y), countLeadingZeros(bits.x), bits.x != 0u);
    var m = bits;
    if (lead < 8u) {
      m = shifted_right(bits, 8u - lead);
    } else {
      m = shifted_left(bits, lead - 8u);
    }
    let rest = m.y & 7u;
    let low = (m.y >> 3u) | (m.x << 29u);
    let up = select(0u, 1u, rest > 4u || (rest == 4u && (low & 1u) != 0u));
    w.kind = 1u;
    w.sign = sign;
    w.exponent = exponent + 8 - i32(lead);
    w.low = low + up;
    w.high = (m.x >> 3u) + select(0u, 1u, w.low < low);
    if (w.high == 0x200000u) {
      w.high = 0x100000u;
      w.exponent += 1;
    }
  }
  return w;
}

fn add_finite(a: Wide, b: Wide) -> Wide {
  var big = a;
  var small = b;
  if (b.exponent > a.exponent ||
      (b.exponent == a.exponent && (b.high > a.high || (b.high == a.high && b.low > a.low)))) {
    big = b;
    small = a;
  }
  let bits = shifted_left(vec2<u32>(big.high, big.low), 3u);
  let other = shifted_right(shifted_left(vec2<u32>(small.high, small.low), 3u), u32(big.exponent - small.exponent));
  var sum = vec2<u32>();
  if (big.sign == small.sign) {
    sum.y = bits.y + other.y;
    sum.x = bits.x + other.x + select(0u, 1u, sum.y < bits.y);
  } else {
    sum.y = bits.y - other.y;
    sum.x = bits.x - other.x - select(0u, 1u, bits.y < other.y);
  }
  return rounded_wide(big.sign, big.exponent, sum);
}

fn add_wide(a: Wide, b: Wide) -> Wide {
  var sum = a;
  if (a.kind >= 2u || b.kind >= 2u) {
    if (b.kind > a.kind) { sum = b; }
    if (a.kind == 2u && b.kind == 2u && a.sign != b.sign) { sum.kind = 3u; }
  } else if (a.kind == 0u) {
    sum = b;
  } else if (b.kind != 0u) {
    sum = add_finite(a, b);
  }
  return sum;
}

fn square_wide(bits: u32) -> Wide {
  var w = wide_of(bits);
  if (w.kind == 1u) {
    let m = (w.high << 3u) | (w.low >> 29u);
    w = rounded_wide(0u, 2 * w.exponent + 9, vec2<u32>(mul_hi(m, m), m * m));
  }
  w.sign = 0u;
  return w;
}

// By a whole number from 1 on, bit by bit.
fn divide_wide(a: Wide, n: u32) -> Wide {
  var quotient = a;
  if (a.kind == 1u) {
    let lead = countLeadingZeros(n);
    let whole = n << lead;
    let high = whole >> 11u;
    let low = whole << 21u;
    var rest = vec2<u32>(a.high, a.low);
    var bits = vec2<u32>();
    for (var k = 0u; k < 57u; k++) {
      bits = shifted_left(bits, 1u);
      if (rest.x > high || (rest.x == high && rest.y >= low)) {
        let borrow = select(0u, 1u, rest.y < low);
        rest.x = rest.x - high - borrow;
        rest.y = rest.y - low;
        bits.y |= 1u;
      }
      rest = shifted_left(rest, 1u);
    }
    bits.y |= select(0u, 1u, (rest.x | rest.y) != 0u);
    quotient = rounded_wide(a.sign, a.exponent - 31 + i32(lead) - 1, bits);
  }
  return quotient;
}

// The nearest f32, snapped.
fn narrow(w: Wide) -> f32 {
  var bits = 0u;
  if (w.kind == 3u) {
    bits = 0x7fc00000u;
  } else if (w.kind == 2u) {
    bits = (w.sign << 31u) | 0x7f800000u;
  } else if (w.kind == 1u && w.exponent >= -60) {
    var mantissa = (w.high << 3u) | (w.low >> 29u);
    var exponent = w.exponent;
    let rest = w.low & 0x1fffffffu;
    if (rest > 0x10000000u || (rest == 0x10000000u && (mantissa & 1u) != 0u)) { mantissa += 1u; }
    if (mantissa == 0x1000000u) {
      mantissa = 0x800000u;
      exponent += 1;
    }
    if (exponent > 127) {
      bits = (w.sign << 31u) | 0x7f800000u;
    } else {
      bits = (w.sign << 31u) | (u32(exponent + 127) << 23u) | (mantissa & 0x7fffffu);
    }
  }
  return snap(bitcast<f32>(bits));
}
