#include <type_traits>

#include "dtypes/panel_codecs.h"
#include "int_dot.h"
#include "ops/chain.h"
#include "ops/matmul/matmul.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// ---- float panels ----

constexpr std::size_t kChunk = 256;       // columns decoded to f32 at a time when many rows share them
constexpr std::size_t kBatchRows = 96;    // rows whose totals are held at once
constexpr std::size_t kTileRows = kTile<float>;

// Bytes asked for ahead of use: with the hardware's own prefetch alone a Zen 3 core decodes a fifth slower.
constexpr std::size_t kAhead = 2048;

struct Totals {
  alignas(64) float v[kBatchRows][kLanes];
};

// The scale of each row, for types that have one.
template <class Codec>
LOOM_INLINE F32x16 scaled(const MatmulTask& task, std::size_t p, const F32x16& total) {
  if constexpr (Codec::kRowScale)
    return total * load(task.weight->row_scales() + p * kPanelRows);
  else
    return total;
}

template <class L>
LOOM_INLINE void store_sums(L lanes, const float* bias, const F32x16& total, float* y) {
  lanes.store(y, bias != nullptr ? snap(snap(total) + lanes.load(bias)) : snap(total));
}

[[gnu::noinline]] void store_last(std::size_t n, const float* bias, const F32x16& total, float* y) { store_sums(TailLanes{n}, bias, total, y); }

// The sums of panel p in a row of y, the bias added.
LOOM_INLINE void store_row(const MatmulTask& task, std::size_t p, std::size_t row, const F32x16& total) {
  const std::size_t outputs = task.weight->rows(), first = p * kPanelRows;
  float* y = task.y + row * outputs + first;
  const float* bias = task.bias != nullptr ? task.bias + first : nullptr;
  outputs - first >= kPanelRows ? store_sums(FullLanes{}, bias, total, y) : store_last(outputs - first, bias, total, y);
}

// One row of x against a panel, whose lines come from far away. Two blocks of the chain side by side: their sums are independent, and
// are added in order.
template <class Codec>
F32x16 stream_panel(const std::byte* w, std::size_t cols, const float* x) {
  constexpr std::size_t kBlockBytes = kChain * Codec::kColumnBytes;
  F32x16 total = zero();
  std::size_t c = 0;
  for (; c + 2 * kChain <= cols; c += 2 * kChain, w += kBlockBytes) {
    F32x16 first = zero(), second = zero();
    for (std::size_t i = c; i < c + kChain; ++i, w += Codec::kColumnBytes) {
      __builtin_prefetch(w + kAhead);
      __builtin_prefetch(w + kBlockBytes + kAhead);
      first = first + Codec::decode16(w) * splat(x[i]);
      second = second + Codec::decode16(w + kBlockBytes) * splat(x[i + kChain]);
    }
    total = total + first;
    total = total + second;
  }
  return chain64(c, cols, [&](std::size_t i) { return Codec::decode16(w + (i - c) * Codec::kColumnBytes) * splat(x[i]); }, total);
}

// Columns [begin, end) of a panel in f32: decoded into the buffer, or as they lie.
template <class Codec>
LOOM_INLINE const float* decoded(const std::byte* panel, std::size_t begin, std::size_t end, float* buffer) {
  if constexpr (std::is_same_v<Codec, Float32Codec>) {
    return reinterpret_cast<const float*>(panel) + begin * kLanes;
  } else {
    for (std::size_t c = begin; c < end; ++c) store(buffer + (c - begin) * kLanes, Codec::decode16(panel + c * Codec::kColumnBytes));
    return buffer;
  }
}

