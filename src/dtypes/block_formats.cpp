#include "dtypes/block_formats.h"

#include <array>
#include <cstring>
#include <utility>

#include "core/little_endian.h"
#include "dtypes/float16.h"

namespace loom {
namespace {

constexpr std::size_t kNumBlockFormats = kNumDTypes - kNumTypes;
constexpr std::array<std::pair<DType, BlockLayout>, kNumBlockFormats> kLayouts = {{
    {DType::q4_0, {32, 32, false, 4, 8, -8, 7}},
    {DType::q4_1, {32, 32, true, 4, 0, 0, 15}},
    {DType::q5_0, {32, 32, false, 5, 16, -16, 15}},
    {DType::q5_1, {32, 32, true, 5, 0, 0, 31}},
    {DType::q8_0, {32, 32, false, 8, 0, -128, 127}},
    {DType::q2_k, {256, 16, true, 2, 0, 0, 3}},
    {DType::q3_k, {256, 16, false, 3, 4, -4, 3}},
    {DType::q4_k, {256, 32, true, 4, 0, 0, 15}},
    {DType::q5_k, {256, 32, true, 5, 0, 0, 31}},
    {DType::q6_k, {256, 16, false, 6, 32, -32, 31}},
    {DType::tq1_0, {256, 256, false, 2, 1, -1, 1}},
    {DType::tq2_0, {256, 256, false, 2, 1, -1, 2}},
    {DType::mxfp4, {32, 32, false, 4, 0, -12, 12}},
}};
static_assert([] {
  for (std::size_t i = 0; i < kNumBlockFormats; ++i) {
    const DTypeInfo& type = kDTypes[kNumTypes + i];
    const auto& [dtype, layout] = kLayouts[i];
    if (dtype != type.dtype || layout.elements != type.block_elements || layout.has_min != type.panel.has_min)
      return false;
  }
  return true;
}());

unsigned u8(const std::byte* p) { return static_cast<unsigned>(*p); }
// Adding zero turns a stored -0 into +0.
float half(const std::byte* p) { return float16_to_float(load_le<std::uint16_t>(p)) + 0.0f; }
std::int8_t code(unsigned stored, int offset) { return static_cast<std::int8_t>(static_cast<int>(stored) - offset); }

// Codes are moved eight bytes at a time: the bits that a shift brings in from a neighbour are masked off.
template <std::size_t kCount>
void take_bits(const std::byte* from, unsigned shift, unsigned mask, std::int8_t* codes) {
  static_assert(kCount % 8 == 0);
  for (std::size_t i = 0; i < kCount; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + i, 8);
    word = word >> shift & mask * std::uint64_t{0x0101010101010101};
    std::memcpy(codes + i, &word, 8);
  }
}
// Adds bits above those that the codes have.
template <std::size_t kCount>
void add_bits(const std::byte* from, unsigned shift, unsigned mask, unsigned place, std::int8_t* codes) {
  for (std::size_t i = 0; i < kCount; i += 8) {
    std::uint64_t word, low;
    std::memcpy(&word, from + i, 8);
    std::memcpy(&low, codes + i, 8);
    low |= (word >> shift & mask * std::uint64_t{0x0101010101010101}) << place;
    std::memcpy(codes + i, &low, 8);
  }
}
template <std::size_t kCount>
void lower(std::int8_t* codes, int offset) {
  for (std::size_t i = 0; i < kCount; ++i) codes[i] = static_cast<std::int8_t>(codes[i] - offset);
}

// Sixteen bytes of nibbles: the low ones are elements 0..15, the high ones 16..31.
void nibbles(const std::byte* q, std::int8_t* codes, int offset) {
  take_bits<16>(q, 0, 15, codes);
  take_bits<16>(q, 4, 15, codes + 16);
  lower<32>(codes, offset);
}

// Codes of five bits: the fifth comes from a 32-bit mask.
void five_bits(const std::byte* high, const std::byte* q, std::int8_t* codes, int offset) {
  const auto mask = load_le<std::uint32_t>(high);
  nibbles(q, codes, offset);
  for (unsigned i = 0; i < 32; ++i) codes[i] = static_cast<std::int8_t>(codes[i] + (mask >> i & 1) * 16);
}

// 256 codes of two bits in 64 bytes: 128 elements per 32 bytes, byte l holding elements l, l + 32, l + 64, l + 96 from
// the lowest bits up.
void two_bits(const std::byte* q, std::int8_t* codes) {
  for (unsigned part = 0; part < 8; ++part) take_bits<32>(q + part / 4 * 32, part % 4 * 2, 3, codes + 32 * part);
}

void q2_k_factors(const std::byte* b, SuperFactors& f) {
  f.d = half(b + 80), f.dmin = half(b + 82);
  for (int s = 0; s < 16; ++s) {
    f.scales[s] = static_cast<std::int8_t>(u8(b + s) & 15);
    f.mins[s] = static_cast<std::uint8_t>(u8(b + s) >> 4);
  }
}

void q2_k(const std::byte* b, std::int8_t* codes) { two_bits(b + 16, codes); }

// hmask [32], qs [64], scales [12], d. A set mask bit means that nothing is subtracted.
void q3_k_factors(const std::byte* b, SuperFactors& f) {
  const std::byte* packed = b + 96;
  f.d = half(b + 108);
  for (int s = 0; s < 16; ++s) {
    const unsigned low = s < 8 ? u8(packed + s) & 15 : u8(packed + s - 8) >> 4;
    const unsigned high = u8(packed + 8 + s % 4) >> (s / 4 * 2) & 3;
    f.scales[s] = code(low | high << 4, 32);
  }
}

void q3_k(const std::byte* b, std::int8_t* codes) {
  two_bits(b + 32, codes);
  for (unsigned part = 0; part < 8; ++part) add_bits<32>(b, part, 1, 2, codes + 32 * part);
  lower<256>(codes, 4);
}

// d, dmin, then eight 6-bit scales and minima in twelve bytes: the first four of each are plain; the upper bits of the
// others are in the two highest bits of these bytes.
void six_bit_factors(const std::byte* b, SuperFactors& f) {
  const std::byte* packed = b + 4;
  f.d = half(b), f.dmin = half(b + 2);
  for (int s = 0; s < 8; ++s) {
    const unsigned scale = s < 4 ? u8(packed + s) & 63 : (u8(packed + s + 4) & 15) | u8(packed + s - 4) >> 6 << 4;
    const unsigned min = s < 4 ? u8(packed + s + 4) & 63 : u8(packed + s + 4) >> 4 | u8(packed + s) >> 6 << 4;
    f.scales[s] = static_cast<std::int8_t>(scale);
    f.mins[s] = static_cast<std::uint8_t>(min);
  }
}

void q4_k(const std::byte* b, std::int8_t* codes) {
  for (unsigned part = 0; part < 8; ++part) take_bits<32>(b + 16 + part / 2 * 32, part % 2 * 4, 15, codes + 32 * part);
}

void q5_k(const std::byte* b, std::int8_t* codes) {
  for (unsigned part = 0; part < 8; ++part) {
    take_bits<32>(b + 48 + part / 2 * 32, part % 2 * 4, 15, codes + 32 * part);
    add_bits<32>(b + 16, part, 1, 4, codes + 32 * part);
  }
}

// ql [128], qh [64], scales i8 [16], d. Each half of the block: 64 low-nibble bytes serve 128 elements.
void q6_k_factors(const std::byte* b, SuperFactors& f) {
  f.d = half(b + 208);
  for (int s = 0; s < 16; ++s) f.scales[s] = static_cast<std::int8_t>(u8(b + 192 + s));
}

void q6_k(const std::byte* b, std::int8_t* codes) {
  for (unsigned part = 0; part < 2; ++part)
    for (unsigned quarter = 0; quarter < 4; ++quarter) {
      std::int8_t* const to = codes + 128 * part + 32 * quarter;
      take_bits<32>(b + part * 64 + quarter % 2 * 32, quarter / 2 * 4, 15, to);
      add_bits<32>(b + 128 + part * 32, quarter * 2, 3, 4, to);
    }
  lower<256>(codes, 32);
}

// Five ternary digits to a byte, as a fraction of 256: multiply by 3^k, drop the whole part, and the next digit is the
// whole part of 3x.
unsigned trit(const std::byte* byte, unsigned k) {
  constexpr std::array<unsigned, 5> kPowers = {1, 3, 9, 27, 81};
  return (u8(byte) * kPowers[k] & 255) * 3 >> 8;
}

void tq1_0(const std::byte* b, std::int8_t* codes) {
  for (unsigned e = 0; e < 160; ++e) codes[e] = code(trit(b + e % 32, e / 32), 1);
  for (unsigned e = 0; e < 80; ++e) codes[160 + e] = code(trit(b + 32 + e % 16, e / 16), 1);
  for (unsigned e = 0; e < 16; ++e) codes[240 + e] = code(trit(b + 48 + e % 4, e / 4), 1);
}

void mxfp4(const std::byte* b, std::int8_t* codes, float* scales) {
  constexpr std::array<std::int8_t, 16> kTwice = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const unsigned exponent = u8(b);  // half the scale is 2^(exponent - 128)
  scales[0] = exponent < 128 - 24 ? 0.0f : std::bit_cast<float>((exponent - 1) << 23);
  nibbles(b + 1, codes, 0);
  for (int i = 0; i < 32; ++i) codes[i] = kTwice[static_cast<std::uint8_t>(codes[i])];
}

}  // namespace

