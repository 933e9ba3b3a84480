#include <type_traits>

#include "dtypes/panel_codecs.h"
#include "ops/chain.h"
#include "ops/gemm/add_bits.h"
#include "ops/matmul/code_panels.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/quantize_row.h"
#include "ops/matmul/store_sums.h"
#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

static_assert(!kHasPairs);

// ---- panels of floats, and of integers that compute in f64 ----

// The number in which weights of a codec are multiplied and added.
template <class Codec>
using Number = typename Codec::Number;
template <class Codec>
using Sums = Lanes<Number<Codec>>;

// columns decoded at a time when many rows share them
template <class T>
inline constexpr std::size_t kChunk = 1024 / sizeof(T);
constexpr std::size_t kBatchRows = 96;  // rows whose totals are held at once

template <class T>
struct Totals {
  alignas(64) T v[kBatchRows][kLanes];
};

template <class Codec>
LOOM_INLINE Codec codec_of(const MatmulTask& task, std::size_t p) {
  if constexpr (Codec::kZeros)
    return {load(task.weight->wide_row_zeros() + p * kPanelRows)};
  else
    return {};
}

LOOM_INLINE F32x16 narrowed(const F64x16& v) {
  alignas(64) double from[kLanes];
  alignas(64) float to[kLanes];
  store(from, v);
  for (std::size_t l = 0; l < kLanes; ++l) to[l] = static_cast<float>(from[l]);
  return load(to);
}

// Totals of a panel times the scale of each row, for types that have one, as f32.
template <class Codec>
LOOM_INLINE F32x16 scaled(const MatmulTask& task, std::size_t p, const Sums<Codec>& total) {
  if constexpr (std::is_same_v<Number<Codec>, double>)
    return narrowed(Codec::kRowScale ? total * load(task.weight->wide_row_scales() + p * kPanelRows) : total);
  else if constexpr (Codec::kRowScale)
    return total * splat(Codec::kUnit) * load(task.weight->row_scales() + p * kPanelRows);
  else
    return total;
}

LOOM_INLINE F32x16 times(const F32x16& v, float x) { return v * splat(x); }
LOOM_INLINE F64x16 times(const F64x16& v, float x) { return v * splat(static_cast<double>(x)); }
LOOM_INLINE F32x16 in_order(const F32x16& v) { return v; }
LOOM_INLINE F64x16 in_order(const F64x16& v) { return v; }

// Bytes of a panel of floats that are prefetched: after the two blocks that are read side by side.
constexpr std::size_t kAheadOfBlocks = 8192;

// total += N blocks of the chain, whose sums are independent and stand side by side, in order: decode(column) of each
// times its x. The lines after `ahead` are prefetched in the order of memory, kFar bytes
// for each column, and meanwhile(column of a block) is called as often.
template <std::size_t N, std::size_t kFar, class Sum, class Decode, class Meanwhile>
LOOM_INLINE Sum add_blocks(Sum total, Decode decode, const float* x, const std::byte* ahead, Meanwhile meanwhile) {
  constexpr std::size_t kColumns = N * kFar < 64 ? (64 + N * kFar - 1) / (N * kFar) : 1;
  Sum block[N] = {};
  for (std::size_t i = 0; i < kChain; i += kColumns, ahead += kColumns * N * kFar) {
    ask_for<kColumns * N * kFar>(ahead);
    meanwhile(i);
    for (std::size_t k = i; k < i + kColumns; ++k)
      for (std::size_t n = 0; n < N; ++n) block[n] = block[n] + times(decode(n * kChain + k), x[n * kChain + k]);
  }
  for (const auto& b : block) total = total + b;
  return total;
}
constexpr auto kNothing = [](std::size_t) {};

// The columns after the last whole block.
template <class Codec>
LOOM_INLINE Sums<Codec> add_rest(Codec codec, const std::byte* w, std::size_t c, std::size_t cols, const float* x,
                                 const Sums<Codec>& total) {
  return chain64(
      c, cols, [&](std::size_t i) { return times(codec.decode16(w + i * Codec::kColumnBytes), x[i]); }, total);
}

// A column as it is cheapest to decode: sixteen numbers, or even and odd rows apart.
template <class Codec>
LOOM_INLINE auto decode_once(Codec codec, const std::byte* p) {
  if constexpr (requires { Codec::even_odd(p); })
    return Codec::even_odd(p);
  else
    return codec.decode16(p);
}