// One panel for a batch: columns are decoded once per chunk, then read from the first-level cache by every row.
template <class Codec>
void float_panel_batch(const MatmulTask& task, std::size_t p, std::size_t row0, std::size_t rows, float* buffer) {
  Totals totals;
  for (std::size_t r = 0; r < rows; ++r) store(totals.v[r], zero());
  const std::byte *panel = task.weight->panel(p), *const last = task.weight->panel(task.weight->panels());
  const Factor<float> x{task.x + row0 * task.cols, task.cols};
  for (std::size_t begin = 0; begin < task.cols; begin += kChunk) {
    const std::size_t end = begin + kChunk < task.cols ? begin + kChunk : task.cols;
    const float* chunk = decoded<Codec>(panel, begin, end, buffer);
    // The next chunk, of this panel or the one behind it, comes from far away: its lines are asked for while this one is multiplied.
    const std::byte* next = panel + end * Codec::kColumnBytes;
    const std::size_t share = kChunk * Codec::kColumnBytes / ((rows + kTileRows - 1) / kTileRows);
    for_tiles<float>(rows, [&]<int N>(std::size_t r) {
      const std::byte* const stop = share < static_cast<std::size_t>(last - next) ? next + share : last;
      for (; next < stop; next += 64) __builtin_prefetch(next);
      add_chain<float, N>(chunk, x.at(r, begin), end - begin, totals.v[r]);
    });
  }
  const std::size_t outputs = task.weight->rows();
  if (outputs >= kPanelRows) {
    for (std::size_t r = 0; r < rows; ++r) store_row(task, p, row0 + r, scaled<Codec>(task, p, load(totals.v[r])));
    return;
  }
  // Narrow rows are packed where their totals lay, each over the lanes that the one before had too many, and leave all at once.
  const F32x16 bias = task.bias ? TailLanes{outputs}.load(task.bias) : zero();
  float* const packed = &totals.v[0][0];
  for (std::size_t r = 0; r < rows; ++r) {
    const F32x16 total = snap(scaled<Codec>(task, p, load(totals.v[r])));
    store(packed + r * outputs, task.bias ? snap(total + bias) : total);
  }
  __builtin_memcpy(task.y + row0 * outputs, packed, rows * outputs * sizeof(float));
}

// f(first row, rows): batches of like size.
template <class F>
void each_batch(std::size_t rows, F&& f) {
  if (rows <= kBatchRows) return f(std::size_t{0}, rows);
  const std::size_t batches = (rows + kBatchRows - 1) / kBatchRows;
  const std::size_t tiles = (rows + batches * kTileRows - 1) / (batches * kTileRows);
  const std::size_t batch = tiles * kTileRows;
  for (std::size_t row = 0; row < rows; row += batch) f(row, rows - row < batch ? rows - row : batch);
}

template <class Codec>
void float_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if (task.rows == 1) {
    for (std::size_t p = first; p < last; ++p)
      store_row(task, p, 0, scaled<Codec>(task, p, stream_panel<Codec>(task.weight->panel(p), task.cols, task.x)));
    return;
  }
  alignas(64) float buffer[kChunk * kLanes];
  each_batch(task.rows, [&](std::size_t row, std::size_t rows) {
    for (std::size_t p = first; p < last; ++p) float_panel_batch<Codec>(task, p, row, rows, buffer);
  });
}

// total[r][16] += scale * the chain of sum_k a[r, k] columns[k][16], for r < N: add_chain() with groups in place of its blocks.
template <int N>
[[gnu::noinline]] void add_group(const float* columns, Factor<float> a, std::size_t terms, const float* scale, float* total) {
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
  Totals totals;
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
    for_tiles<float>(rows, [&]<int N>(std::size_t r) { add_group<N>(buffer, x.at(r, begin), count, scale, totals.v[r]); });
  }
  for (std::size_t r = 0; r < rows; ++r) store_row(task, p, row0 + r, load(totals.v[r]));
}

void fp4_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  alignas(64) float buffer[kMaxGroup * kLanes];
  each_batch(task.rows, [&](std::size_t row, std::size_t rows) {
    for (std::size_t p = first; p < last; ++p) fp4_panel(task, p, row, rows, buffer);
  });
}

// ---- panels that compute in f64: engine D-30, D-32 ----

