#include "int_dot.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/tile.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// ---- float panels ----

constexpr std::size_t kChunk = 256;       // columns decoded to f32 at a time when many rows share them
constexpr std::size_t kBatchRows = 48;    // rows whose totals are held at once

struct Totals {
  alignas(64) float v[kBatchRows][kLanes];
};

void store_row(const MatmulTask& task, std::size_t p, std::size_t row, F32x16 total) {
  const std::size_t outputs = task.weight->rows(), first = p * kPanelRows;
  float* y = task.y + row * outputs + first;
  total = snap(total);
  if (first + kPanelRows <= outputs) {
    if (task.bias) total = snap(total + load(task.bias + first));
    store(y, total);
    return;
  }
  alignas(64) float last[kLanes];
  store(last, total);
  for (std::size_t i = 0; first + i < outputs; ++i) y[i] = task.bias ? snap(last[i] + task.bias[first + i]) : last[i];
}

template <class Codec>
void decode_chunk(const std::byte* panel, std::size_t begin, std::size_t end, float* out) {
  for (std::size_t c = begin; c < end; ++c, out += kLanes) store(out, Codec::decode16(panel + c * Codec::kColumnBytes));
}

// One panel for a batch: columns are decoded once per chunk, then read from the first-level cache by every row.
template <class Codec>
void float_panel_batch(const MatmulTask& task, std::size_t p, std::size_t row0, std::size_t rows, float* buffer) {
  Totals totals;
  for (std::size_t r = 0; r < rows; ++r) store(totals.v[r], zero());
  const std::byte* panel = task.weight->panel(p);
  for (std::size_t begin = 0; begin < task.cols; begin += kChunk) {
    const std::size_t end = begin + kChunk < task.cols ? begin + kChunk : task.cols;
    decode_chunk<Codec>(panel, begin, end, buffer);
    const auto* chunk = reinterpret_cast<const std::byte*>(buffer);
    for (std::size_t r = 0; r < rows; r += kTileTokens) {
      const int n = static_cast<int>(rows - r < kTileTokens ? rows - r : kTileTokens);
      with_count<kTileTokens>(n, [&]<int T>() {
        F32x16 total[T];
        for (int t = 0; t < T; ++t) total[t] = load(totals.v[r + t]);
        tile<Float32Codec, T>(chunk, 0, end - begin, task.x + (row0 + r) * task.cols + begin, task.cols, total);
        for (int t = 0; t < T; ++t) store(totals.v[r + t], total[t]);
      });
    }
  }
  for (std::size_t r = 0; r < rows; ++r) store_row(task, p, row0 + r, load(totals.v[r]));
}

template <class Codec>
void float_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if (task.rows <= kTileTokens) {
    with_count<kTileTokens>(static_cast<int>(task.rows), [&]<int T>() {
      for (std::size_t p = first; p < last; ++p) {
        F32x16 total[T];
        for (int t = 0; t < T; ++t) total[t] = zero();
        tile<Codec, T>(task.weight->panel(p), 0, task.cols, task.x, task.cols, total);
        for (int t = 0; t < T; ++t) store_row(task, p, t, total[t]);
      }
    });
    return;
  }
  alignas(64) float buffer[kChunk * kLanes];
  for (std::size_t row = 0; row < task.rows; row += kBatchRows)
    for (std::size_t p = first; p < last; ++p)
      float_panel_batch<Codec>(task, p, row, task.rows - row < kBatchRows ? task.rows - row : kBatchRows, buffer);
}

// ---- block panels ----

template <bool Nibbles, std::size_t Sub, bool Half, bool Min>
struct BlockFormat {
  static constexpr bool kNibbles = Nibbles, kMin = Min;
  static constexpr std::size_t kSub = Sub;
  static constexpr std::size_t kCodeBytes = Nibbles ? 256 : 512;
  static constexpr std::size_t kFactorBytes = kLanes * (Half ? 2 : 4);
  static constexpr std::size_t kBytes = kCodeBytes + 32 / Sub * kFactorBytes * (Min ? 2 : 1);