const BlockLayout& block_layout(DType format) {
  LOOM_ASSERT(is_block_format(format));
  return kLayouts[index(format) - kNumTypes].second;
}

SuperFactors super_factors(DType format, const std::byte* block) {
  SuperFactors f;
  switch (format) {
    case DType::q2_k: q2_k_factors(block, f); break;
    case DType::q3_k: q3_k_factors(block, f); break;
    case DType::q4_k:
    case DType::q5_k: six_bit_factors(block, f); break;
    case DType::q6_k: q6_k_factors(block, f); break;
    case DType::tq1_0: f.d = half(block + 52), f.scales[0] = 1; break;
    case DType::tq2_0: f.d = half(block + 64), f.scales[0] = 1; break;
    default: LOOM_ASSERT(false);
  }
  return f;
}

void unpack_block(DType format, const std::byte* block, std::int8_t* codes, float* scales, float* mins) {
  const BlockLayout& layout = block_layout(format);
  if (!layout.has_min)
    for (std::size_t s = 0; s < layout.sub_blocks(); ++s) mins[s] = 0.0f;
  if (info(format).panel.has_super_blocks()) {
    const SuperFactors f = super_factors(format, block);
    for (std::size_t s = 0; s < layout.sub_blocks(); ++s) {
      scales[s] = f.d * static_cast<float>(f.scales[s]);
      if (layout.has_min) mins[s] = 0.0f - f.dmin * static_cast<float>(f.mins[s]);
    }
  }
  switch (format) {
    case DType::q4_0: scales[0] = half(block); return nibbles(block + 2, codes, 8);
    case DType::q4_1:
      scales[0] = half(block);
      mins[0] = half(block + 2);
      return nibbles(block + 4, codes, 0);
    case DType::q5_0: scales[0] = half(block); return five_bits(block + 2, block + 6, codes, 16);
    case DType::q5_1:
      scales[0] = half(block);
      mins[0] = half(block + 2);
      return five_bits(block + 4, block + 8, codes, 0);
    case DType::q8_0:
      scales[0] = half(block);
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<std::int8_t>(u8(block + 2 + i));
      return;
    case DType::q2_k: return q2_k(block, codes);
    case DType::q3_k: return q3_k(block, codes);
    case DType::q4_k: return q4_k(block, codes);
    case DType::q5_k: return q5_k(block, codes);
    case DType::q6_k: return q6_k(block, codes);
    case DType::tq1_0: return tq1_0(block, codes);
    case DType::tq2_0: return two_bits(block, codes), lower<256>(codes, 1);
    case DType::mxfp4: return mxfp4(block, codes, scales);
    default: return;
  }
}