template <class Code>
void wide_panel(const MatmulTask& task, std::size_t p, double* buffer) {
  constexpr bool kIsFloat = std::is_floating_point_v<Code>;
  const std::byte* panel = task.weight->panel(p);
  const double* zeros = task.weight->layout().has_zeros ? task.weight->wide_row_zeros() + p * kPanelRows : nullptr;
  for (std::size_t row = 0; row < task.rows; ++row) {
    double total[kLanes] = {};
    for (std::size_t begin = 0; begin < task.cols; begin += kChain) {  // a block, decoded first
      const std::size_t end = begin + kChain < task.cols ? begin + kChain : task.cols;
      for (std::size_t i = 0; i < (end - begin) * kLanes; ++i) {
        Code code;
        __builtin_memcpy(&code, panel + (begin * kLanes + i) * sizeof(Code), sizeof(Code));
        buffer[i] = static_cast<double>(code) - (zeros != nullptr ? zeros[i % kLanes] : 0.0);
      }
      double block[kLanes] = {};
      for (std::size_t c = begin; c < end; ++c) {
        const double x = static_cast<double>(task.x[row * task.cols + c]);
        for (std::size_t l = 0; l < kLanes; ++l) block[l] = block[l] + buffer[(c - begin) * kLanes + l] * x;
      }
      for (std::size_t l = 0; l < kLanes; ++l) total[l] = total[l] + block[l];
    }
    alignas(64) float y[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l)
      y[l] = static_cast<float>(kIsFloat ? total[l] : total[l] * task.weight->wide_row_scales()[p * kPanelRows + l]);
    store_row(task, p, row, load(y));
  }
}

template <class Signed, class Unsigned>
void wide_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  double buffer[kChain * kLanes];
  for (std::size_t p = first; p < last; ++p)
    task.weight->layout().is_signed ? wide_panel<Signed>(task, p, buffer) : wide_panel<Unsigned>(task, p, buffer);
}

// ---- block panels ----

template <int Bits, std::size_t Sub, bool Half, bool Min, bool Zeros = false>
struct BlockFormat {
  static constexpr int kBits = Bits;
  static constexpr bool kMin = Min, kZeros = Zeros;
  static constexpr std::size_t kSub = Sub, kSubs = 32 / Sub;
  static constexpr std::size_t kCodeBytes = 64 * Bits;
  static constexpr std::size_t kFactorBytes = kLanes * (Half ? 2 : 4);
  static constexpr std::size_t kZerosAt = kSubs * kFactorBytes * (Min ? 2 : 1);
  static constexpr std::size_t kFactors = kZerosAt + (Zeros ? kLanes : 0);
  static constexpr std::size_t kBytes = kCodeBytes + kFactors;

  static LOOM_INLINE native::F32 factors(const std::byte* p, std::size_t slice) {
    if constexpr (Half)
      return load_halfs(reinterpret_cast<const std::uint16_t*>(p) + slice * kRegisterLanes);
    else
      return *reinterpret_cast<const native::F32Memory*>(p + slice * kRegisterBytes);
  }
};

LOOM_INLINE native::F32 to_float(native::I32 v) { return __builtin_convertvector(v, native::F32); }

// The codes of sub-block s of one slice, for as many rows of x as come.
template <class Format, bool Wide>
class Codes {
 public:
  LOOM_INLINE Codes(const std::byte* block, std::size_t s, std::size_t slice) : slice_(at(block, s, slice)) {}

  LOOM_INLINE native::I32 dot(const QuantizedBlock& x, std::size_t s) const {
    if constexpr (Format::kBits < 8 && Wide)
      return slice_.dot(x.high, x.low);
    else if constexpr (Format::kBits < 8)
      return slice_.dot(x.high);
    else if constexpr (Wide)
      return slice_.dot(x.words + s * Format::kSub);
    else
      return slice_.dot(x.high + s * Format::kSub, Format::kSub == 32 ? x.sum : x.sums16[s]);
  }

  // The same for the only row there is.
  static LOOM_INLINE native::I32 dot_once(const std::byte* block, std::size_t s, std::size_t slice, const QuantizedBlock& x) {
    if constexpr (Format::kBits == 8 && Wide)
      return Slice::dot_once(at(block, s, slice), x.words + s * Format::kSub);
    else
      return Codes(block, s, slice).dot(x, s);
  }

