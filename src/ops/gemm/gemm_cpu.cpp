#include "core/transpose.h"
#include "ops/chain.h"
#include "ops/gemm/add_bits.h"
#include "ops/gemm/gemm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
struct Columns {  // of c, sixteen or the last fewer
  std::size_t n;
  LOOM_INLINE Lanes<T> load(const T* p) const { return n == kLanes ? FullLanes{}.load(p) : TailLanes{n}.load(p); }
  LOOM_INLINE void store(T* p, const Lanes<T>& v) const {
    n == kLanes ? FullLanes{}.store(p, v) : TailLanes{n}.store(p, v);
  }
};

constexpr std::size_t kChunk = 256;       // rows of a panel that stay in the first-level cache while all rows of a pass
constexpr std::size_t kBandRows = 96;     // rows whose totals are held at once
constexpr std::size_t kNear = 192 << 10;  // bytes that stay in the second-level cache

template <class T>
struct Totals {
  alignas(64) T v[kBandRows][kLanes];
};

// P panels from p on for rows [row, row + rows) of one band.
template <class T, int P, bool kFused>
void band_by_panel(const GemmTask<T>& task, std::size_t p, std::size_t row, std::size_t rows) {
  const std::size_t apart = task.k * kLanes;
  const T* panels = task.panels + p * apart;
  const Factor<T> a = Factor<T>{task.a, task.a_row, task.a_step}.at(row, 0);
  Totals<T> totals[P];
  // f(total, columns, where they stand in c) for every row and panel.
  const auto for_totals = [&](auto&& f) {
    for (std::size_t i = 0; i < P; ++i) {
      const std::size_t first = (p + i) * kLanes;
      const Columns<T> columns{task.n - first < kLanes ? task.n - first : kLanes};
      for (std::size_t r = 0; r < rows; ++r) f(totals[i].v[r], columns, task.c + (row + r) * task.n + first);
    }
  };
  const auto begin_from = [&](bool zero) {
    for_totals([&](T* total, const Columns<T>& columns, T* c) { store(total, zero ? zeros<T>() : columns.load(c)); });
  };
  const auto add = [&]<bool kRuns>(std::size_t k, std::size_t terms) {
    for_tiles<T, kTileOf<T, P>>(rows, [&]<int N>(std::size_t r) {
      const T* const chunk = panels + k * kLanes;
      if constexpr (P == 1)
        add_chain<T, N, kRuns, false, kFused>(chunk, a.at(r, k), terms, totals[0].v[r], task.block);
      else
        add_chains<T, N, P, kRuns, false, kFused>(chunk, apart, a.at(r, k), terms, totals[0].v[r], kBandRows * kLanes,
                                                  task.block);
    });
  };
  if (task.into != Into::Partial && task.block <= kChain) {  // every run is one block of its chain
    begin_from(task.into == Into::Store);
    const std::size_t chunk = kChunk / task.block * task.block;
    for (std::size_t k = 0; k < task.k; k += chunk)
      add.template operator()<true>(k, task.k - k < chunk ? task.k - k : chunk);
    for_totals([&](const T* total, const Columns<T>& columns, T* c) { columns.store(c, load(total)); });
    return;
  }
  for (std::size_t begin = 0; begin < task.k; begin += task.block) {
    const std::size_t end = task.k - begin < task.block ? task.k : begin + task.block;
    begin_from(task.into != Into::Partial);
    for (std::size_t k = begin; k < end; k += kChunk)
      add.template operator()<false>(k, end - k < kChunk ? end - k : kChunk);
    const bool onto = task.into == Into::Add || begin != 0;
    for_totals([&](const T* at, const Columns<T>& columns, T* c) {
      const Lanes<T> total = load(at);
      columns.store(c, task.into == Into::Partial ? total : snap(onto ? columns.load(c) + total : total));
    });
  }
}

template <class T, bool kFused>
void panels(const GemmTask<T>& task, std::size_t begin, std::size_t end, std::size_t row, std::size_t rows) {
  constexpr int kPanels = kSide<T>;
  // Panels that fit the second-level cache go by once per tile of rows, so that c is written a row at a time.
  const std::size_t most = task.k * (end - begin) * kLanes * sizeof(T) <= kNear ? kTileOf<T, kPanels> : kBandRows;
  for (std::size_t left = rows; left != 0;) {
    const std::size_t bands = (left + most - 1) / most, count = (left + bands - 1) / bands;
    std::size_t p = begin;
    for (; p + kPanels <= end; p += kPanels) band_by_panel<T, kPanels, kFused>(task, p, row, count);
    for (; p < end; ++p) band_by_panel<T, 1, kFused>(task, p, row, count);
    row += count;
    left -= count;
  }
}

