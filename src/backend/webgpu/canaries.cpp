#include "backend/webgpu/canaries.h"

#include <bit>
#include <cmath>
#include <functional>

#include "core/philox.h"
#include "dtypes/float16.h"
#include "dtypes/small_float.h"
#include "simd/orders.h"

namespace loom::gpu {
namespace {

using Bits = std::uint32_t;
using Promise = std::optional<Bits>;

constexpr Bits kSign = 0x80000000u, kInfinityBits = 0x7f800000u, kLeastNormal = 0x00800000u;

float number(Bits x) { return std::bit_cast<float>(x); }
Bits bits(float x) { return std::bit_cast<Bits>(x); }
Bits size(Bits x) { return x & ~kSign; }
bool is_nan(Bits x) { return size(x) > kInfinityBits; }
bool is_subnormal(Bits x) { return size(x) != 0 && size(x) < kLeastNormal; }
// A result that may have been below 2^-126 before it was rounded: hardware that flushes makes 0 of it.
bool may_be_flushed(Bits x) { return size(x) != 0 && size(x) <= kLeastNormal; }
// A number with which shaders may compute: +0, -0, or normal and finite.
bool is_plain(Bits x) { return size(x) < kInfinityBits && !is_subnormal(x); }
Bits flushed(Bits x) { return is_subnormal(x) ? x & kSign : x; }

template <auto f>
Promise of_plain(Bits a, Bits b) {
  if (!is_plain(a) || !is_plain(b)) return {};
  const Bits y = bits(f(number(a), number(b)));
  // The sign of a zero may be ignored; what is stored is snapped, so nothing can tell.
  return is_plain(y) && y != kSign && !may_be_flushed(y) ? Promise(y) : Promise();
}
// As hardware that takes subnormals for zeros, with one NaN.
Promise of_flushed(float y) { return is_nan(bits(y)) ? kQuietNan : flushed(bits(y)); }
Promise quotient(Bits a, Bits b) {
  const float x = number(flushed(a)), y = number(flushed(b));
  // In f64, since the f32 quotient just below the least normal number is rounded up to it.
  const bool small = std::abs(static_cast<double>(x) / static_cast<double>(y)) < 0x1p-126;
  return small ? (a ^ b) & kSign : of_flushed(x / y);
}
template <auto f>
Promise comparison(Bits a, Bits b) {
  return f(number(a), number(b)) ? 1u : 0u;
}
// The value that a codec decodes from so many bits; shaders decode no infinities and no NaNs.
template <auto decode, Bits kMask>
Promise decoded(Bits a, Bits) {
  const float y = decode(a & kMask);
  return std::isfinite(y) ? Promise(bits(y)) : Promise();
}

constexpr Canary kCanaries[] = {
    {"keep", "bitcast<u32>(keep(x))", [](Bits a, Bits) { return is_plain(a) ? Promise(a) : Promise(); }},
    {"mul", "bitcast<u32>(mul(x, y))", of_plain<std::multiplies<float>{}>},
    {"product", "bitcast<u32>(product(x, y))", of_plain<std::multiplies<float>{}>},
    {"add", "bitcast<u32>(add(x, y))", of_plain<std::plus<float>{}>},
    {"sub", "bitcast<u32>(sub(x, y))", of_plain<std::minus<float>{}>},
    {"add_plain", "bitcast<u32>(add_plain(x, y))", of_plain<std::plus<float>{}>},
    // a + a * b with its two roundings.
    {"add of mul", "bitcast<u32>(add(x, mul(x, y)))", of_plain<[](float a, float b) {
       const float product = a * b;
       return may_be_flushed(bits(product)) ? number(kQuietNan) : a + product;
     }>},
    {"add_plain of product", "bitcast<u32>(add_plain(x, product(x, y)))", of_plain<[](float a, float b) {
       const float product = a * b;
       return may_be_flushed(bits(product)) ? number(kQuietNan) : a + product;
     }>},
    {"div", "bitcast<u32>(div(x, y))", quotient},
    {"root", "bitcast<u32>(root(x))", [](Bits a, Bits) { return of_flushed(std::sqrt(number(flushed(a)))); }},
    {"snap", "bitcast<u32>(snap(x))", [](Bits a, Bits) { return Promise(bits(snap(number(a)))); }},
    {"neg", "bitcast<u32>(neg(x))", [](Bits a, Bits) { return Promise(a ^ kSign); }},
    {"abs_f", "bitcast<u32>(abs_f(x))", [](Bits a, Bits) { return Promise(size(a)); }},
    {"min_f", "bitcast<u32>(min_f(x, y))", [](Bits a, Bits b) { return Promise(number(a) < number(b) ? a : b); }},
    {"max_f", "bitcast<u32>(max_f(x, y))", [](Bits a, Bits b) { return Promise(number(a) > number(b) ? a : b); }},
    {"less", "u32(less(x, y))", comparison<std::less<float>{}>},
    {"less_equal", "u32(less_equal(x, y))", comparison<std::less_equal<float>{}>},
    {"greater", "u32(greater(x, y))", comparison<std::greater<float>{}>},
    {"greater_equal", "u32(greater_equal(x, y))", comparison<std::greater_equal<float>{}>},
    {"equal", "u32(equal(x, y))", comparison<std::equal_to<float>{}>},
    {"not_equal", "u32(not_equal(x, y))", comparison<std::not_equal_to<float>{}>},
    {"is_nan", "u32(is_nan(x))", [](Bits a, Bits) { return Promise(is_nan(a) ? 1u : 0u); }},
    {"is_finite", "u32(is_finite(x))", [](Bits a, Bits) { return Promise(size(a) < kInfinityBits ? 1u : 0u); }},
    {"select_f", "bitcast<u32>(select_f((a & 1u) == 0u, x, y))",
     [](Bits a, Bits b) { return Promise((a & 1) == 0 ? a : b); }},
    {"infinity", "bitcast<u32>(infinity())", [](Bits, Bits) { return Promise(kInfinityBits); }},
    {"quiet_nan", "bitcast<u32>(quiet_nan())", [](Bits, Bits) { return Promise(kQuietNan); }},
    {"to_float_i", "bitcast<u32>(to_float_i(bitcast<i32>(a)))",
     [](Bits a, Bits) { return Promise(bits(static_cast<float>(static_cast<std::int32_t>(a)))); }},
    {"to_float_u", "bitcast<u32>(to_float_u(a))", [](Bits a, Bits) { return Promise(bits(static_cast<float>(a))); }},
    // Of a number whose exponent is that of 2^-8 to 2^21.
    {"round_to_int", "bitcast<u32>(round_to_int(bitcast<f32>((a & 0x807fffffu) | ((119u + b % 30u) << 23u))))",
     [](Bits a, Bits b) {
       return Promise(static_cast<Bits>(std::lrint(number((a & 0x807fffffu) | (119u + b % 30u) << 23))));
     }},
    {"half_to_float", "bitcast<u32>(half_to_float(a & 0xffffu))",
     decoded<[](Bits code) { return float16_to_float(static_cast<std::uint16_t>(code)); }, 0xffff>},
    {"bfloat_to_float", "bitcast<u32>(bfloat_to_float(a & 0xffffu))",
     [](Bits a, Bits) { return is_plain(a << 16) ? Promise(a << 16) : Promise(); }},
    {"fp8e5m2_to_float", "bitcast<u32>(fp8e5m2_to_float(a & 0xffu))",
     decoded<[](Bits code) { return Fp8E5M2::decode(static_cast<std::uint8_t>(code)); }, 0xff>},
    {"fp8e4m3_to_float", "bitcast<u32>(fp8e4m3_to_float(a & 0xffu))",
     decoded<[](Bits code) { return Fp8E4M3::decode(static_cast<std::uint8_t>(code)) * 0x1p-8f; }, 0xff>},
    {"fp4_to_float", "bitcast<u32>(fp4_to_float(a & 0xfu))",
     decoded<[](Bits code) { return Fp4E2M1::decode(static_cast<std::uint8_t>(code)); }, 0xf>},
    {"dot_bytes", "bitcast<u32>(dot_bytes(a, b))",
     [](Bits a, Bits b) {
       std::int32_t sum = 0;
       for (int i = 0; i < 32; i += 8) sum += static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i);
       return Promise(static_cast<Bits>(sum));
     }},
    {"mul_hi", "mul_hi(a, b)", [](Bits a, Bits b) { return Promise(static_cast<Bits>(std::uint64_t{a} * b >> 32)); }},
    {"random_word", "random_word(RandomStream(vec2<u32>(b, a), 2u, a ^ b, b), a)",
     [](Bits a, Bits b) {
       const RandomStream stream = {std::uint64_t{a} << 32 | b, RandomDomain::Dropout, a ^ b, b};
       return Promise(stream.word(a));
     }},
    {"uniform_of", "bitcast<u32>(uniform_of(a))", [](Bits a, Bits) { return Promise(bits(uniform_of(a))); }},
};

// Around zero, the least normal number, where snap() cuts, halves and ones, integers that rounding meets, the largest.
constexpr Bits kEdges[] = {
    0,           1,           0x007fffffu, 0x00800000u, 0x00800001u, 0x00ffffffu, 0x0d000000u, 0x25ffffffu,
    0x26000000u, 0x26000001u, 0x33000000u, 0x33800000u, 0x34000000u, 0x3effffffu, 0x3f000000u, 0x3f000001u,
    0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fb504f3u, 0x3fc00000u, 0x3fffffffu, 0x40000000u, 0x40200000u,
    0x4a7fffffu, 0x4a800000u, 0x4b000000u, 0x4b000001u, 0x4b7fffffu, 0x4b800000u, 0x4b800001u, 0x4c000000u,
    0x4effffffu, 0x4f000000u, 0x58800000u, 0x5f3504f3u, 0x5f800000u, 0x72800000u, 0x7e7fffffu, 0x7e800000u,
    0x7effffffu, 0x7f000000u, 0x7f7ffffeu, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fbfffffu, 0x7fc00000u,
    0x7fc12345u, 0x7fffffffu, 0x00001001u, 0x00000fffu, 0x01000001u, 0x01000003u, 0x0000ffffu, 0x00010000u,
    0x3eaaaaabu, 0x3f2aaaabu, 0x40490fdbu, 0x42b17218u, 0xc2aeac50u, 0x41a00000u, 0x45000000u, 0x3f100000u};
constexpr std::size_t kNumEdges = 2 * std::size(kEdges);
static_assert(kNumEdges == 128);

Bits edge(std::size_t i) { return kEdges[i / 2] ^ (i % 2 == 0 ? 0 : kSign); }

}  // namespace

std::span<const Canary> canaries() { return kCanaries; }

void fill_canary_inputs(std::span<Bits> a, std::span<Bits> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i < kNumEdges * kNumEdges) {
      a[i] = edge(i / kNumEdges), b[i] = edge(i % kNumEdges);
      continue;
    }
    const PhiloxBlock words = philox4x32(17, {static_cast<Bits>(i), static_cast<Bits>(std::uint64_t{i} >> 32), 0, 0});
    a[i] = words[0], b[i] = words[1];
    // Within 2^32 of each other, or a few steps apart.
    if (i % 4 == 1)
      b[i] = (words[1] & 0x807fffffu) | (((a[i] & 0x7f800000u) + ((words[2] % 65 - 32) << 23)) & 0x7f800000u);
    if (i % 4 == 3) b[i] = (a[i] ^ (words[1] & kSign)) + words[2] % 16 - 8;
  }
}

}  // namespace loom::gpu