 private:
  using Bytes = std::conditional_t<Wide, WordSlice<Format::kSub>, ByteSlice<Format::kSub>>;
  using Slice = std::conditional_t<(Format::kBits < 8), CodeSlice<Format::kBits>, Bytes>;

  static LOOM_INLINE const std::byte* at(const std::byte* block, std::size_t s, std::size_t slice) {
    return block + s * 256 + slice * kRegisterBytes;  // only bytes have sub-blocks
  }

  Slice slice_;
};

// The scale, minimum and zero point of sub-block s of a slice.
template <class Format>
struct Factors {
  native::F32 d, m{};
  native::I32 zeros{};
  LOOM_INLINE Factors(const std::byte* factors, std::size_t s, std::size_t slice) {
    const std::byte* p = factors + s * (Format::kMin ? 2 : 1) * Format::kFactorBytes;
    d = Format::factors(p, slice);
    if constexpr (Format::kMin) m = Format::factors(p + Format::kFactorBytes, slice);
    if constexpr (Format::kZeros) zeros = load_bytes(factors + Format::kZerosAt + slice * kRegisterLanes);
  }
};

// total += f32(dot) * (scale * sx), then min * (sx * f32(sum q)); `sum` is that of the inputs behind dot.
template <class Format>
LOOM_INLINE native::F32 add_block(native::F32 total, native::I32 dot, std::int32_t sum, std::int32_t offset, const Factors<Format>& f,
                                  const QuantizedBlock& x, std::size_t s) {
  if constexpr (Format::kBits == 1) dot += dot;
  if ((Format::kBits < 8 || Format::kZeros) && offset != 0) dot -= offset * sum;
  if constexpr (Format::kZeros) dot -= f.zeros * sum;
  total = total + to_float(dot) * (f.d * x.scale);
  if constexpr (Format::kMin) total = total + f.m * (Format::kSub == 32 ? x.scaled : x.scaled16[s]);
  return total;
}

// Keeps the compiler from holding the inputs that two slices share: it would spill them all, and a store costs more than a load.
LOOM_INLINE void reload() { __asm__ volatile("" ::: "memory"); }

// The sums of a panel of blocks, times the scale of the row of x where it has one of its own.
LOOM_INLINE void store_blocks(const MatmulTask& task, std::size_t p, std::size_t row, const F32x16& total) {
  const float* scales = task.quantized->row_scales;
  store_row(task, p, row, scales != nullptr ? total * splat(scales[row]) : total);
}

// One row of x: a panel goes by once, and its lines are asked for ahead.
template <class Format, bool Wide>
void block_row(const MatmulTask& task, std::size_t p, std::size_t row) {
  const std::int32_t offset = task.weight->layout().code_offset;
  const std::byte* block = task.weight->panel(p);
  const QuantizedBlock* x = task.quantized->row(row);
  F32x16 total = zero();
  for (std::size_t b = 0; b < task.quantized->blocks; ++b, block += Format::kBytes) {
    for (std::size_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
#pragma GCC unroll 16
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      for (std::size_t s = 0; s < Format::kSubs; ++s) {
        const native::I32 dot = Codes<Format, Wide>::dot_once(block, s, slice, x[b]);
        reload();
        const Factors<Format> f(block + Format::kCodeBytes, s, slice);
        total.r[slice] = add_block<Format>(total.r[slice], dot, x[b].sum, offset, f, x[b], s);
      }
  }
  store_blocks(task, p, row, total);
}

constexpr std::size_t kBlockRows = 16;   // rows of x that share one unpacking of the codes

template <class Format, bool Wide>
void block_rows(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t rows) {
  const std::int32_t offset = task.weight->layout().code_offset;
  const std::size_t blocks = task.quantized->blocks;
  const std::byte* block = task.weight->panel(p);
  native::F32 total[kRegisters][kBlockRows] = {};
  for (std::size_t b = 0; b < blocks; ++b, block += Format::kBytes)
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      for (std::size_t s = 0; s < Format::kSubs; ++s) {
        const Codes<Format, Wide> codes(block, s, slice);
        const Factors<Format> f(block + Format::kCodeBytes, s, slice);
        const QuantizedBlock* x = task.quantized->row(row) + b;
        for (std::size_t t = 0; t < rows; ++t, x += blocks)
          total[slice][t] = add_block<Format>(total[slice][t], codes.dot(*x, s), x->sum, offset, f, *x, s);
      }
  for (std::size_t t = 0; t < rows; ++t) {
    F32x16 sum;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) sum.r[slice] = total[slice][t];
    store_blocks(task, p, row + t, sum);
  }
}