// N rows of a against P times sixteen columns of b, read in place, from column `at` on.
template <class T, int N, int P, class L>
[[gnu::noinline]] void direct_tile(const DirectGemmTask<T>& task, std::size_t row, std::size_t at, L lanes) {
  alignas(64) T total[N][P][kLanes];
  T* c = task.c + row * task.n + at;
  for (int n = 0; n < N; ++n)
    for (int p = 0; p < P; ++p)
      store(total[n][p],
            task.into == Into::Store ? zeros<T>() : lanes.load(c + static_cast<std::size_t>(n) * task.n + p * kLanes));
  const T* a = task.a + row * task.a_row;
  const T* b = task.b + at;
  for (std::size_t left = task.k; left != 0;) {
    const std::size_t count = left < task.block ? left : task.block;
    Lanes<T> block[N][P];
    for (int n = 0; n < N; ++n)
      for (int p = 0; p < P; ++p) block[n][p] = zeros<T>();
    for (std::size_t k = 0; k < count; ++k, a += task.a_step, b += task.b_row) {
      Lanes<T> factors[N];
      for (int n = 0; n < N; ++n) factors[n] = splat(a[static_cast<std::size_t>(n) * task.a_row]);
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) {
        const Lanes<T> v = lanes.load(b + p * kLanes);
#pragma GCC unroll 16
        for (int n = 0; n < N; ++n) block[n][p] = block[n][p] + v * factors[n];
      }
    }
    for (int n = 0; n < N; ++n)
      for (int p = 0; p < P; ++p) {
        const Lanes<T> sum = load(total[n][p]) + block[n][p];
        store(total[n][p], task.snaps ? snap(sum) : sum);
      }
    __asm__ volatile("" ::: "memory");
    left -= count;
  }
  for (int n = 0; n < N; ++n)
    for (int p = 0; p < P; ++p)
      lanes.store(c + static_cast<std::size_t>(n) * task.n + p * kLanes, snap(load(total[n][p])));
}

template <class T>
void direct(const DirectGemmTask<T>& task, std::size_t row, std::size_t rows, std::size_t begin, std::size_t end) {
  constexpr int kRows = kTile<T> < 2 ? 1 : 2;
  for (const std::size_t stop = row + rows; row < stop;) {
    const std::size_t left = stop - row;
    with_count<kRows>(left < kRows ? static_cast<int>(left) : kRows, [&]<int N>() {
      constexpr int P = kTile<T> / N;
      std::size_t at = begin;
      for (; at + P * kLanes <= end; at += P * kLanes) direct_tile<T, N, P>(task, row, at, FullLanes{});
      for (; at + kLanes <= end; at += kLanes) direct_tile<T, N, 1>(task, row, at, FullLanes{});
      if (at < end) direct_tile<T, N, 1>(task, row, at, TailLanes{end - at});
      row += N;
    });
  }
}

template <class T>
void lay_out(const T* from, std::size_t row_stride, std::size_t col_stride, std::size_t rows, std::size_t cols, T* to,
             std::size_t to_row) {
  if (row_stride == 1) return transpose(from, col_stride, cols, rows, to, to_row);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) to[r * to_row + c] = from[r * row_stride + c * col_stride];
}

template <class T>
void pack(const T* b, std::size_t row_stride, std::size_t col_stride, std::size_t k, std::size_t n, T* panel) {
  if (col_stride != 1) {
    lay_out(b, row_stride, col_stride, k, n, panel, kLanes);
    for (std::size_t i = 0; n < kLanes && i < k; ++i)
      for (std::size_t j = n; j < kLanes; ++j) panel[i * kLanes + j] = 0;
    return;
  }
  for (std::size_t i = 0; i < k; ++i, b += row_stride, panel += kLanes)
    n == kLanes ? store(panel, load(b)) : store(panel, TailLanes{n}.load(b));
}

template <class T>
void column_sums(const T* x, std::size_t stride, std::size_t rows, std::size_t block, std::size_t n, T* c) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    Lanes<T> sum = lanes.load(c + i);
    for (std::size_t begin = 0; begin < rows; begin += block) {
      const std::size_t end = rows - begin < block ? rows : begin + block;
      sum = snap(sum + chain64<Lanes<T>>(begin, end, [&](std::size_t r) { return lanes.load(x + r * stride + i); }));
    }
    lanes.store(c + i, sum);
  });
}

template <class T>
constexpr auto kFusedPanels = decltype(GemmKernels<T>::fused_panels){};
template <>
constexpr auto kFusedPanels<float> = kFuses ? panels<float, true> : nullptr;

template <class T>
constexpr auto kAddBits = decltype(GemmKernels<T>::add_bits){};
template <>
constexpr auto kAddBits<float> = &add_bits;

template <class T>
constexpr GemmKernels<T> kKernels = {
    .panels = panels<T, false>,
    .fused_panels = kFusedPanels<T>,
    .direct = direct<T>,
    .pack = pack<T>,
    .lay_out = lay_out<T>,
    .add_bits = kAddBits<T>,
    .column_sums = column_sums<T>,
};

}  // namespace

extern const PerElement<GemmKernels> gemm_kernels;
const PerElement<GemmKernels> gemm_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
