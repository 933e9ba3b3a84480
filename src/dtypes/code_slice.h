#pragma once
// Unsigned codes of up to six bits of one panel slice (layout: dtypes/panel.h), each in a byte of a register; signed
// bytes too, for dots(). A slice is kRegisterLanes rows of a 16-row panel.

#include "dtypes/panel.h"
#include "int_dot.h"  // of the target, on the include path

namespace loom::inline LOOM_TARGET {

// Codes 4i to 4i + 3 of each row from a plane of `Bits` bits, from bit `At` on.
template <int Bits, int At>
LOOM_INLINE native::U32 plane_word(const std::byte* plane, int i) {
  constexpr std::uint32_t kMask = (std::uint32_t{1} << Bits) - 1;
  const auto word = (native::U32) * reinterpret_cast<const native::I32Memory*>(plane + 64 * (i % Bits));
  const int shift = i / Bits * Bits - At;  // what crosses a byte is masked out
  return (shift < 0 ? word << -shift : word >> shift) & kMask * 0x01010101u << At;
}

// Codes 4i to 4i + 3 of each row, whichever planes hold them.
template <int Bits>
LOOM_INLINE native::U32 code_word(const std::byte* codes, int i) {
  constexpr int kLow = static_cast<int>(low_plane_bits(Bits));
  native::U32 word = plane_word<kLow, 0>(codes, i);
  if constexpr (Bits > kLow) word |= plane_word<Bits - kLow, kLow>(codes + 64 * kLow, i);
  return word;
}

// `Words` times four columns, from column `First` on. Nibbles may be E2M1: they become what kTwiceFp4 has for them.
template <int Bits, bool IsFp4 = false, int Words = 8, int First = 0>
class CodeSlice {
 public:
  LOOM_INLINE explicit CodeSlice(const std::byte* codes) {
#pragma GCC unroll 8
    for (int i = 0; i < Words; ++i) {
      w_[i] = code_word<Bits>(codes, First / 4 + i);
      if constexpr (IsFp4) w_[i] = look_up(kTwiceFp4, w_[i]);
    }
  }
  // Sum of code * x over the columns, x beginning at the first of them.
  LOOM_INLINE native::I32 dot(const std::int8_t* x) const { return dot_codes<kMost>(w_, x); }
  // Like dot() above, of q = 255 * high + low.
  LOOM_INLINE native::I32 dot(const std::int8_t* high, const std::int8_t* low) const {
    return dot_codes<kMost>(w_, high, low);
  }
  // Like dot() above, of int16 inputs in the order of kWordOrder, where the target has kPrefersWords.
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const { return dot_words(w_, x); }
  // The dots with two vectors of inputs in alternating eights, where the target has kHasPairs.
  LOOM_INLINE auto dots(const std::int8_t* x) const { return dot_pairs(w_, x); }

 private:
  static constexpr int kMost = IsFp4 ? 24 : (1 << Bits) - 1;

  native::U32 w_[Words];
};

}  // namespace loom::inline LOOM_TARGET