// Blocks that share their scales: one exact sum over all of them (engine D-33, groups of 64 and 128).
template <class Format, bool Wide>
void group_row(const MatmulTask& task, std::size_t p, std::size_t row) {
  const PanelLayout& layout = task.weight->layout();
  const std::size_t blocks = task.quantized->blocks, shared = layout.group_blocks();
  const std::byte* block = task.weight->panel(p);
  const QuantizedBlock* x = task.quantized->row(row);
  F32x16 total = zero();
  for (std::size_t b = 0; b < blocks; b += shared) {
    native::I32 dots[kRegisters] = {};
    std::int32_t sum = 0;
    const std::size_t end = b + shared < blocks ? b + shared : blocks;
    for (std::size_t k = b; k < end; ++k, block += Format::kCodeBytes) {
      for (std::size_t line = 0; line < Format::kCodeBytes; line += 64) __builtin_prefetch(block + kAhead + line);
#pragma GCC unroll 16
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        dots[slice] += Codes<Format, Wide>::dot_once(block, 0, slice, x[k]);
        reload();
      }
      sum += x[k].sum;
    }
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      total.r[slice] = add_block<Format>(total.r[slice], dots[slice], sum, layout.code_offset, Factors<Format>(block, 0, slice), x[b], 0);
    block += Format::kFactors;
  }
  store_blocks(task, p, row, total);
}

template <class Format, bool Wide>
void group_rows(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t rows) {
  const PanelLayout& layout = task.weight->layout();
  const std::size_t blocks = task.quantized->blocks, shared = layout.group_blocks();
  const std::byte* block = task.weight->panel(p);
  native::F32 total[kRegisters][kBlockRows] = {};
  for (std::size_t b = 0; b < blocks; b += shared) {
    const std::size_t count = b + shared < blocks ? shared : blocks - b;
    const std::byte* factors = block + count * Format::kCodeBytes;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) {
      native::I32 dots[kBlockRows] = {};
      std::int32_t sums[kBlockRows] = {};
      for (std::size_t k = 0; k < count; ++k) {
        const Codes<Format, Wide> codes(block + k * Format::kCodeBytes, 0, slice);
        const QuantizedBlock* x = task.quantized->row(row) + b + k;
        for (std::size_t t = 0; t < rows; ++t, x += blocks) dots[t] += codes.dot(*x, 0), sums[t] += x->sum;
      }
      const Factors<Format> f(factors, 0, slice);
      const QuantizedBlock* x = task.quantized->row(row) + b;
      for (std::size_t t = 0; t < rows; ++t, x += blocks)
        total[slice][t] = add_block<Format>(total[slice][t], dots[t], sums[t], layout.code_offset, f, *x, 0);
    }
    block = factors + Format::kFactors;
  }
  for (std::size_t t = 0; t < rows; ++t) {
    F32x16 sum;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) sum.r[slice] = total[slice][t];
    store_blocks(task, p, row + t, sum);
  }
}

template <class Format, bool Wide, bool Group>
void block_panels_of(const MatmulTask& task, std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kBlockRows) {
      const std::size_t rows = task.rows - row < kBlockRows ? task.rows - row : kBlockRows;
      if constexpr (Group)
        rows == 1 ? group_row<Format, Wide>(task, p, row) : group_rows<Format, Wide>(task, p, row, rows);
      else
        rows == 1 ? block_row<Format, Wide>(task, p, row) : block_rows<Format, Wide>(task, p, row, rows);
    }
}