  static LOOM_INLINE native::F32 factors(const std::byte* p, std::size_t slice) {
    if constexpr (Half)
      return load_halfs(reinterpret_cast<const std::uint16_t*>(p) + slice * kRegisterLanes);
    else
      return *reinterpret_cast<const native::F32Memory*>(p + slice * kRegisterBytes);
  }
};

LOOM_INLINE native::F32 to_float(native::I32 v) { return __builtin_convertvector(v, native::F32); }

// The digits of T rows of x in one block: their high codes, then (Wide) their low ones.
template <int T, bool Wide>
struct Digits {
  static constexpr int kCount = Wide ? 2 * T : T;
  const std::int8_t* codes[kCount];
  std::int32_t sums[kCount];   // of the sub-block at hand

  // q = 255 * high + low, of dots as of sums.
  template <class V>
  static LOOM_INLINE V joined(const V (&digits)[kCount], int t) {
    if constexpr (Wide)
      return digits[t] * kDigit + digits[T + t];
    else
      return digits[t];
  }
};

template <int T, bool Wide, std::size_t Sub>
LOOM_INLINE Digits<T, Wide> digits_of(const QuantizedRows& x, std::size_t row, std::size_t b, std::size_t s) {
  Digits<T, Wide> d;
  for (int t = 0; t < T; ++t) {
    const std::size_t at = (row + t) * x.blocks + b;
    d.codes[t] = x.codes + at * 32 + s * Sub;
    d.sums[t] = Sub == 32 ? x.sums[at] : x.sums16[at * 2 + s];
    if constexpr (Wide) {
      d.codes[T + t] = x.low_codes + at * 32 + s * Sub;
      d.sums[T + t] = Sub == 32 ? x.low_sums[at] : x.low_sums16[at * 2 + s];
    }
  }
  return d;
}

// T rows of x against one slice of one 32-column block.
template <class Format, int T, bool Wide>
LOOM_INLINE void block_slice(const std::byte* block, std::size_t slice, std::int32_t offset, const QuantizedRows& x, std::size_t row,
                             std::size_t b, native::F32 (&total)[T]) {
  using D = Digits<T, Wide>;
  const std::byte* factors = block + Format::kCodeBytes;
  for (std::size_t s = 0; s < 32 / Format::kSub; ++s) {
    const D digits = digits_of<T, Wide, Format::kSub>(x, row, b, s);
    native::I32 dots[D::kCount];
    if constexpr (Format::kNibbles)
      dot32_nibbles<D::kCount>(block + slice * kRegisterBytes, digits.codes, dots);
    else
      dot_bytes<Format::kSub, D::kCount>(block + s * 256 + slice * kRegisterBytes, digits.codes, digits.sums, dots);
    const std::size_t step = Format::kMin ? 2 : 1;
    const native::F32 d = Format::factors(factors + s * step * Format::kFactorBytes, slice);
    for (int t = 0; t < T; ++t) {
      native::I32 dot = D::joined(dots, t);
      if (Format::kNibbles && offset != 0) dot -= offset * D::joined(digits.sums, t);
      total[t] = total[t] + to_float(dot) * (d * x.scales[(row + t) * x.blocks + b]);
    }
    if constexpr (Format::kMin) {
      const native::F32 m = Format::factors(factors + (s * step + 1) * Format::kFactorBytes, slice);
      for (int t = 0; t < T; ++t)
        total[t] = total[t] + m * (Format::kSub == 32 ? x.scaled[(row + t) * x.blocks + b] : x.scaled16[((row + t) * x.blocks + b) * 2 + s]);
    }
  }
}

