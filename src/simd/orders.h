#pragma once
// The contract of docs/internals/numerics.md in code, its only copy: what every stored value passes (snap) and the two
// orders of sums (chain64, lanes16). For one number at a time everywhere; simd.h, simd64.h and rows.h have the same
// names for sixteen lanes. A kernel that keeps an order in a loop of its own, for its tiles' sake, takes the constants
// from this file.

#include <cstddef>
#include <cstdint>

// Functions that kernels include too are in an inline namespace named after the target, so that objects compiled with
// different instruction sets can be linked together. Other files see the plain ones.
#ifndef LOOM_TARGET
#define LOOM_TARGET host
#define LOOM_REGISTER_BYTES 4
#endif
#define LOOM_INLINE inline __attribute__((always_inline))

namespace loom {

inline constexpr std::size_t kLanes = 16;  // accumulators of lanes16, and lanes of a logical vector
inline constexpr std::size_t kChain = 64;  // terms of a block of chain64
// elements of a block of lanes16: each lane is a chain64 of its own
inline constexpr std::size_t kLaneBlock = kLanes * kChain;
// samples whose part of a weight's gradient is one sum (engine, numerics N-05)
inline constexpr std::size_t kSampleBlock = 16;

inline constexpr float kSnap = 0x1p-51f;
inline constexpr double kSnap64 = 0x1p-485;
inline constexpr std::uint32_t kQuietNan = 0x7fc00000u;
inline constexpr std::uint64_t kQuietNan64 = 0x7ff8000000000000u;

}  // namespace loom

namespace loom::inline LOOM_TARGET {

// Smaller than kSnap in size, and -0: +0. NaN: the one quiet NaN. By integers, which compilers compare four at a time
// on any machine.
LOOM_INLINE float snap(float x) {
  const std::uint32_t size = __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffu;
  if (size < __builtin_bit_cast(std::uint32_t, kSnap)) return 0.0f;
  return size > 0x7f800000u ? __builtin_bit_cast(float, kQuietNan) : x;
}
LOOM_INLINE double snap(double x) {
  if (x != x) return __builtin_bit_cast(double, kQuietNan64);
  return (x < 0 ? -x : x) < kSnap64 ? 0.0 : x;
}

// total + term(begin) + ... + term(end - 1) by chain64, blocks counted from begin; V is a number or lanes of them.
template <class V, class F>
LOOM_INLINE V chain64(std::size_t begin, std::size_t end, F&& term, V total = {}) {
  while (begin < end) {
    const std::size_t stop = end - begin < kChain ? end : begin + kChain;
    V block{};
    for (; begin < stop; ++begin) block = block + term(begin);
    total = total + block;
  }
  return total;
}

// chain64 of terms that come one by one with their indices, ascending; some may be left out.
template <class V>
class Chain64 {
 public:
  LOOM_INLINE void add(std::size_t index, const V& term) {
    if (index / kChain != block_index_) {
      total_ = total_ + block_;
      block_ = V{};
      block_index_ = index / kChain;
    }
    block_ = block_ + term;
  }
  LOOM_INLINE V total() const { return total_ + block_; }

 private:
  V total_{}, block_{};
  std::size_t block_index_ = 0;
};

// The fixed fold of sixteen lanes.
template <class T>
LOOM_INLINE T fold(T (&lanes)[kLanes]) {
  for (std::size_t n = kLanes / 2; n != 0; n /= 2)
    for (std::size_t j = 0; j < n; ++j) lanes[j] = lanes[j] + lanes[j + n];
  return lanes[0];
}

// term(0) + ... + term(n - 1) by lanes16.
template <class T, class F>
LOOM_INLINE T lanes16(std::size_t n, F&& term) {
  alignas(64) T total[kLanes] = {};
  for (std::size_t first = 0; first < n; first += kLaneBlock) {
    alignas(64) T block[kLanes] = {};
    const std::size_t end = n - first < kLaneBlock ? n : first + kLaneBlock;
    std::size_t i = first;
    for (; i + kLanes <= end; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) block[j] = block[j] + term(i + j);
    for (std::size_t j = 0; i + j < end; ++j) block[j] = block[j] + term(i + j);
    for (std::size_t j = 0; j < kLanes; ++j) total[j] = total[j] + block[j];
  }
  return fold(total);
}

}  // namespace loom::inline LOOM_TARGET