template <class Format, bool Group = false>
void block_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if (task.quantized->form == InputForm::Codes)
    block_panels_of<Format, false, Group>(task, first, last);
  else
    block_panels_of<Format, true, Group>(task, first, last);
}

// Scales for 64 or 128 columns, and what no file has: zero points of bytes, bits in groups.
template <int Bits>
void group_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if constexpr (Bits > 1)
    if (task.weight->layout().has_zeros) return block_panels<BlockFormat<Bits, 32, false, false, true>, true>(task, first, last);
  block_panels<BlockFormat<Bits, 32, false, false>, true>(task, first, last);
}

template <int Bits>
void code_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  const PanelLayout& l = task.weight->layout();
  if (l.group_blocks() > 1 || (Bits == 8 && l.has_zeros)) return group_panels<Bits>(task, first, last);
  if constexpr (Bits < 8)
    if (l.has_zeros) return block_panels<BlockFormat<Bits, 32, false, false, true>>(task, first, last);
  if (l.half_scales)
    l.has_min ? block_panels<BlockFormat<Bits, 32, true, true>>(task, first, last)
              : block_panels<BlockFormat<Bits, 32, true, false>>(task, first, last);
  else
    l.has_min ? block_panels<BlockFormat<Bits, 32, false, true>>(task, first, last)
              : block_panels<BlockFormat<Bits, 32, false, false>>(task, first, last);
}

void byte_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  const PanelLayout& l = task.weight->layout();
  if (l.sub_cols == 16)
    l.has_min ? block_panels<BlockFormat<8, 16, false, true>>(task, first, last) : block_panels<BlockFormat<8, 16, false, false>>(task, first, last);
  else
    code_panels<8>(task, first, last);
}

// ---- row panels: one exact integer sum per output, or per 32 columns where inputs have scales by group ----

// I = step * sum(code q) - zero * sum(q); y = f32(I) * (scale * sx). Binary codes stand for 2 code - 1.
template <int Bits>
struct RowFormat {
  static constexpr std::size_t kBytes = 64 * Bits;
  using Slice = std::conditional_t<Bits == 8, ByteSlice<32>, CodeSlice<Bits == 8 ? 4 : Bits>>;

  static LOOM_INLINE native::I32 dot(const Slice& codes, const QuantizedBlock& x) {
    if constexpr (Bits == 8)
      return codes.dot(x.high, x.sum);
    else
      return codes.dot(x.high);
  }

  static LOOM_INLINE native::F32 result(const Matrix& w, std::size_t lane, native::I32 dots, std::int32_t sum, float sx) {
    native::I32 dot = (Bits == 1 ? 2 : 1) * dots - w.layout().code_offset * sum;
    if (w.layout().has_zeros) dot -= *reinterpret_cast<const native::I32Memory*>(w.row_zeros() + lane) * sum;
    return to_float(dot) * (*reinterpret_cast<const native::F32Memory*>(w.row_scales() + lane) * sx);
  }
};

// Blocks of x that share a scale.
LOOM_INLINE std::size_t shared_blocks(const QuantizedRows& x) { return x.scale_cols == 0 ? x.blocks : x.scale_cols / kBlockCols; }

template <int Bits>
void row_once(const MatmulTask& task, std::size_t p, std::size_t row) {
  using Format = RowFormat<Bits>;
  const QuantizedBlock* x = task.quantized->row(row);
  const std::byte* block = task.weight->panel(p);
  const std::size_t blocks = task.quantized->blocks, shared = shared_blocks(*task.quantized);
  F32x16 total = zero();
  for (std::size_t b = 0; b < blocks;) {
    native::I32 dots[kRegisters] = {};
    std::int32_t sum = 0;
    const float sx = x[b].scale;
    for (const std::size_t end = b + shared < blocks ? b + shared : blocks; b < end; ++b, block += Format::kBytes) {
      for (std::size_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
#pragma GCC unroll 16
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        dots[slice] += Format::dot(typename Format::Slice(block + slice * kRegisterBytes), x[b]);
        reload();
      }
      sum += x[b].sum;
    }
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      total.r[slice] = total.r[slice] + Format::result(*task.weight, p * kPanelRows + slice * kRegisterLanes, dots[slice], sum, sx);
  }
  store_row(task, p, row, total);
}