// One row of x reads a panel once, all slices of a block before the next block; several rows keep a slice's codes in registers.
template <class Format, bool Wide>
void block_row(const MatmulTask& task, std::size_t p, std::size_t row) {
  const std::int32_t offset = task.weight->layout().code_offset;
  const std::byte* block = task.weight->panel(p);
  F32x16 total = zero();
  for (std::size_t b = 0; b < task.quantized->blocks; ++b, block += Format::kBytes) {
    for (std::size_t line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
#pragma GCC unroll 16
    for (std::size_t slice = 0; slice < kRegisters; ++slice) {
      native::F32 one[1] = {total.r[slice]};
      block_slice<Format, 1, Wide>(block, slice, offset, *task.quantized, row, b, one);
      total.r[slice] = one[0];
    }
  }
  store_row(task, p, row, total);
}

template <class Format, int T, bool Wide>
void block_rows(const MatmulTask& task, std::size_t p, std::size_t row) {
  const std::int32_t offset = task.weight->layout().code_offset;
  F32x16 total[T];
  for (std::size_t slice = 0; slice < kRegisters; ++slice) {
    const std::byte* block = task.weight->panel(p);
    native::F32 sums[T] = {};
    for (std::size_t b = 0; b < task.quantized->blocks; ++b, block += Format::kBytes)
      block_slice<Format, T, Wide>(block, slice, offset, *task.quantized, row, b, sums);
    for (int t = 0; t < T; ++t) total[t].r[slice] = sums[t];
  }
  for (int t = 0; t < T; ++t) store_row(task, p, row + t, total[t]);
}

template <class Format, bool Wide>
void block_panels_of(const MatmulTask& task, std::size_t first, std::size_t last) {
  constexpr int kTokens = Wide ? kBlockTokens / 2 : kBlockTokens;
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kTokens) {
      const int n = static_cast<int>(task.rows - row < kTokens ? task.rows - row : kTokens);
      with_count<kTokens>(n, [&]<int T>() {
        if constexpr (T == 1)
          block_row<Format, Wide>(task, p, row);
        else
          block_rows<Format, T, Wide>(task, p, row);
      });
    }
}

template <class Format>
void block_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if (task.quantized->low_codes != nullptr)
    block_panels_of<Format, true>(task, first, last);
  else
    block_panels_of<Format, false>(task, first, last);
}

void nibble_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  const PanelLayout& l = task.weight->layout();
  if (l.half_scales)
    l.has_min ? block_panels<BlockFormat<true, 32, true, true>>(task, first, last) : block_panels<BlockFormat<true, 32, true, false>>(task, first, last);
  else
    l.has_min ? block_panels<BlockFormat<true, 32, false, true>>(task, first, last) : block_panels<BlockFormat<true, 32, false, false>>(task, first, last);
}

void byte_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  const PanelLayout& l = task.weight->layout();
  if (l.sub_cols == 16)
    l.has_min ? block_panels<BlockFormat<false, 16, false, true>>(task, first, last) : block_panels<BlockFormat<false, 16, false, false>>(task, first, last);
  else if (l.half_scales)
    l.has_min ? block_panels<BlockFormat<false, 32, true, true>>(task, first, last) : block_panels<BlockFormat<false, 32, true, false>>(task, first, last);
  else
    l.has_min ? block_panels<BlockFormat<false, 32, false, true>>(task, first, last) : block_panels<BlockFormat<false, 32, false, false>>(task, first, last);
}

// ---- row panels: one exact integer sum per output ----

template <int T>
void row_rows(const MatmulTask& task, std::size_t p, std::size_t row) {
  const QuantizedRows& x = *task.quantized;
  F32x16 total[T];
  for (std::size_t slice = 0; slice < kRegisters; ++slice) {
    native::I32 acc[T] = {};
    const std::byte* block = task.weight->panel(p) + slice * kRegisterBytes;
    for (std::size_t b = 0; b < x.blocks; ++b, block += 512) {
      const std::int8_t* codes[T];
      std::int32_t sums[T];
      native::I32 dots[T];
      for (int t = 0; t < T; ++t) codes[t] = x.codes + ((row + t) * x.blocks + b) * 32;
      for (int t = 0; t < T; ++t) sums[t] = x.sums[(row + t) * x.blocks + b];
      dot_bytes<32, T>(block, codes, sums, dots);
      for (int t = 0; t < T; ++t) acc[t] += dots[t];
    }
    const native::F32 scale = *reinterpret_cast<const native::F32Memory*>(task.weight->row_scales() + p * kPanelRows + slice * kRegisterLanes);
    for (int t = 0; t < T; ++t) total[t].r[slice] = to_float(acc[t]) * (scale * x.scales[row + t]);
  }
  for (int t = 0; t < T; ++t) store_row(task, p, row + t, total[t]);
}

