#include "ops/chain.h"
#include "ops/conv/conv.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
LOOM_INLINE void store_lanes(const ConvTile<T>& tile, T* y, const Lanes<T>& v) {
  if (tile.skip == 0 && tile.count == kLanes) return store(y, v);
  alignas(64) T lanes[kLanes];
  store(lanes, v);
  for (std::size_t i = tile.skip; i < tile.count; ++i) y[i] = lanes[i];
}

// Returns the value that is stored for a sum; `bias` is a filter's, or null.
template <class T>
LOOM_INLINE Lanes<T> with_bias(const Lanes<T>& total, const T* bias) {
  const Lanes<T> sum = snap(total);
  return bias != nullptr ? snap(sum + splat(*bias)) : sum;
}

template <class T>
LOOM_INLINE void finish(const ConvTask<T>& task, std::size_t filter, const ConvTile<T>& tile, const Lanes<T>& total) {
  const T* const bias = task.bias != nullptr ? task.bias + filter : nullptr;
  store_lanes(tile, task.y + filter * task.positions + tile.to, with_bias(total, bias));
}

// Blocks of a task's chain: terms from `begin` on, up to each of the ends.
struct Blocks {
  std::size_t begin;
  const std::size_t *ends, *last;
};

// total[N][P][16] += the blocks for N filters and P tiles; the first block of a chain is the total, and after the last
// one it is written to y.
template <class T, int N, int P>
[[gnu::noinline]] void add_blocks(const ConvTask<T>& task, std::size_t filter, const ConvTile<T>* tiles,
                                  const Blocks& blocks, T* total) {
  const T* from[P];
  for (int p = 0; p < P; ++p) from[p] = tiles[p].from;
  const std::size_t terms = task.k;
  const T* const w = task.w + filter * terms;
  const std::size_t* offsets = task.offsets;
  std::size_t k = blocks.begin;
  bool is_first = k == 0;
  for (const std::size_t* end = blocks.ends; end != blocks.last; ++end) {
    Lanes<T> block[N][P];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n)
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) block[n][p] = zeros<T>();
    for (; k < *end; ++k) {
      const std::size_t offset = offsets[k];
      const auto factor = [&](int n) { return splat_at(w + static_cast<std::size_t>(n) * terms + k); };
      if constexpr (kSide<T> > 1) {
        Lanes<T> x[P];
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) x[p] = load(from[p] + offset);
#pragma GCC unroll 16
        for (int n = 0; n < N; ++n) {
          const Lanes<T> v = factor(n);
#pragma GCC unroll 16
          for (int p = 0; p < P; ++p) block[n][p] = block[n][p] + x[p] * v;
        }
      } else {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          const Lanes<T> x = load(from[p] + offset);
#pragma GCC unroll 16
          for (int n = 0; n < N; ++n) block[n][p] = block[n][p] + x * factor(n);
        }
      }
    }
    const bool is_last = k == terms;
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n)
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) {
        T* const sum = total + (n * P + p) * kLanes;
        const Lanes<T> all = is_first ? block[n][p] : load(sum) + block[n][p];
        if (is_last)
          finish(task, filter + static_cast<std::size_t>(n), tiles[p], all);
        else
          store(sum, all);
      }
    is_first = false;
    __asm__ volatile("" ::: "memory");
  }
}

// So few filters that one pass over the terms serves them all.
template <class T, int N>
void few_filters(const ConvTask<T>& task, const ConvTile<T>* tiles, std::size_t n) {
  constexpr int kTogether = kTile<T> / N;
  const Blocks all{0, task.ends, task.ends + task.blocks};
  const auto pass = [&]<int P>(const ConvTile<T>* group) {
    alignas(64) T total[N][P][kLanes];
    add_blocks<T, N, P>(task, 0, group, all, total[0][0]);
  };
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) pass.template operator()<kTogether>(tiles + i);
  // A single tile would wait for its own chain.
  if constexpr (kTogether > 4)
    for (; i + 4 <= n; i += 4) pass.template operator()<4>(tiles + i);
  if constexpr (kTogether > 2)
    for (; i + 2 <= n; i += 2) pass.template operator()<2>(tiles + i);
  if constexpr (kTogether > 1)
    for (; i < n; ++i) pass.template operator()<1>(tiles + i);
}

