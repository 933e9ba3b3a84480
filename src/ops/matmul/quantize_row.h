#pragma once
// Quantises the inputs of a product with codes. A part of matmul_cpu.cpp.

#include "ops/matmul/matmul.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// f of all lanes, in which their order makes no difference, by halves.
template <class F>
LOOM_INLINE std::int32_t over_lanes(const I32x16& v, F f) {
  using Eight [[gnu::vector_size(32), gnu::may_alias]] = std::int32_t;
  alignas(64) std::int32_t q[kLanes];
  store(q, v);
  const Eight eight = f(*reinterpret_cast<const Eight*>(q), *reinterpret_cast<const Eight*>(q + 8));
  const auto four =
      f(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  const auto two = f(four, __builtin_shufflevector(four, four, 2, 3, 2, 3));
  return f(two, __builtin_shufflevector(two, two, 1, 0, 1, 0))[0];
}

// The largest size; NaN when an element is, so that the scale carries it on to every output. Sizes are compared by
// their bits, which are ordered as they are, NaN above all: such a maximum has no order either.
float largest_of(const float* x, std::size_t n) {
  I32x16 top = zero_i();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const I32x16 size = bits(abs(lanes.load(x + i)));
    top = select(size > top, size, top);
  });
  std::int32_t largest = over_lanes(top, [](auto a, auto b) { return a > b ? a : b; });
  if (largest > 0x7f800000) largest = static_cast<std::int32_t>(kQuietNan);
  return __builtin_bit_cast(float, largest);
}

// q = clamp(rne(x * (top / largest)), -top, top). Rows that hold NaN or infinity give codes 0 and a scale that is not
// finite.
LOOM_INLINE I32x16 codes_of(const F32x16& x, float inverse, float top) {
  const F32x16 scaled = x * splat(inverse);
  const F32x16 clamped = max(min(scaled, splat(top)), splat(-top));
  return round_to_int(select(is_nan(scaled), zero(), clamped));
}

std::int32_t sum_of(const I32x16& v) {
  return over_lanes(v, [](auto a, auto b) { return a + b; });
}

// Sixteen numbers that fit a narrower type: a loop over memory, which compilers make better code of than of a
// conversion of vectors.
template <class Code>
LOOM_INLINE void store_narrow(Code* to, const I32x16& v) {
  alignas(64) std::int32_t q[kLanes];
  store(q, v);
  for (std::size_t i = 0; i < kLanes; ++i) to[i] = static_cast<Code>(q[i]);
}

LOOM_INLINE void reorder_words(std::int16_t* words) {
  using Sixteen [[gnu::vector_size(32), gnu::aligned(32), gnu::may_alias]] = std::int16_t;
  constexpr int a = kWordOrder[0], b = kWordOrder[1], c = kWordOrder[2], d = kWordOrder[3];
  if constexpr (a == 0 && b == 1 && c == 2) return;
  const Sixteen w = *reinterpret_cast<const Sixteen*>(words);
  *reinterpret_cast<Sixteen*>(words) = __builtin_shufflevector(w, w, a, b, c, d, 4 + a, 4 + b, 4 + c, 4 + d, 8 + a,
                                                               8 + b, 8 + c, 8 + d, 12 + a, 12 + b, 12 + c, 12 + d);
}

constexpr float kTop8 = 127.0f, kTop16 = 32512.0f;

// Sixteen inputs of a block as one vector of QuantizedBlock::pairs.
LOOM_INLINE void store_eights(std::int8_t* to, const I32x16& v) {
  std::int8_t q[kLanes];
  store_narrow(q, v);
  __builtin_memcpy(to, q, 8);
  __builtin_memcpy(to + 16, q + 8, 8);
}

// The place of a row's first inputs among pairs, null where they are not in pairs.
LOOM_INLINE std::int8_t* first_of_pairs(const QuantizedRows& rows, std::size_t row, QuantizedBlock* block) {
  if (!kHasPairs || !rows.in_pairs) return nullptr;
  if (rows.form != InputForm::Codes || row % 2 == 0) return block->pairs;
  return (block - rows.blocks)->pairs + 8;
}

// Sixteen elements, one half of a block; returns the sum of their q.
LOOM_INLINE std::int32_t quantize16(const float* x, float inverse, InputForm form, std::size_t half,
                                    QuantizedBlock& out, std::int8_t* pairs) {
  const I32x16 q = codes_of(load(x), inverse, form == InputForm::Codes ? kTop8 : kTop16);
  if (form == InputForm::Codes && pairs != nullptr) {
    store_eights(pairs + half * 32, q);
  } else if (form == InputForm::Codes) {
    store_narrow(out.high + half * 16, q);
  } else if (form == InputForm::Words && pairs == nullptr) {
    store_narrow(out.words + half * 16, q);
    reorder_words(out.words + half * 16);
  } else {
    const I32x16 digit = round_to_int(to_float(q) * splat(1.0f / kDigit));  // 255 is odd: never half-way
    const I32x16 rest = q - digit * splat(kDigit);
    if (pairs != nullptr) {
      store_eights(pairs + half * 32, digit);
      store_eights(pairs + half * 32 + 8, rest);
    } else {
      store_narrow(out.high + half * 16, digit);
      store_narrow(out.low + half * 16, rest);
    }
  }
  return sum_of(q);
}

void quantize_row(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out) {
  const float top = out.form == InputForm::Codes ? kTop8 : kTop16;
  float inverse = 0, scale = 0;
  const std::size_t span = out.scale_cols == 0 ? cols : out.scale_cols;
  const auto set_scale = [&](const float* from, std::size_t n) {
    float largest = largest_of(from, n);
    if (largest < out.floor) largest = out.floor;
    inverse = largest == 0 ? 0.0f : top / largest;
    scale = largest == 0 ? 0.0f : largest / top;
  };
  QuantizedBlock* block = out.row(row);
  for (std::size_t c = 0; c < cols; c += kBlockCols, ++block) {
    if (c % span == 0) set_scale(x + c, cols - c < span ? cols - c : span);
    if (c == 0 && out.splits_scale) out.row_scales[row] = scale, scale = 1;
    alignas(64) float padded[kBlockCols] = {};
    const float* from = x + c;
    if (cols - c < kBlockCols) {
      for (std::size_t i = 0; i < cols - c; ++i) padded[i] = from[i];
      from = padded;
    }
    std::int8_t* const pairs = first_of_pairs(out, row, block);
    const std::int32_t first = quantize16(from, inverse, out.form, 0, *block, pairs),
                       second = quantize16(from + 16, inverse, out.form, 1, *block, pairs);
    block->scale = scale;
    block->sum = first + second;
    block->sums16[0] = first;
    block->sums16[1] = second;
    block->scaled = scale * static_cast<float>(first + second);
    block->scaled16[0] = scale * static_cast<float>(first);
    block->scaled16[1] = scale * static_cast<float>(second);
  }
}

}  // namespace
}  // namespace loom::inline LOOM_TARGET