void row_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kBlockTokens) {
      const int n = static_cast<int>(task.rows - row < kBlockTokens ? task.rows - row : kBlockTokens);
      with_count<kBlockTokens>(n, [&]<int T>() { row_rows<T>(task, p, row); });
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
  return any != 0 ? __builtin_bit_cast(float, 0x7fc00000u) : max_lane(m);
}

// q = clamp(rne(x * (top / largest)), -top, top). Rows that hold NaN or infinity give codes 0 and a scale that is not finite.
LOOM_INLINE I32x16 codes_of(const F32x16& x, float inverse, float top) {
  const F32x16 scaled = x * splat(inverse);
  const F32x16 clamped = max(min(scaled, splat(top)), splat(-top));
  return round_to_int(select(scaled == scaled, clamped, zero()));
}

std::int32_t store_codes(const I32x16& codes, std::int8_t* out) {
  alignas(64) std::int32_t q[kLanes];
  store(q, codes);
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    out[i] = static_cast<std::int8_t>(q[i]);
    sum += q[i];
  }
  return sum;
}

constexpr float kTop8 = 127.0f, kTop16 = 32512.0f;

// Sixteen elements, half of block `at`; returns the sum of their q.
std::int32_t quantize16(const float* x, float inverse, std::size_t at, std::size_t half, const QuantizedRows& out) {
  const std::size_t codes = at * 32 + half * 16, sums = at * 2 + half;
  if (out.low_codes == nullptr) return out.sums16[sums] = store_codes(codes_of(load(x), inverse, kTop8), out.codes + codes);
  const I32x16 q = codes_of(load(x), inverse, kTop16);
  const I32x16 high = round_to_int(to_float(q) * splat(1.0f / kDigit));   // 255 is odd: never half-way
  out.sums16[sums] = store_codes(high, out.codes + codes);
  out.low_sums16[sums] = store_codes(q - high * splat(kDigit), out.low_codes + codes);
  return kDigit * out.sums16[sums] + out.low_sums16[sums];
}

void quantize_row(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out) {
  const float top = out.low_codes != nullptr ? kTop16 : kTop8;
  float largest = 0, inverse = 0, scale = 0;
  const auto set_scale = [&](const float* from, std::size_t n) {
    largest = largest_of(from, n);
    inverse = largest == 0 ? 0.0f : top / largest;
    scale = largest == 0 ? 0.0f : largest / top;
  };
  if (out.by_row) {
    set_scale(x, cols);
    out.scales[row] = scale;
  }
  for (std::size_t b = 0; b < out.blocks; ++b) {
    const std::size_t at = row * out.blocks + b;
    alignas(64) float padded[32] = {};
    const float* from = x + b * 32;
    if (cols - b * 32 < 32) {
      for (std::size_t i = 0; i < cols - b * 32; ++i) padded[i] = from[i];
      from = padded;
    }
    if (!out.by_row) {
      set_scale(from, 32);
      out.scales[at] = scale;
    }
    const std::int32_t first = quantize16(from, inverse, at, 0, out), second = quantize16(from + 16, inverse, at, 1, out);
    out.sums[at] = out.sums16[2 * at] + out.sums16[2 * at + 1];
    if (out.low_codes != nullptr) out.low_sums[at] = out.low_sums16[2 * at] + out.low_sums16[2 * at + 1];
    out.scaled16[2 * at] = scale * static_cast<float>(first);
    out.scaled16[2 * at + 1] = scale * static_cast<float>(second);
    out.scaled[at] = scale * static_cast<float>(first + second);
  }
}

void no_kernel(const MatmulTask&, std::size_t, std::size_t) { __builtin_trap(); }  // panel_layout() hands out no such panel

}  // namespace

extern const MatmulKernels matmul_kernels;
const MatmulKernels matmul_kernels = {
    {no_kernel, float_panels<Float32Codec>, float_panels<Float16Codec>, float_panels<BFloat16Codec>, no_kernel, no_kernel, nibble_panels, byte_panels, row_panels},
    quantize_row};

}  // namespace loom::inline LOOM_TARGET
