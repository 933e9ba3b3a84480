// What every shader begins with: the arithmetic of floats, with the bits of the CPU kernels
// (docs/internals/numerics.md). WGSL lets a compiler fuse and reassociate, flush subnormals, take NaN, infinities and
// -0 for absent, and be inexact in / and sqrt. So no operator stands between floats outside of this folder
// (tools/wgsl_lint.py): sums and products are hidden from the compiler as they are made, and all else goes by bits.
// add_plain() of a sum is in sums_left.wgsl or sums_kept.wgsl, one of which follows this file.
//
// Subnormals: no stored value is one, and none is promised here. An operand below 2^-126 may count as 0; div() and
// root() say what they do. NaN and infinity: every function gives one where the CPU does, but that a compiler may take
// x * 0 for 0 where it knows the 0; the payload of a NaN is promised only by snap(), div() and root().

// Always 0, which no compiler can know: the entry point sets it from a word of its parameters before all else.
var<private> opaque_zero: u32;

// x, of which the compiler no longer knows how it came about.
fn keep(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ opaque_zero); }

fn mul(a: f32, b: f32) -> f32 { return keep(a * b); }
fn add(a: f32, b: f32) -> f32 { return keep(a + b); }
// a * b as a term of a sum that began with +0: the sign of a zero, which may be lost here, changes none. It takes one
// operation less than mul(), since no compiler knows what it adds, and so none can take the sum into it.
fn product(a: f32, b: f32) -> f32 { return fma(a, b, bitcast<f32>(opaque_zero)); }
fn sub(a: f32, b: f32) -> f32 { return keep(a - b); }

// Constants of these values are errors of a shader, hence from bits that are not known to be so.
fn infinity() -> f32 { return bitcast<f32>(0x7f800000u ^ opaque_zero); }
fn quiet_nan() -> f32 { return bitcast<f32>(0x7fc00000u ^ opaque_zero); }

