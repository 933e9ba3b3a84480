#pragma once
// The inner loop of every f32 contraction: T inputs against one panel of sixteen outputs, chain64 (docs/numerics.md).

#include "dtypes/panel_codecs.h"
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

// Inputs that share one pass over a panel: enough independent chains to hide the latency of an add, few enough for the registers.
inline constexpr int kTileTokens = kRegisters == 1 ? 12 : kRegisters == 2 ? 6 : kRegisters == 4 ? 3 : 1;

// Bytes asked for ahead of use: with the hardware's own prefetch alone a Zen 3 core decodes a fifth slower.
inline constexpr std::size_t kAhead = 2048;

// total[t] += the 64-term blocks of panel columns [begin, end), ascending; begin is a multiple of 64.
template <class Codec, int T>
LOOM_INLINE void tile(const std::byte* panel, std::size_t begin, std::size_t end, const float* x, std::size_t x_stride, F32x16 (&total)[T]) {
  const std::byte* w = panel + begin * Codec::kColumnBytes;
  std::size_t c = begin;
  if constexpr (T == 1) {
    // Two blocks side by side: their sums are independent, and are added in order.
    for (; c + 128 <= end; c += 128) {
      F32x16 first = zero(), second = zero();
      for (std::size_t i = c; i < c + 64; ++i, w += Codec::kColumnBytes) {
        __builtin_prefetch(w + kAhead);
        __builtin_prefetch(w + 64 * Codec::kColumnBytes + kAhead);
        first = first + Codec::decode16(w) * splat(x[i]);
        second = second + Codec::decode16(w + 64 * Codec::kColumnBytes) * splat(x[i + 64]);
      }
      w += 64 * Codec::kColumnBytes;
      total[0] = total[0] + first;
      total[0] = total[0] + second;
    }
  }
  while (c < end) {
    const std::size_t stop = end - c < 64 ? end : c + 64;
    F32x16 block[T];
    for (int t = 0; t < T; ++t) block[t] = zero();
    for (; c < stop; ++c, w += Codec::kColumnBytes) {
      const F32x16 weight = Codec::decode16(w);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) block[t] = block[t] + weight * splat(x[t * x_stride + c]);
    }
    for (int t = 0; t < T; ++t) total[t] = total[t] + block[t];
  }
}

// Calls f<T>() for the T in 1..Max that equals n.
template <int Max, class F>
LOOM_INLINE void with_count(int n, F&& f) {
  if constexpr (Max == 1) {
    f.template operator()<1>();
  } else {
    if (n == Max)
      f.template operator()<Max>();
    else
      with_count<Max - 1>(n, static_cast<F&&>(f));
  }
}

}  // namespace loom::inline LOOM_TARGET