// One row of x against a panel.
template <class Codec>
Sums<Codec> stream_panel(Codec codec, const std::byte* w, std::size_t cols, const float* x) {
  decltype(decode_once(codec, w)) total{};
  std::size_t c = 0;
  const auto add = [&]<std::size_t N>() {
    constexpr std::size_t kBytes = Codec::kColumnBytes;
    const std::byte* from = w + c * kBytes;
    total = add_blocks<N, kBytes>(
        total, [&](std::size_t k) { return decode_once(codec, from + k * kBytes); }, x + c, from + kAheadOfBlocks,
        kNothing);
    c += N * kChain;
  };
  while (c + 2 * kChain <= cols) add.template operator()<2>();
  if (c + kChain <= cols) add.template operator()<1>();
  return add_rest(codec, w, c, cols, x, in_order(total));
}

// Like add_blocks(), for bytes that are halfs without their low bits: two blocks are widened while the two before them,
// which are in the nearest cache as halfs by then, are multiplied.
template <class Codec>
  requires Codec::kWidens
F32x16 stream_panel(Codec codec, const std::byte* w, std::size_t cols, const float* x) {
  constexpr std::size_t kPair = 2 * kChain, kBytes = Codec::kColumnBytes;
  EvenOddHalfs<kPair> halfs[2];
  EvenOddHalfs<kPair>*from = halfs, *to = halfs + 1;
  const auto multiplied = [&from](std::size_t k) { return (*from)[k]; };
  const std::size_t end = cols / kChain * kChain;
  for (std::size_t k = 0; k < kPair && k < end; k += 4) Codec::widen4(w + k * kBytes, from->even[k], from->odd[k]);
  EvenOdd total{};
  std::size_t c = 0;
  for (; c + kPair <= end; c += kPair) {
    const std::byte *const now = w + c * kBytes, *const next = now + kPair * kBytes;
    const std::size_t left = end - c - kPair;
    total = add_blocks<2, kBytes>(total, multiplied, x + c, now + kAheadOfBlocks, [&](std::size_t k) {
      if (2 * k < left) Codec::widen4(next + 2 * k * kBytes, to->even[2 * k], to->odd[2 * k]);
    });
    EvenOddHalfs<kPair>* const widened = to;
    to = from;
    from = widened;
  }
  if (c < end) total = add_blocks<1, kBytes>(total, multiplied, x + c, w + c * kBytes + kAheadOfBlocks, kNothing);
  return add_rest(codec, w, end, cols, x, in_order(total));
}

// Columns [begin, end) of a panel in f32 or f64: decoded into the buffer, or in place.
template <class Codec>
LOOM_INLINE const Number<Codec>* decoded(Codec codec, const std::byte* panel, std::size_t begin, std::size_t end,
                                         Number<Codec>* buffer) {
  if constexpr (Codec::kColumnBytes == kLanes * sizeof(Number<Codec>) && !Codec::kRowScale) {
    return reinterpret_cast<const Number<Codec>*>(panel) + begin * kLanes;
  } else {
    for (std::size_t c = begin; c < end; ++c)
      store(buffer + (c - begin) * kLanes, codec.decode16(panel + c * Codec::kColumnBytes));
    return buffer;
  }
}

// Buffers that the rows of a part of a matrix share: a chunk of a panel, and the inputs that multiply it.
template <class T>
struct Buffers {
  alignas(64) T columns[kSide<T> * kChunk<T> * kLanes];
  alignas(64) T inputs[std::is_same_v<T, float> ? 1 : kTile<T> * kChunk<T>];
};

// N rows of inputs as numbers of the sums: in place, or widened into the buffer.
template <int N>
LOOM_INLINE Factor<float> as_numbers(Factor<float> x, std::size_t, float*) {
  return x;
}
template <int N>
LOOM_INLINE Factor<double> as_numbers(Factor<float> x, std::size_t count, double* buffer) {
  for (std::size_t t = 0; t < N; ++t)
    for (std::size_t i = 0; i < count; ++i) buffer[t * kChunk<double> + i] = static_cast<double>(x.data[t * x.row + i]);
  return {buffer, kChunk<double>};
}

// Weights that are short enough for exact products, on targets that fuse them.
template <class Codec>
constexpr bool kMayFuse =
    kFuses && std::is_same_v<Number<Codec>, float> && Codec::kColumnBytes < kLanes * sizeof(float);