fn magnitude_of(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn is_nan(x: f32) -> bool { return magnitude_of(x) > 0x7f800000u; }
fn is_finite(x: f32) -> bool { return magnitude_of(x) < 0x7f800000u; }
fn neg(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }
fn abs_f(x: f32) -> f32 { return bitcast<f32>(magnitude_of(x)); }

// What every value passes that is stored: below 2^-51 in size, and -0: +0. NaN: the one quiet NaN.
fn snap(x: f32) -> f32 {
  let size = magnitude_of(x);
  let kept = select(bitcast<u32>(x), 0u, size < 0x26000000u);
  return bitcast<f32>(select(kept, 0x7fc00000u, size > 0x7f800000u));
}

// An integer that is ordered as the float is; both zeros are 0, and what lies outside of the infinities is a NaN.
fn order_of(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return select(bits, -0x80000000 - bits, bits < 0);
}
fn less(a: f32, b: f32) -> bool {
  let low = order_of(a);
  let high = order_of(b);
  return low < high && low >= -0x7f800000 && high <= 0x7f800000;
}
fn less_equal(a: f32, b: f32) -> bool {
  let low = order_of(a);
  let high = order_of(b);
  return low <= high && low >= -0x7f800000 && high <= 0x7f800000;
}
fn greater(a: f32, b: f32) -> bool { return less(b, a); }
fn greater_equal(a: f32, b: f32) -> bool { return less_equal(b, a); }
fn equal(a: f32, b: f32) -> bool { return order_of(a) == order_of(b) && !is_nan(a); }
fn not_equal(a: f32, b: f32) -> bool { return !equal(a, b); }

// m ? a : b.
fn select_f(m: bool, a: f32, b: f32) -> f32 { return bitcast<f32>(select(bitcast<u32>(b), bitcast<u32>(a), m)); }
// The second operand where the comparison fails, so a NaN in `a` loses.
fn min_f(a: f32, b: f32) -> f32 { return select_f(less(a, b), a, b); }
fn max_f(a: f32, b: f32) -> f32 { return select_f(greater(a, b), a, b); }

// Nearest even. WGSL does not say how integers above 2^24 are rounded: both halves and the product are exact, the sum
// is rounded.
fn to_float_i(x: i32) -> f32 { return keep(f32(x >> 12u) * 4096.0f + f32(x & 0xfff)); }
fn to_float_u(x: u32) -> f32 { return keep(f32(x >> 12u) * 4096.0f + f32(x & 0xfffu)); }
// Nearest even for |x| <= 2^22; other values are undefined.
fn round_to_int(x: f32) -> i32 { return bitcast<i32>(add(x, 12582912.0f)) - 0x4b400000; }

// a / b, correctly rounded. A subnormal operand counts as 0, a quotient below 2^-126 is 0, both with their sign, as on
// hardware that flushes.
//
// With the significands as integers of 24 bits, the quotient is floor(dividend 2^k / divisor), k = 23 or 24, so that it
// has 24 bits too. Floats only estimate it. Its remainder is small and therefore known exactly from the low 32 bits of
// both terms; it tells by how much the estimate is off (up to 2^6 would do), and how to round. A quotient of two floats
// never lies halfway between two others.
fn div(a: f32, b: f32) -> f32 {
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let a_size = magnitude_of(a);
  let b_size = magnitude_of(b);
  let dividend = (a_size & 0x7fffffu) | 0x800000u;
  let divisor = (b_size & 0x7fffffu) | 0x800000u;
  let k = select(24u, 23u, dividend >= divisor);

  let inverse = 1.0f / bitcast<f32>(divisor | 0x3f000000u);  // of the divisor in [1, 2)
  var quotient = u32(bitcast<f32>((dividend | 0x3f000000u) + ((k - 23u) << 23u)) * inverse * 8388608.0f);
  var rest = bitcast<i32>((dividend << k) - quotient * divisor);
  let off = i32(floor(f32(rest) * inverse * 0x1p-23f));
  quotient += bitcast<u32>(off);
  rest -= off * bitcast<i32>(divisor);
  if rest < 0 {
    quotient -= 1u;
    rest += bitcast<i32>(divisor);
  }
  if rest >= bitcast<i32>(divisor) {
    quotient += 1u;
    rest -= bitcast<i32>(divisor);
  }
  quotient += select(0u, 1u, 2 * rest > bitcast<i32>(divisor));

  let exponent = bitcast<i32>(a_size >> 23u) - bitcast<i32>(b_size >> 23u) + 150 - bitcast<i32>(k);
  var bits = (bitcast<u32>(exponent) << 23u) + (quotient & 0x7fffffu);
  bits = select(bits, 0x7f800000u, exponent > 254 || b_size < 0x800000u || a_size == 0x7f800000u);
  bits = select(bits, 0u, (exponent < 1 && b_size >= 0x800000u && a_size != 0x7f800000u) || a_size < 0x800000u || b_size == 0x7f800000u);
  let both_zero = a_size < 0x800000u && b_size < 0x800000u;
  let both_infinite = a_size == 0x7f800000u && b_size == 0x7f800000u;
  let no_number = a_size > 0x7f800000u || b_size > 0x7f800000u || both_zero || both_infinite;
  return bitcast<f32>(select(sign | bits, 0x7fc00000u, no_number));
}

// The square root, correctly rounded, as div() finds its quotient: floor(sqrt(significand 2^23)), or of 2^24 where the
// exponent is odd, and what is left of its square. A subnormal operand counts as 0; zeros keep their sign, what is less
// is NaN.
fn root(a: f32) -> f32 {
  let size = magnitude_of(a);
  let odd = 1u - ((size >> 23u) & 1u);  // of the exponent less its bias of 127
  let significand = (size & 0x7fffffu) | 0x800000u;

  let estimate = sqrt(bitcast<f32>((significand | 0x3f000000u) + (odd << 23u)));  // of a number in [1, 4)
  var whole = u32(estimate * 8388608.0f);
  var rest = bitcast<i32>((significand << (23u + odd)) - whole * whole);
  let off = i32(floor(f32(rest) / estimate * 0x1p-24f));
  rest -= off * (2 * bitcast<i32>(whole) + off);
  whole += bitcast<u32>(off);
  if rest < 0 {
    whole -= 1u;
    rest += 2 * bitcast<i32>(whole) + 1;
  }
  if rest > 2 * bitcast<i32>(whole) {
    rest -= 2 * bitcast<i32>(whole) + 1;
    whole += 1u;
  }
  whole += select(0u, 1u, rest > bitcast<i32>(whole));

  var bits = ((((size >> 23u) + 127u - odd) >> 1u) << 23u) + (whole & 0x7fffffu);
  bits = select(bits, size, size == 0x7f800000u);
  bits = select(bits, 0u, size < 0x800000u);
  let no_number = size > 0x7f800000u || (bitcast<i32>(a) < 0 && size >= 0x800000u);
  return bitcast<f32>(select((bitcast<u32>(a) & 0x80000000u) | bits, 0x7fc00000u, no_number));
}

// Codes of few bits, exactly, as the panel codecs decode them: infinities and NaNs stand in no weight.
fn half_to_float(code: u32) -> f32 {
  let magnitude = code & 0x7fffu;
  let small = bitcast<u32>(f32(magnitude) * 0x1p-24f);
  let value = select((magnitude << 13u) + 0x38000000u, small, magnitude < 0x400u);
  return bitcast<f32>(value | ((code & 0x8000u) << 16u));
}
fn bfloat_to_float(code: u32) -> f32 { return bitcast<f32>(code << 16u); }
// OCP E5M2, the upper byte of a half.
fn fp8e5m2_to_float(code: u32) -> f32 { return half_to_float(code << 8u); }
// OCP E4M3, 2^8 times smaller, so that sums take the unit from the total as those of Fp8E4M3Codec do.
fn fp8e4m3_to_float(code: u32) -> f32 {
  let magnitude = code & 0x7fu;
  let small = bitcast<u32>(f32(magnitude) * 0x1p-17f);
  let value = select((magnitude << 20u) + 0x38000000u, small, magnitude < 8u);
  return bitcast<f32>(value | ((code & 0x80u) << 24u));
}
// OCP E2M1.
fn fp4_to_float(code: u32) -> f32 {
  let magnitude = code & 7u;
  let small = bitcast<u32>(f32(magnitude) * 0.5f);
  let value = select((magnitude << 22u) + 0x3f000000u, small, magnitude < 2u);
  return bitcast<f32>(value | ((code & 8u) << 28u));
}

// The upper 32 bits of a * b, by halves of 16.
fn mul_hi(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let left = (a >> 16u) * (b & 0xffffu);
  let right = (a & 0xffffu) * (b >> 16u);
  let middle = (low >> 16u) + (left & 0xffffu) + (right & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u) + (middle >> 16u);
}

// Philox4x32-10 (core/philox.h).
fn philox4x32(seed: vec2<u32>, block: vec4<u32>) -> vec4<u32> {
  var key = seed;
  var counter = block;
  for (var round = 0u; round < 10u; round += 1u) {
    counter = vec4<u32>(mul_hi(0xcd9e8d57u, counter.z) ^ counter.y ^ key.x, 0xcd9e8d57u * counter.z,
                        mul_hi(0xd2511f53u, counter.x) ^ counter.w ^ key.y, 0xd2511f53u * counter.x);
    key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}
// A stream of random numbers as RandomStream has it, and the word of one of its first 2^32 elements.
struct RandomStream {
  seed: vec2<u32>,
  domain: u32,
  step: u32,
  site: u32,
}
fn random_word(stream: RandomStream, element: u32) -> u32 {
  return philox4x32(stream.seed, vec4<u32>(element >> 2u, stream.domain << 16u, stream.step, stream.site))[element & 3u];
}
// A uniform number in (0, 1), exactly.
fn uniform_of(word: u32) -> f32 { return (f32(word >> 9u) + 0.5f) * 0x1p-23f; }
