#pragma once
// The inner loop of every contraction of floats: rows of a against one panel of sixteen columns by chain64
// (docs/internals/numerics.md), f32 or f64.

#include "simd/fused.h"

namespace loom::inline LOOM_TARGET {

// Rows that share one pass over a panel: chains enough to hide the latency of an add, few enough for the registers.
template <class T>
inline constexpr int kTile = [] {
  constexpr std::size_t registers = sizeof(T) == 8 ? kRegisters64 : kRegisters;
#if defined(__wasm__)
  constexpr int kOfFour = 2;  // V8 keeps one of sixteen registers and loads all factors of a step first: three spill
#else
  constexpr int kOfFour = 3;
#endif
  return registers == 1 ? 12 : registers == 2 ? 6 : registers == 4 ? kOfFour : 1;
}();

// Panels (or tiles of positions) that go by side by side: where sixteen lanes are one register there are thirty-two of
// them, and each row's broadcast number meets two products, so that loads do not hold the products up.
template <class T>
inline constexpr int kSide = kTile<T> == 12 ? 2 : 1;

// Calls f<N>() for the N in 1..Max that equals n.
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

// The left factor: a[r, k] = data[r * row + k * step].
template <class T>
struct Factor {
  const T* data;
  std::size_t row, step = 1;

  LOOM_INLINE Factor at(std::size_t r, std::size_t k) const { return {data + r * row + k * step, row, step}; }
};

// The number at p for several products, read as an integer: a float that is broadcast into 512 bits takes a multiplier
// of a Zen 4 for itself, which costs a third of the speed. For one product splat(*p) is an operand and free.
LOOM_INLINE F32x16 splat_at(const float* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return as_float(splat(word));
}
LOOM_INLINE F64x16 splat_at(const double* p) {
  std::int64_t word;
  __builtin_memcpy(&word, p, sizeof word);
  F64x16 v;
  for (auto& r : v.r) r = (native::F64)(word - native::I64{});
  return v;
}

// The start of the panel that is read after this one, and the distance of its columns.
struct NextPanel {
  const std::byte* from = nullptr;
  std::size_t column_bytes = 0;
  std::size_t panel_bytes = 0;  // to the one beside it, where panels go side by side
};

// total[r][16] += the blocks of kChain terms of sum_k a[r, k] panel[k][16], ascending, for r < N. With kRuns the blocks
// are runs of `run` terms, at most kChain, and the total is snapped after each. With kAsks the panel that is read next,
// far away, is asked for. With kFused products, which are exact in f32 then, are fused with their sums. A function of
// its own, with its totals in memory: inlined among others the compiler keeps the wrong values in registers, which
// costs half the speed.
template <class T, int N, bool kRuns = false, bool kAsks = false, bool kFused = false>
[[gnu::noinline]] void add_chain(const T* panel, Factor<T> a, std::size_t terms, T* total, std::size_t run = kChain,
                                 NextPanel next = {}) {
  const T* from = a.data;
  while (terms != 0) {
    const std::size_t most = kRuns ? run : kChain, count = terms < most ? terms : most;
    Lanes<T> block[N];
    for (int t = 0; t < N; ++t) block[t] = zeros<T>();
    for (std::size_t k = 0; k < count; ++k, panel += kLanes, from += a.step) {
      if constexpr (kAsks) __builtin_prefetch(next.from), next.from += next.column_bytes;
      const Lanes<T> b = load(panel);
#pragma GCC unroll 16
      for (int t = 0; t < N; ++t) {
        const T* const factor = from + static_cast<std::size_t>(t) * a.row;
        block[t] = add_product<kFused>(block[t], b, kSide<T> > 1 ? splat(*factor) : splat_at(factor));
      }
    }
    for (int t = 0; t < N; ++t) {
      const Lanes<T> sum = load(total + t * kLanes) + block[t];
      store(total + t * kLanes, kRuns ? snap(sum) : sum);
    }
    __asm__ volatile("" ::: "memory");
    terms -= count;
  }
}

// Rows of a tile of so many panels.
template <class T, int P>
inline constexpr int kTileOf = P == 1 ? kTile<T> : 8;

// add_chain() for P panels, `apart` numbers from each other, and their totals, `totals_apart` numbers from each other.
template <class T, int N, int P, bool kRuns = false, bool kAsks = false, bool kFused = false>
[[gnu::noinline]] void add_chains(const T* panels, std::size_t apart, Factor<T> a, std::size_t terms, T* totals,
                                  std::size_t totals_apart, std::size_t run = kChain, NextPanel next = {}) {
  const T* from = a.data;
  while (terms != 0) {
    const std::size_t most = kRuns ? run : kChain, count = terms < most ? terms : most;
    Lanes<T> block[N][P];
#pragma GCC unroll 16
    for (int t = 0; t < N; ++t)
      for (int p = 0; p < P; ++p) block[t][p] = zeros<T>();
    for (std::size_t k = 0; k < count; ++k, panels += kLanes, from += a.step) {
      if constexpr (kAsks) {
        for (std::size_t p = 0; p < P; ++p) __builtin_prefetch(next.from + p * next.panel_bytes);
        next.from += next.column_bytes;
      }
      Lanes<T> b[P];
      for (int p = 0; p < P; ++p) b[p] = load(panels + static_cast<std::size_t>(p) * apart);
#pragma GCC unroll 16
      for (int t = 0; t < N; ++t) {
        const Lanes<T> factor = splat_at(from + static_cast<std::size_t>(t) * a.row);
#pragma GCC unroll 2
        for (int p = 0; p < P; ++p) block[t][p] = add_product<kFused>(block[t][p], b[p], factor);
      }
    }
#pragma GCC unroll 16
    for (int t = 0; t < N; ++t)
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) {
        T* const total = totals + static_cast<std::size_t>(p) * totals_apart + t * kLanes;
        const Lanes<T> sum = load(total) + block[t][p];
        store(total, kRuns ? snap(sum) : sum);
      }
    __asm__ volatile("" ::: "memory");
    terms -= count;
  }
}

// f(first row, N as a constant) over tiles of like size: a small rest would leave too few chains.
template <class T, int Most = kTile<T>, class F>
LOOM_INLINE void for_tiles(std::size_t rows, F&& f) {
  const std::size_t tiles = (rows + Most - 1) / Most;
  for (std::size_t i = 0, first = 0; i < tiles; ++i) {
    const std::size_t last = (i + 1) * rows / tiles;
    with_count<Most>(static_cast<int>(last - first), [&]<int N>() { f.template operator()<N>(first); });
    first = last;
  }
}

}  // namespace loom::inline LOOM_TARGET