// Whether all products of the inputs with panels [first, last) are known to be exact.
template <class Codec>
bool are_exact(const MatmulTask& task, std::size_t first, std::size_t last, Buffers<float>& buffers) {
  if (task.input_bits == nullptr) return false;
  constexpr std::size_t kMost = kChunk<float>;
  ValueBits bits;
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t c = 0; c < task.cols; c += kMost) {
      const std::size_t end = task.cols - c < kMost ? task.cols : c + kMost;
      add_bits(decoded<Codec>(codec_of<Codec>(task, p), task.weight->panel(p), c, end, buffers.columns),
               (end - c) * kLanes, bits);
    }
  return are_products_exact(*task.input_bits, bits);
}

// P panels for a batch: columns are decoded once per chunk, then read from the first-level cache by every row.
template <class Codec, int P, bool kFused = false>
void float_panel_batch(const MatmulTask& task, std::size_t p, std::size_t row0, std::size_t rows,
                       Buffers<Number<Codec>>& buffers) {
  using T = Number<Codec>;
  Totals<T> totals[P];
  for (Totals<T>& of_panel : totals)
    for (std::size_t r = 0; r < rows; ++r) store(of_panel.v[r], zeros<T>());
  const std::byte* const last = task.weight->panel(task.weight->panels());
  const Factor<float> x{task.x + row0 * task.cols, task.cols};
  for (std::size_t begin = 0; begin < task.cols; begin += kChunk<T>) {
    const std::size_t end = begin + kChunk<T> < task.cols ? begin + kChunk<T> : task.cols;
    const T* chunks[P];
    for (int i = 0; i < P; ++i) {
      const std::size_t at = p + static_cast<std::size_t>(i);
      chunks[i] = decoded<Codec>(codec_of<Codec>(task, at), task.weight->panel(at), begin, end,
                                 buffers.columns + static_cast<std::size_t>(i) * kChunk<T> * kLanes);
    }
    const std::size_t apart = static_cast<std::size_t>(chunks[P - 1] - chunks[0]);
    // The next chunk, of these panels or the following ones, is prefetched column by column while this one is
    // multiplied, since a processor has few outstanding lines.
    NextPanel next{task.weight->panel(end < task.cols ? p : p + P - 1) + end * Codec::kColumnBytes, Codec::kColumnBytes,
                   task.cols * Codec::kColumnBytes};
    constexpr std::size_t kBytes = kChunk<T> * Codec::kColumnBytes;
    const std::byte* const all = kBytes < static_cast<std::size_t>(last - next.from) ? next.from + kBytes : last;
    const std::size_t terms = end - begin;
    for_tiles<T, kTileOf<T, P>>(rows, [&]<int N>(std::size_t r) {
      const auto inputs = as_numbers<N>(x.at(r, begin), terms, buffers.inputs);
      const auto add = [&]<bool kAsks>() {
        T* const total = totals[0].v[r];
        if constexpr (P == 1)
          add_chain<T, N, false, kAsks, kFused>(chunks[0], inputs, terms, total, kChain, next);
        else
          add_chains<T, N, P, false, kAsks, kFused>(chunks[0], apart, inputs, terms, total, kBatchRows * kLanes, kChain,
                                                    next);
      };
      if (next.from >= all) return add.template operator()<false>();
      add.template operator()<true>();
      next.from += terms * Codec::kColumnBytes;
    });
  }
  const std::size_t outputs = task.weight->rows();
  if (outputs >= kPanelRows) {
    for (std::size_t i = 0; i < P; ++i)
      for (std::size_t r = 0; r < rows; ++r)
        store_row(task, p + i, row0 + r, scaled<Codec>(task, p + i, load(totals[i].v[r])));
    return;
  }
  // Narrow rows are packed in the memory of their totals, each over the surplus lanes of the one before, and are
  // written at once.
  const F32x16 bias = task.bias ? TailLanes{outputs}.load(task.bias) : zero();
  auto* const packed = reinterpret_cast<float*>(totals[0].v);
  for (std::size_t r = 0; r < rows; ++r) {
    const F32x16 total = snap(scaled<Codec>(task, p, load(totals[0].v[r])));
    store(packed + r * outputs, task.bias ? snap(total + bias) : total);
  }
  __builtin_memcpy(task.y + row0 * outputs, packed, rows * outputs * sizeof(float));
}

