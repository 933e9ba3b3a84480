#include "ops/gemm/gemm.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Independent chains enough to hide the latency of an add, few enough for the registers.
template <class T>
constexpr int kTile = sizeof(T) == 8 ? (kRegisters64 == 2   ? 6
                                        : kRegisters64 == 4 ? 3
                                                            : 1)
                                     : (kRegisters == 1   ? 12
                                        : kRegisters == 2 ? 6
                                        : kRegisters == 4 ? 3
                                                          : 1);

// total[t] += blocks of 64 terms of a panel's rows [begin, end), counted from begin.
template <class T, int N>
LOOM_INLINE void chain(const T* panel, const T* a, std::size_t stride, std::size_t begin, std::size_t end, Lanes<T> (&total)[N]) {
  for (std::size_t k = begin; k < end;) {
    const std::size_t stop = end - k < 64 ? end : k + 64;
    Lanes<T> block[N];
    for (int t = 0; t < N; ++t) block[t] = zeros<T>();
    for (; k < stop; ++k) {
      const Lanes<T> b = load(panel + k * kLanes);
#pragma GCC unroll 16
      for (int t = 0; t < N; ++t) block[t] = block[t] + b * splat(a[t * stride + k]);
    }
    for (int t = 0; t < N; ++t) total[t] = total[t] + block[t];
  }
}

template <class T>
struct Columns {  // of c, sixteen or the last fewer
  std::size_t n;
  LOOM_INLINE Lanes<T> load(const T* p) const { return n == kLanes ? FullLanes{}.load(p) : TailLanes{n}.load(p); }
  LOOM_INLINE void store(T* p, const Lanes<T>& v) const { n == kLanes ? FullLanes{}.store(p, v) : TailLanes{n}.store(p, v); }
};

template <class T, int N>
void rows_by_panel(const GemmTask<T>& task, std::size_t p, std::size_t row) {
  const T* panel = task.panels + p * task.k * kLanes;
  const T* a = task.a + row * task.k;
  const Columns<T> columns{task.n - p * kLanes < kLanes ? task.n - p * kLanes : kLanes};
  T* c = task.c + row * task.n + p * kLanes;
  Lanes<T> sum[N];
  for (int t = 0; t < N; ++t) sum[t] = task.into == Into::Store ? zeros<T>() : columns.load(c + t * task.n);
  if (task.into == Into::Partial) {
    chain<T, N>(panel, a, task.k, 0, task.k, sum);
  } else {
    for (std::size_t begin = 0; begin < task.k; begin += task.block) {
      Lanes<T> total[N];
      for (int t = 0; t < N; ++t) total[t] = zeros<T>();
      chain<T, N>(panel, a, task.k, begin, task.k - begin < task.block ? task.k : begin + task.block, total);
      for (int t = 0; t < N; ++t) sum[t] = snap(sum[t] + total[t]);
    }
  }
  for (int t = 0; t < N; ++t) columns.store(c + t * task.n, sum[t]);
}

template <class T>
void panels(const GemmTask<T>& task, std::size_t begin, std::size_t end, std::size_t row, std::size_t rows) {
  for (std::size_t p = begin; p < end; ++p) {
    std::size_t r = row;
    for (; r + kTile<T> <= row + rows; r += kTile<T>) rows_by_panel<T, kTile<T>>(task, p, r);
    if constexpr (kTile<T> >= 6)
      for (; r + 2 <= row + rows; r += 2) rows_by_panel<T, 2>(task, p, r);
    for (; r < row + rows; ++r) rows_by_panel<T, 1>(task, p, r);
  }
}

template <class T>
void pack(const T* b, std::size_t row_stride, std::size_t col_stride, std::size_t k, std::size_t n, T* panel) {
  if (col_stride == 1) {
    for (std::size_t i = 0; i < k; ++i, b += row_stride, panel += kLanes) n == kLanes ? store(panel, load(b)) : store(panel, TailLanes{n}.load(b));
    return;
  }
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < kLanes; ++j) panel[i * kLanes + j] = j < n ? b[i * row_stride + j * col_stride] : T{0};
}

template <class T>
void column_sums(const T* x, std::size_t stride, std::size_t rows, std::size_t block, std::size_t n, T* c) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    Lanes<T> sum = lanes.load(c + i);
    for (std::size_t begin = 0; begin < rows; begin += block) {
      const std::size_t end = rows - begin < block ? rows : begin + block;
      Lanes<T> total = zeros<T>();
      for (std::size_t r = begin; r < end;) {
        const std::size_t stop = end - r < 64 ? end : r + 64;
        Lanes<T> part = zeros<T>();
        for (; r < stop; ++r) part = part + lanes.load(x + r * stride + i);
        total = total + part;
      }
      sum = snap(sum + total);
    }
    lanes.store(c + i, sum);
  });
}

template <class T>
constexpr GemmKernels<T> kKernels = {kTile<T>, panels<T>, pack<T>, column_sums<T>};

}  // namespace

extern const PerElement<GemmKernels> gemm_kernels;
const PerElement<GemmKernels> gemm_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