void decode_block_row(DType format, const std::byte* from, float* to, std::size_t n) {
  const BlockLayout& layout = block_layout(format);
  LOOM_ASSERT(n % layout.elements == 0);
  std::array<std::int8_t, kMaxBlockElements> codes;
  std::array<float, kMaxSubBlocks> scales, mins;
  for (std::size_t done = 0; done < n; done += layout.elements, from += info(format).block_bytes) {
    unpack_block(format, from, codes.data(), scales.data(), mins.data());
    for (std::size_t e = 0; e < layout.elements; ++e) {
      const std::size_t s = e / layout.sub_elements;
      to[done + e] = scales[s] * static_cast<float>(codes[e]) + mins[s];
    }
  }
}

namespace {

// Far above what an f16 scale can hold, so its block saturates in any case, and small enough that no inverse is
// subnormal.
constexpr float kHuge = 0x1p100f;

bool is_no_number(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) == 0x7f800000u; }

// Inputs are snapped and at most kHuge, so a scale is 0 or has a normal, finite inverse.
float inverse(float d) { return d == 0.0f ? 0.0f : 1.0f / d; }

// To the nearest integer, halves away from zero. Without branches, which signs would send either way.
int round_away(float x) {
  const int whole = static_cast<int>(x);
  const float rest = x - static_cast<float>(whole);
  return whole + static_cast<int>(rest >= 0.5f) - static_cast<int>(rest <= -0.5f);
}