// f(first row, rows): batches of like size.
template <class F>
void each_batch(std::size_t rows, F&& f) {
  if (rows <= kBatchRows) return f(std::size_t{0}, rows);
  const std::size_t batches = (rows + kBatchRows - 1) / kBatchRows;
  const std::size_t tiles = (rows + batches * kTile<float> - 1) / (batches * kTile<float>);
  const std::size_t batch = tiles * kTile<float>;
  for (std::size_t row = 0; row < rows; row += batch) f(row, rows - row < batch ? rows - row : batch);
}

template <class Codec>
void float_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if (task.rows == 1) {
    for (std::size_t p = first; p < last; ++p) {
      const auto total = stream_panel(codec_of<Codec>(task, p), task.weight->panel(p), task.cols, task.x);
      store_row(task, p, 0, scaled<Codec>(task, p, total));
    }
    return;
  }
  Buffers<Number<Codec>> buffers;
  const auto multiply = [&]<bool kFused>() {
    each_batch(task.rows, [&](std::size_t row, std::size_t rows) {
      constexpr int kPanels = kSide<Number<Codec>>;
      std::size_t p = first;
      for (; p + kPanels <= last; p += kPanels) float_panel_batch<Codec, kPanels, kFused>(task, p, row, rows, buffers);
      for (; p < last; ++p) float_panel_batch<Codec, 1, kFused>(task, p, row, rows, buffers);
    });
  };
  if constexpr (kMayFuse<Codec>)
    if (are_exact<Codec>(task, first, last, buffers)) return multiply.template operator()<true>();
  multiply.template operator()<false>();
}

template <class Signed, class Unsigned>
void wide_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  task.weight->layout().is_signed ? float_panels<WideCodec<Signed>>(task, first, last)
                                  : float_panels<WideCodec<Unsigned>>(task, first, last);
}

// total[r][16] += scale * the chain of sum_k a[r, k] columns[k][16], for r < N: add_chain() with groups in place of its
// blocks.
template <int N>
[[gnu::noinline]] void add_group(const float* columns, Factor<float> a, std::size_t terms, const float* scale,
                                 float* total) {
  F32x16 group[N];
  for (int t = 0; t < N; ++t) group[t] = zero();
  for (std::size_t k = 0; k < terms; ++k, columns += kLanes) {
    const F32x16 weight = load(columns);
#pragma GCC unroll 16
    for (int t = 0; t < N; ++t) group[t] = group[t] + weight * splat(a.data[static_cast<std::size_t>(t) * a.row + k]);
  }
  for (int t = 0; t < N; ++t) store(total + t * kLanes, load(total + t * kLanes) + group[t] * load(scale));
}

constexpr std::size_t kMaxGroup = 128;

// fp4: the chain of each group is multiplied by its scale, then added (engine D-31).
void fp4_panel(const MatmulTask& task, std::size_t p, std::size_t row0, std::size_t rows, float* buffer) {
  Totals<float> totals;
  for (std::size_t r = 0; r < rows; ++r) store(totals.v[r], zero());
  const std::byte* block = task.weight->panel(p);
  const PanelLayout& layout = task.weight->layout();
  const Factor<float> x{task.x + row0 * task.cols, task.cols};
  for (std::size_t begin = 0; begin < task.cols; begin += layout.sub_cols) {
    const std::size_t count = task.cols - begin < layout.sub_cols ? task.cols - begin : layout.sub_cols;
    for (std::size_t i = 0; i < count; i += kBlockCols, block += 256)
      for (std::size_t k = 0; k < kBlockCols; ++k) store(buffer + (i + k) * kLanes, fp4_16(block, k));
    const auto* scale = reinterpret_cast<const float*>(block);
    block += layout.factor_bytes();
    for_tiles<float>(rows,
                     [&]<int N>(std::size_t r) { add_group<N>(buffer, x.at(r, begin), count, scale, totals.v[r]); });
  }
  for (std::size_t r = 0; r < rows; ++r) store_row(task, p, row0 + r, load(totals.v[r]));
}