constexpr std::size_t kMostFilters = 96;   // whose totals are held at once
constexpr std::size_t kBlocksOfChunk = 4;  // whose terms of x stay in the first-level cache while all filters pass

// The blocks of a chunk for `filters` filters from `first` on and P tiles: total[filter][P][16].
template <class T, int P>
void add_chunk(const ConvTask<T>& task, std::size_t first, std::size_t filters, const ConvTile<T>* tiles,
               const Blocks& chunk, T* total) {
  for_tiles<T, kTileOf<T, P>>(filters, [&]<int N>(std::size_t f) {
    add_blocks<T, N, P>(task, first + f, tiles, chunk, total + f * P * kLanes);
  });
}

template <class T>
void many_filters(const ConvTask<T>& task, const ConvTile<T>* tiles, std::size_t n) {
  constexpr std::size_t kPair = kSide<T>;
  for (std::size_t first = 0; first < task.filters; first += kMostFilters) {
    const std::size_t filters = task.filters - first < kMostFilters ? task.filters - first : kMostFilters;
    alignas(64) T total[kManyFilterTiles * kMostFilters * kLanes];
    const std::size_t paired = n / kPair * kPair;
    for (std::size_t b = 0; b < task.blocks; b += kBlocksOfChunk) {
      const std::size_t last = task.blocks - b < kBlocksOfChunk ? task.blocks : b + kBlocksOfChunk;
      const Blocks chunk{b == 0 ? 0 : task.ends[b - 1], task.ends + b, task.ends + last};
      for (std::size_t t = 0; t < paired; t += kPair)
        add_chunk<T, kPair>(task, first, filters, tiles + t, chunk, total + t * filters * kLanes);
      if (paired != n) add_chunk<T, 1>(task, first, filters, tiles + paired, chunk, total + paired * filters * kLanes);
    }
  }
}

template <class T>
void all_filters(const ConvTask<T>& task, const ConvTile<T>* tiles, std::size_t n) {
  if (task.filters <= kTile<T>)
    with_count<kTile<T>>(static_cast<int>(task.filters), [&]<int N>() { few_filters<T, N>(task, tiles, n); });
  else
    for (std::size_t i = 0; i < n; i += kManyFilterTiles)
      many_filters(task, tiles + i, n - i < kManyFilterTiles ? n - i : kManyFilterTiles);
}

// R rows of sixteen positions: each row of x is read once, and meets those that see it. Terms of a position ascend.
template <class T, int KernelRows, int R>
LOOM_INLINE void depthwise_tile(const DepthwiseTask<T>& task, const T* x, T* y) {
  Lanes<T> sum[R];
  for (int o = 0; o < R; ++o) sum[o] = zeros<T>();
#pragma GCC unroll 16
  for (int r = 0; r < R + KernelRows - 1; ++r, x += task.pitch)
    for (std::size_t k = 0; k < task.kernel_cols; ++k) {
      const Lanes<T> v = load(x + k);
#pragma GCC unroll 16
      for (int o = 0; o < R; ++o)
        if (r >= o && r - o < KernelRows)
          sum[o] = sum[o] + v * splat(task.w[static_cast<std::size_t>(r - o) * task.kernel_cols + k]);
    }
  for (int o = 0; o < R; ++o, y += task.width) store(y, with_bias(sum[o], task.bias));
}

template <class T, int KernelRows>
[[gnu::noinline]] void depthwise_plane(const DepthwiseTask<T>& task) {
  constexpr int kRows = kTile<T> >= 6 ? 4 : 1;
  for (std::size_t at = 0; at < task.width; at += kLanes) {
    const std::size_t column = at + kLanes <= task.width ? at : task.width - kLanes;
    const T* x = task.x + column;
    T* y = task.y + column;
    std::size_t row = 0;
    for (; row + kRows <= task.rows; row += kRows, x += kRows * task.pitch, y += kRows * task.width)
      depthwise_tile<T, KernelRows, kRows>(task, x, y);
    for (; row < task.rows; ++row, x += task.pitch, y += task.width) depthwise_tile<T, KernelRows, 1>(task, x, y);
  }
}

template <class T>
void depthwise(const DepthwiseTask<T>& task) {
  task.kernel_rows == 3 ? depthwise_plane<T, 3>(task) : depthwise_plane<T, 5>(task);
}

// As elsewhere, lanes from `second` on: lane masks are read from this row of zeros and ones.
alignas(64) constexpr float kStep[2 * kLanes] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

