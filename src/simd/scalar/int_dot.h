#pragma once
// Integer dots of one panel slice in plain C++: the definition that the other targets' versions equal.
// A slice is kRegisterLanes rows of a 16-row panel; chunk j (64 bytes apart) holds four codes of each row.

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

// Which of four inputs lies where among the words: a target's own choice.
inline constexpr int kWordOrder[4] = {0, 1, 2, 3};

// 32 unsigned codes of 4, 2 or 1 bits of each row: code k, from the low end, of byte b of row r in chunk j is index 4(k*Bits+j)+b.
template <int Bits>
class CodeSlice {
 public:
  LOOM_INLINE explicit CodeSlice(const std::byte* codes) : codes_(reinterpret_cast<const std::uint8_t*>(codes)) {}

  // Sum of code * x over 32.
  LOOM_INLINE native::I32 dot(const std::int8_t* x) const {
    native::I32 out{};
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      std::int32_t sum = 0;
      for (int j = 0; j < Bits; ++j)
        for (int k = 0; k < 8 / Bits; ++k)
          for (int b = 0; b < 4; ++b) sum += (codes_[64 * j + 4 * r + b] >> (k * Bits) & ((1 << Bits) - 1)) * x[4 * (k * Bits + j) + b];
      out[r] = sum;
    }
    return out;
  }
  // The same of q = 255 * high + low.
  LOOM_INLINE native::I32 dot(const std::int8_t* high, const std::int8_t* low) const { return 255 * dot(high) + dot(low); }

 private:
  const std::uint8_t* codes_;
};

// N (16 or 32) signed bytes of each row: byte b of row r in chunk j is index 4j+b.
template <int N>
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) : codes_(reinterpret_cast<const std::int8_t*>(codes)) {}

  // Sum of code * x over N; `sum` is that of the N inputs.
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    native::I32 out{};
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      out[r] = 0;
      for (int i = 0; i < N; ++i) out[r] += codes_[64 * (i / 4) + 4 * r + i % 4] * x[i];
    }
    return out;
  }

 private:
  const std::int8_t* codes_;
};

// The same bytes against int16 inputs in the order of kWordOrder.
template <int N>
class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) : codes_(reinterpret_cast<const std::int8_t*>(codes)) {}

  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    native::I32 out{};
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      out[r] = 0;
      for (int i = 0; i < N; ++i) out[r] += codes_[64 * (i / 4) + 4 * r + kWordOrder[i % 4]] * x[i];
    }
    return out;
  }
  // For one row of inputs.
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) { return WordSlice(codes).dot(x); }

 private:
  const std::int8_t* codes_;
};

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  native::I32 h{};
  for (std::size_t i = 0; i < kRegisterLanes; ++i) h[i] = p[i];
  return half_to_float(h);
}

// Unsigned bytes, one to a lane.
LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  native::I32 v{};
  for (std::size_t i = 0; i < kRegisterLanes; ++i) v[i] = static_cast<std::uint8_t>(p[i]);
  return v;
}

}  // namespace loom::inline LOOM_TARGET