// total += N consecutive groups, each the chain of its columns times its scale: the chains are independent.
template <std::size_t N>
LOOM_INLINE F32x16 add_fp4_groups(F32x16 total, const std::byte*& block, std::size_t columns, const float* x) {
  constexpr std::size_t kBlockBytes = 256, kScaleBytes = kLanes * sizeof(float);
  const std::size_t codes = columns / kBlockCols * kBlockBytes, bytes = codes + kScaleBytes;
  F32x16 chain[N];
  for (F32x16& c : chain) c = zero();
  for (std::size_t begin = 0; begin < columns; begin += kBlockCols, block += kBlockBytes) {
    for (std::size_t n = 0; n < N; ++n) ask_for<kBlockBytes + kScaleBytes>(block + n * bytes + kAhead);
    for (std::size_t k = 0; k < kBlockCols; ++k)
      for (std::size_t n = 0; n < N; ++n)
        chain[n] = chain[n] + fp4_16(block + n * bytes, k) * splat(x[n * columns + begin + k]);
  }
  for (std::size_t n = 0; n < N; ++n)
    total = total + chain[n] * load(reinterpret_cast<const float*>(block + n * bytes));
  block += N * bytes - codes;
  return total;
}

// One row of x: whole groups are multiplied as they are decoded.
void fp4_row(const MatmulTask& task, std::size_t p, float* buffer) {
  constexpr std::size_t kSide = 4;
  const std::byte* block = task.weight->panel(p);
  const std::size_t group = task.weight->layout().sub_cols;
  F32x16 total = zero();
  std::size_t c = 0;
  for (; c + kSide * group <= task.cols; c += kSide * group)
    total = add_fp4_groups<kSide>(total, block, group, task.x + c);
  for (; c + group <= task.cols; c += group) total = add_fp4_groups<1>(total, block, group, task.x + c);
  if (const std::size_t rest = task.cols - c; rest != 0) {  // zeros change no sum
    __builtin_memset(buffer, 0, kMaxGroup * sizeof(float));
    __builtin_memcpy(buffer, task.x + c, rest * sizeof(float));
    total = add_fp4_groups<1>(total, block, (rest + kBlockCols - 1) / kBlockCols * kBlockCols, buffer);
  }
  store_row(task, p, 0, total);
}

void fp4_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  alignas(64) float buffer[kMaxGroup * kLanes];
  if (task.rows == 1) {
    for (std::size_t p = first; p < last; ++p) fp4_row(task, p, buffer);
    return;
  }
  each_batch(task.rows, [&](std::size_t row, std::size_t rows) {
    for (std::size_t p = first; p < last; ++p) fp4_panel(task, p, row, rows, buffer);
  });
}

// Compilers warn of a kind without a case.
constexpr PanelKernel kernel_of(PanelKind kind) {
  switch (kind) {
    case PanelKind::Float64: return float_panels<WideCodec<double>>;
    case PanelKind::Float32: return float_panels<Float32Codec>;
    case PanelKind::Float16: return float_panels<Float16Codec>;
    case PanelKind::BFloat16: return float_panels<BFloat16Codec>;
    case PanelKind::Fp8E4M3: return float_panels<Fp8E4M3Codec>;
    case PanelKind::Fp8E5M2: return float_panels<Fp8E5M2Codec>;
    case PanelKind::BlockFp4: return fp4_panels;
    case PanelKind::Wide16: return wide_panels<std::int16_t, std::uint16_t>;
    case PanelKind::Wide32: return wide_panels<std::int32_t, std::uint32_t>;
    case PanelKind::Wide64: return wide_panels<std::int64_t, std::uint64_t>;
    case PanelKind::BlockNibbles:
    case PanelKind::BlockCrumbs:
    case PanelKind::BlockBytes:
    case PanelKind::BlockBits:
    case PanelKind::BlockThreeBits:
    case PanelKind::BlockFiveBits:
    case PanelKind::BlockSixBits:
    case PanelKind::BlockTwiceFp4:
    case PanelKind::RowBytes:
    case PanelKind::RowNibbles:
    case PanelKind::RowCrumbs:
    case PanelKind::RowBits: return code_kernel_of(kind);
  }
  return nullptr;
}

constexpr MatmulKernels kernels() {
  MatmulKernels table{.panels = {},
                      .prefers_words = kPrefersWords,
                      .takes_pairs = false,
                      .tile_rows = 0,
                      .tile_panels = 1,
                      .scratch_bytes = 0,
                      .quantize_row = quantize_row};
  for (std::size_t i = 0; i < kNumPanelKinds; ++i) table.panels[i] = kernel_of(static_cast<PanelKind>(i));
  return table;
}

}  // namespace

extern const MatmulKernels matmul_kernels;
constinit const MatmulKernels matmul_kernels = kernels();

}  // namespace loom::inline LOOM_TARGET