template <int Bits>
void row_many(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t rows) {
  using Format = RowFormat<Bits>;
  const QuantizedRows& x = *task.quantized;
  const std::byte* block = task.weight->panel(p);
  const std::size_t shared = shared_blocks(x);
  native::F32 total[kRegisters][kBlockRows] = {};
  for (std::size_t b = 0; b < x.blocks;) {
    native::I32 dots[kRegisters][kBlockRows] = {};
    std::int32_t sums[kBlockRows] = {};
    const std::size_t first = b;
    for (const std::size_t end = b + shared < x.blocks ? b + shared : x.blocks; b < end; ++b, block += Format::kBytes) {
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        const typename Format::Slice codes(block + slice * kRegisterBytes);
        const QuantizedBlock* q = x.row(row) + b;
        for (std::size_t t = 0; t < rows; ++t, q += x.blocks) dots[slice][t] += Format::dot(codes, *q);
      }
      for (std::size_t t = 0; t < rows; ++t) sums[t] += x.row(row + t)[b].sum;
    }
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      for (std::size_t t = 0; t < rows; ++t)
        total[slice][t] = total[slice][t] + Format::result(*task.weight, p * kPanelRows + slice * kRegisterLanes, dots[slice][t], sums[t],
                                                           x.row(row + t)[first].scale);
  }
  for (std::size_t t = 0; t < rows; ++t) {
    F32x16 sum;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) sum.r[slice] = total[slice][t];
    store_row(task, p, row + t, sum);
  }
}

template <int Bits>
void row_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kBlockRows) {
      const std::size_t rows = task.rows - row < kBlockRows ? task.rows - row : kBlockRows;
      if (rows == 1)
        row_once<Bits>(task, p, row);
      else
        row_many<Bits>(task, p, row, rows);
    }
}

// ---- activations ----

// The largest size; NaN when an element is, so that the scale carries it on to every output.
float largest_of(const float* x, std::size_t n) {
  F32x16 m = zero();
  I32x16 bad = zero_i();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const F32x16 v = lanes.load(x + i);
    m = max(abs(v), m);
    bad = bad | (v != v);
  });
  alignas(64) std::int32_t nan[kLanes];
  store(nan, bad);
  std::int32_t any = 0;
  for (const std::int32_t lane : nan) any |= lane;
  return any != 0 ? __builtin_bit_cast(float, kQuietNan) : max_lane(m);
}

// q = clamp(rne(x * (top / largest)), -top, top). Rows that hold NaN or infinity give codes 0 and a scale that is not finite.
LOOM_INLINE I32x16 codes_of(const F32x16& x, float inverse, float top) {
  const F32x16 scaled = x * splat(inverse);
  const F32x16 clamped = max(min(scaled, splat(top)), splat(-top));
  return round_to_int(select(scaled == scaled, clamped, zero()));
}

std::int32_t sum_of(const std::int32_t (&q)[kLanes]) {
  std::int32_t sum = 0;
  for (const std::int32_t lane : q) sum += lane;
  return sum;
}

constexpr float kTop8 = 127.0f, kTop16 = 32512.0f;

// Sixteen elements, one half of a block; returns the sum of their q.
std::int32_t quantize16(const float* x, float inverse, InputForm form, std::size_t half, QuantizedBlock& out) {
  alignas(64) std::int32_t q[kLanes];
  if (form == InputForm::Codes) {
    store(q, codes_of(load(x), inverse, kTop8));
    for (std::size_t i = 0; i < kLanes; ++i) out.high[half * 16 + i] = static_cast<std::int8_t>(q[i]);
    return sum_of(q);
  }
  const I32x16 wide = codes_of(load(x), inverse, kTop16);
  store(q, wide);
  if (form == InputForm::Words) {
    for (std::size_t i = 0; i < kLanes; i += 4)
      for (std::size_t k = 0; k < 4; ++k) out.words[half * 16 + i + k] = static_cast<std::int16_t>(q[i + kWordOrder[k]]);
    return sum_of(q);
  }
  alignas(64) std::int32_t high[kLanes], low[kLanes];
  const I32x16 digit = round_to_int(to_float(wide) * splat(1.0f / kDigit));   // 255 is odd: never half-way
  store(high, digit);
  store(low, wide - digit * splat(kDigit));
  for (std::size_t i = 0; i < kLanes; ++i) out.high[half * 16 + i] = static_cast<std::int8_t>(high[i]);
  for (std::size_t i = 0; i < kLanes; ++i) out.low[half * 16 + i] = static_cast<std::int8_t>(low[i]);
  return sum_of(q);
}

