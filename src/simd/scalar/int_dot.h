#pragma once
// Integer dots of one panel slice in plain C++: the definition that the other targets' versions equal.
// A slice is kRegisterLanes rows of a 16-row panel; chunk j (64 bytes apart) holds four codes of each row.

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

// Each target chooses the place of each of four inputs among the words.
inline constexpr int kWordOrder[4] = {0, 1, 2, 3};
// Each target also chooses whether codes may meet int16 inputs in dot_words() rather than as two digits.
inline constexpr bool kPrefersWords = false;
// Whether dot_pairs() multiplies two rows of int8 inputs at once, or both digits of int16 inputs.
inline constexpr bool kHasPairs = false;
// Whether floats_of() is an instruction, by way of which other small floats are decoded too.
inline constexpr bool kConvertsHalfs = false;

// Four codes of each row in a word: sum of code * x over the words' columns. Codes are unsigned and at most `Most`.
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  native::I32 out{};
  for (std::size_t r = 0; r < kRegisterLanes; ++r)
    for (int i = 0; i < Words; ++i)
      for (int b = 0; b < 4; ++b) out[r] += static_cast<std::int32_t>(w[i][r] >> 8 * b & 255) * x[4 * i + b];
  return out;
}
// Like dot() above, of q = 255 * high + low.
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return 255 * dot_codes<Most>(w, high) + dot_codes<Most>(w, low);
}

// Bytes below 16, each exchanged for the entry of the table.
LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  native::U32 out{};
  for (std::size_t r = 0; r < kRegisterLanes; ++r)
    for (int b = 0; b < 4; ++b) out[r] |= static_cast<std::uint32_t>(table[words[r] >> 8 * b & 15]) << 8 * b;
  return out;
}

// 32 signed bytes of each row: byte b of row r in chunk j is index 4j+b.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) : codes_(reinterpret_cast<const std::int8_t*>(codes)) {}

  // Sum of code * x over 32; `sum` is that of the inputs.
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    native::I32 out{};
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      out[r] = 0;
      for (int i = 0; i < 32; ++i) out[r] += codes_[64 * (i / 4) + 4 * r + i % 4] * x[i];
    }
    return out;
  }

 private:
  const std::int8_t* codes_;
};

// The same bytes against int16 inputs in the order of kWordOrder.
class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) : codes_(reinterpret_cast<const std::int8_t*>(codes)) {}

  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    native::I32 out{};
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      out[r] = 0;
      for (int i = 0; i < 32; ++i) out[r] += codes_[64 * (i / 4) + 4 * r + kWordOrder[i % 4]] * x[i];
    }
    return out;
  }
  // The kernels for one row of inputs call this, since nothing is worth holding in registers.
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return WordSlice(codes).dot(x);
  }

 private:
  const std::int8_t* codes_;
};

// Halfs in a register, and E2M1 in the low four bits of each lane.
LOOM_INLINE native::F32 floats_of(native::Halfs h) { return half_to_float(__builtin_convertvector(h, native::I32)); }
LOOM_INLINE native::F32 fp4_values(native::I32 codes) { return fp4_by_bits(codes); }

// Unsigned bytes, one to a lane.
LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  native::I32 v{};
  for (std::size_t i = 0; i < kRegisterLanes; ++i) v[i] = static_cast<std::uint8_t>(p[i]);
  return v;
}

}  // namespace loom::inline LOOM_TARGET