template <class T>
void gather(const T* x, const std::size_t* offsets, std::size_t k, const std::size_t* starts, std::size_t lanes,
            T* to) {
  std::size_t pieces = 1, second = kLanes;
  for (std::size_t i = 1; i < lanes; ++i)
    if (starts[i] != starts[i - 1] + 1) ++pieces, second = i;
  if constexpr (sizeof(T) == 4) {
    if (lanes == kLanes && pieces <= 2) {
      // Both loads stay between the first and the last element that the lanes need.
      const T *a = x + starts[0], *b = x + starts[kLanes - 1] - (kLanes - 1);
      const I32x16 late = load(kStep + kLanes - second) > zero();
      for (std::size_t i = 0; i < k; ++i, to += kLanes)
        store(to, select(late, load(b + offsets[i]), load(a + offsets[i])));
      return;
    }
  }
  for (std::size_t i = 0; i < k; ++i, to += kLanes) {
    const T* from = x + offsets[i];
    for (std::size_t j = 0; j < lanes; ++j) to[j] = from[starts[j]];
    for (std::size_t j = lanes; j < kLanes; ++j) to[j] = 0;
  }
}

template <class T, int N, bool Lanewise>
void gradient_columns(const ConvGradientTask<T>& task, std::size_t first) {
  constexpr std::size_t kWidth = Lanewise ? kLanes : 1;
  const T* x[N];
  Lanes<T> block[N];
  T* total = task.total + first * kLanes;
  for (int t = 0; t < N; ++t) {
    x[t] = task.x + task.offsets[first + static_cast<std::size_t>(t)] * kWidth;
    block[t] = zeros<T>();
  }
  const T* g = task.g;
  for (std::size_t r = 0; r < task.num_runs; ++r) {
    const ConvRun run = task.runs[r];
    for (std::size_t i = run.from * kWidth, end = (run.from + run.count) * kWidth; i < end; i += kWidth, g += kLanes) {
      const Lanes<T> v = load(g);
#pragma GCC unroll 16
      for (int t = 0; t < N; ++t) {
        if constexpr (Lanewise)
          block[t] = block[t] + v * load(x[t] + i);
        else
          block[t] = block[t] + v * splat(x[t][i]);
      }
    }
    if (!run.ends_block) continue;
    for (int t = 0; t < N; ++t) {
      store(total + t * kLanes, load(total + t * kLanes) + block[t]);
      block[t] = zeros<T>();
    }
  }
}

template <class T>
void gradient(const ConvGradientTask<T>& task, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i += kTile<T>) {
    const std::size_t left = end - i;
    with_count<kTile<T>>(left < kTile<T> ? static_cast<int>(left) : kTile<T>, [&]<int N>() {
      task.lanewise ? gradient_columns<T, N, true>(task, i) : gradient_columns<T, N, false>(task, i);
    });
  }
}

template <class T>
void interleave(const T* planes, std::size_t stride, std::size_t n, std::size_t rows, T* to) {
  if (n == kLanes) {
    for (std::size_t r = 0; r < rows; ++r, to += kLanes)
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kLanes; ++j) to[j] = planes[j * stride + r];
    return;
  }
  for (std::size_t r = 0; r < rows; ++r, to += kLanes) {
    for (std::size_t j = 0; j < n; ++j) to[j] = planes[j * stride + r];
    for (std::size_t j = n; j < kLanes; ++j) to[j] = 0;
  }
}

template <class T>
void sum_rows(const T* x, std::size_t rows, T* to) {
  store(to, chain64<Lanes<T>>(0, rows, [&](std::size_t r) { return load(x + r * kLanes); }));
}

template <class T>
void add_total(const T* total, std::size_t n, std::size_t stride, T* to) {
  for (std::size_t i = 0; i < n; ++i) to[i * stride] = snap(to[i * stride] + total[i]);
}

template <class T>
constexpr ConvKernels<T> kKernels = {
    .tile = kTile<T>,
    .tiles = all_filters<T>,
    .depthwise = depthwise<T>,
    .gather = gather<T>,
    .gradient = gradient<T>,
    .interleave = interleave<T>,
    .sum_rows = sum_rows<T>,
    .add_total = add_total<T>,
};

}  // namespace

extern const PerElement<ConvKernels> conv_kernels;
const PerElement<ConvKernels> conv_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