void quantize_row(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out) {
  const float top = out.form == InputForm::Codes ? kTop8 : kTop16;
  float inverse = 0, scale = 0;
  const std::size_t span = out.scale_cols == 0 ? cols : out.scale_cols;
  const auto set_scale = [&](const float* from, std::size_t n) {
    float largest = largest_of(from, n);
    if (largest < out.floor) largest = out.floor;
    inverse = largest == 0 ? 0.0f : top / largest;
    scale = largest == 0 ? 0.0f : largest / top;
  };
  QuantizedBlock* block = out.row(row);
  for (std::size_t c = 0; c < cols; c += kBlockCols, ++block) {
    if (c % span == 0) set_scale(x + c, cols - c < span ? cols - c : span);
    if (c == 0 && out.splits_scale) out.row_scales[row] = scale, scale = 1;
    alignas(64) float padded[kBlockCols] = {};
    const float* from = x + c;
    if (cols - c < kBlockCols) {
      for (std::size_t i = 0; i < cols - c; ++i) padded[i] = from[i];
      from = padded;
    }
    const std::int32_t first = quantize16(from, inverse, out.form, 0, *block), second = quantize16(from + 16, inverse, out.form, 1, *block);
    block->scale = scale;
    block->sum = first + second;
    block->sums16[0] = first;
    block->sums16[1] = second;
    block->scaled = scale * static_cast<float>(first + second);
    block->scaled16[0] = scale * static_cast<float>(first);
    block->scaled16[1] = scale * static_cast<float>(second);
  }
}

// Compilers warn of a kind that is missing here.
constexpr PanelKernel kernel_of(PanelKind kind) {
  switch (kind) {
    case PanelKind::Float64: return wide_panels<double, double>;
    case PanelKind::Float32: return float_panels<Float32Codec>;
    case PanelKind::Float16: return float_panels<Float16Codec>;
    case PanelKind::BFloat16: return float_panels<BFloat16Codec>;
    case PanelKind::Fp8E4M3: return float_panels<Fp8E4M3Codec>;
    case PanelKind::Fp8E5M2: return float_panels<Fp8E5M2Codec>;
    case PanelKind::BlockFp4: return fp4_panels;
    case PanelKind::Wide16: return wide_panels<std::int16_t, std::uint16_t>;
    case PanelKind::Wide32: return wide_panels<std::int32_t, std::uint32_t>;
    case PanelKind::Wide64: return wide_panels<std::int64_t, std::uint64_t>;
    case PanelKind::BlockNibbles: return code_panels<4>;
    case PanelKind::BlockCrumbs: return code_panels<2>;
    case PanelKind::BlockBytes: return byte_panels;
    case PanelKind::BlockBits: return group_panels<1>;
    case PanelKind::RowBytes: return row_panels<8>;
    case PanelKind::RowNibbles: return row_panels<4>;
    case PanelKind::RowCrumbs: return row_panels<2>;
    case PanelKind::RowBits: return row_panels<1>;
  }
  return nullptr;
}

constexpr MatmulKernels kernels() {
  MatmulKernels table{.panels = {}, .quantize_row = quantize_row};
  for (std::size_t i = 0; i < kNumPanelKinds; ++i) table.panels[i] = kernel_of(static_cast<PanelKind>(i));
  return table;
}

}  // namespace

extern const MatmulKernels matmul_kernels;
constinit const MatmulKernels matmul_kernels = kernels();

}  // namespace loom::inline LOOM_TARGET