void store_half(std::byte* to, float x) { store_le(to, float_to_float16_saturated(x)); }

// Sizes are compared by their bits, which are ordered as they are.
float largest_size(const float* x, std::size_t n) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t size = std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff;
    largest = size > largest ? size : largest;
  }
  return std::bit_cast<float>(largest);
}

void encode_q8_0(const float* x, std::byte* to) {
  const float d = largest_size(x, 32) / 127.0f, id = inverse(d);
  store_half(to, d);
  for (int i = 0; i < 32; ++i) to[2 + i] = static_cast<std::byte>(round_away(x[i] * id));
}

// Truncation after adding half; the top code is clamped.
template <class Scaled>
void pack_nibbles(std::byte* to, Scaled scaled) {
  const auto q = [&](int i) {
    const float c = scaled(i);
    return c < 15.0f ? static_cast<unsigned>(c) : 15u;  // never below zero by construction
  };
  for (int i = 0; i < 16; ++i) to[i] = static_cast<std::byte>(q(i) | q(i + 16) << 4);
}

void encode_q4_0(const float* x, std::byte* to) {
  const float m = largest_size(x, 32);
  float extreme = 0;  // the first element of largest size, with its sign, gets code -8
  for (int i = 31; i >= 0; --i)
    if (x[i] == m || x[i] == -m) extreme = x[i];
  const float d = extreme / -8.0f, id = inverse(d);
  store_half(to, d);
  pack_nibbles(to + 2, [&](int i) { return x[i] * id + 8.5f; });
}

void encode_q4_1(const float* x, std::byte* to) {
  float low = x[0], high = x[0];
  for (int i = 1; i < 32; ++i) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  const float d = (high - low) / 15.0f, id = inverse(d);
  store_half(to, d);
  store_half(to + 2, low);
  pack_nibbles(to + 4, [&](int i) { return (x[i] - low) * id + 0.5f; });
}

void encode_tq2_0(const float* x, std::byte* to) {
  const float d = largest_size(x, 256), id = inverse(d);
  for (int byte = 0; byte < 64; ++byte) {
    unsigned packed = 0;
    for (int k = 0; k < 4; ++k)
      packed |= static_cast<unsigned>(round_away(x[byte / 32 * 128 + k * 32 + byte % 32] * id) + 1) << (2 * k);
    to[byte] = static_cast<std::byte>(packed);
  }
  store_half(to + 64, d);
}

}  // namespace

Result<void> encode_block_row(DType format, std::span<const float> from, std::byte* to) {
  void (*encode)(const float*, std::byte*) = format == DType::q8_0    ? encode_q8_0
                                             : format == DType::q4_0  ? encode_q4_0
                                             : format == DType::q4_1  ? encode_q4_1
                                             : format == DType::tq2_0 ? encode_tq2_0
                                                                      : nullptr;
  if (!encode) return fail(Code::Unsupported, "{} cannot be written; q8_0, q4_0, q4_1 and tq2_0 can", name(format));
  const std::size_t elements = info(format).block_elements;
  if (from.size() % elements != 0)
    return fail(Code::ShapeMismatch, "a row of {} elements is no multiple of the {} of a {} block", from.size(),
                elements, name(format));
  std::array<float, kMaxBlockElements> block;
  for (std::size_t done = 0; done < from.size(); done += elements, to += info(format).block_bytes) {
    std::uint32_t broken = 0;
    for (std::size_t e = 0; e < elements; ++e) {
      const float x = snap(from[done + e]);
      broken |= static_cast<std::uint32_t>(is_no_number(x));
      block[e] = x > kHuge ? kHuge : x < -kHuge ? -kHuge : x;
    }
    for (std::size_t e = 0; broken != 0 && e < elements; ++e)
      if (is_no_number(from[done + e])) return fail(Code::NonFinite, "element {} is not finite", done + e);
    encode(block.data(), to);
  }
  return {};
}

}  // namespace loom
