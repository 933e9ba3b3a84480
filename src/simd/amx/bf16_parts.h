#pragma once
// Integers as sums of two bfloat16, which have 8 bits each: q = high + low, high a multiple of 256 with |q| <= 32 640,
// low in -128..127.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

namespace detail {
using Halves [[gnu::vector_size(64), gnu::may_alias]] = std::uint16_t;

// The upper halves of sixteen integers as f32, which are all that they have where eight bits say them.
LOOM_INLINE native::U32 upper_halves(native::I32 v) {
  return (native::U32) __builtin_convertvector(v, native::F32) >> 16;
}
}  // namespace detail

// The parts of columns 0, 2, 1, 3, 4, 6, 5, 7 ..: Bf16Pairs have weights in the same order.
LOOM_INLINE void store_bf16_parts(native::I32 q, bool in_order, std::uint16_t* high, std::uint16_t* low) {
  const auto store = [in_order](native::I32 part, std::uint16_t* to) {
    auto upper = (__m512i)detail::upper_halves(part);
    if (in_order) upper = _mm512_maskz_shuffle_epi32(0xffff, upper, _MM_PERM_DBCA);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xffff, upper));
  };
  const native::I32 top = (q + 128) & ~255;
  store(top, high);
  store(q - top, low);
}

// Four columns' codes of sixteen rows as bfloat16: the first and third of each row, then the second and fourth.
struct Bf16Pairs {
  native::U32 even, odd;
};

// Makes them by a table from codes below 32 or 64, in bytes.
template <int Entries>
class Bf16Table {
 public:
  template <class F>
  constexpr explicit Bf16Table(F value) {
    for (int i = 0; i < Entries; ++i)
      entries_[i] = static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, static_cast<float>(value(i))) >> 16);
  }
  LOOM_INLINE Bf16Pairs operator()(native::U32 codes) const {
    return {look_up((__m512i)codes), look_up((__m512i)((detail::Halves)codes >> 8))};
  }

 private:
  // The instructions read no more bits of an index than the table needs.
  LOOM_INLINE native::U32 look_up(__m512i at) const {
    const __m512i first = _mm512_load_si512(entries_);
    if constexpr (Entries == 32)
      return (native::U32)_mm512_maskz_permutexvar_epi16(0xffffffff, at, first);
    else
      return (native::U32)_mm512_permutex2var_epi16(first, at, _mm512_load_si512(entries_ + 32));
  }
  static_assert(Entries == 32 || Entries == 64);

  alignas(64) std::uint16_t entries_[Entries] = {};
};

// Makes them from signed bytes.
LOOM_INLINE Bf16Pairs bf16_of_bytes(native::U32 codes) {
  const auto number = [codes](int byte) {
    return (native::U32) __builtin_convertvector((native::I32)(codes << (24 - 8 * byte)) >> 24, native::F32);
  };
  const auto pair = [&](int first) { return (number(first) >> 16) | (number(first + 2) & 0xffff0000); };
  return {pair(0), pair(1)};
}

}  // namespace loom::inline LOOM_TARGET
