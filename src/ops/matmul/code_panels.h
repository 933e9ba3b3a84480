#pragma once
// Products with panels of codes: quantised inputs, exact integer sums. A part of matmul_cpu.cpp.

#include <type_traits>

#include "dtypes/code_slice.h"
#include "dtypes/panel_codecs.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/store_sums.h"

namespace loom::inline LOOM_TARGET {
namespace {

// ---- block panels ----

// The loops are compiled once for each of these forms: the part of a PanelLayout that they need as constants.
struct BlockForm {
  int bits;
  PanelFactors factors = PanelFactors::F32;
  bool has_min = false, has_zeros = false;
  std::size_t sub = 32;
  std::int32_t scale_offset = 0;
  bool twice_fp4 = false, may_take_words = false;
  bool operator==(const BlockForm&) const = default;
};
constexpr BlockForm form_of(const PanelLayout& l) {
  return {.bits = traits(l.kind).code_bits,
          .factors = l.factors,
          .has_min = l.has_min,
          .has_zeros = l.has_zeros,
          .sub = l.sub_cols,
          .scale_offset = l.scale_offset,
          .twice_fp4 = l.kind == PanelKind::BlockTwiceFp4,
          .may_take_words = l.may_take_words()};
}

// True where every code of up to six bits meets int16 inputs as words. WebAssembly has no instruction that multiplies
// bytes and adds neighbouring products, so digits take two to three times as long. matmul.cpp asks for words.
#if defined(__wasm__)
inline constexpr bool kAlwaysTakesWords = true;
#else
inline constexpr bool kAlwaysTakesWords = false;
#endif

template <BlockForm F>
struct BlockFormat {
  static constexpr int kBits = F.bits;
  static constexpr bool kMin = F.has_min, kZeros = F.has_zeros, kFp4 = F.twice_fp4;
  static constexpr bool kTakesWords = kPrefersWords && kBits < 8 && (kAlwaysTakesWords || F.may_take_words);
  static constexpr bool kNibbles = F.factors == PanelFactors::Nibbles;
  static constexpr bool kShared = F.factors == PanelFactors::Shared;
  static constexpr bool kSuper = kShared || kNibbles || F.factors == PanelFactors::Bytes;
  static constexpr std::size_t kSub = F.sub, kSubs = 32 / kSub;
  static constexpr std::size_t kCodeBytes = 64 * kBits;
  // Blocks that share their factors.
  static constexpr std::size_t kBlocks = kSuper ? kSuperBlocks : 1;
  static constexpr std::size_t kSlotBytes = kLanes * (F.factors == PanelFactors::F32   ? 4
                                                      : F.factors == PanelFactors::F16 ? 2
                                                                                       : 1);
  // The factors of one sub-block take so many bytes, for all sixteen rows.
  static constexpr std::size_t kSubBytes = kShared ? 0 : kSlotBytes * (kMin && !kNibbles ? 2 : 1);
  // The offset of zero points, or of d and dmin of a super-block, which follow those factors.
  static constexpr std::size_t kRestAt = kBlocks * kSubs * kSubBytes;
  static constexpr std::size_t kFactors =
      kSuper ? (kRestAt + kLanes * (kMin ? 4 : 2) + 63) / 64 * 64 : kRestAt + (kZeros ? kLanes : 0);
  static constexpr std::size_t kBytes = kBlocks * kCodeBytes + kFactors;

  // Reads one register of the slot at p, which holds f16, the exponents of f32, or f32.
  static LOOM_INLINE native::F32 number(const std::byte* p, std::size_t slice) {
    if constexpr (F.factors == PanelFactors::F16)
      return load_halfs(reinterpret_cast<const std::uint16_t*>(p) + slice * kRegisterLanes);
    else if constexpr (F.factors == PanelFactors::Exponents)
      return (native::F32)((native::U32)load_bytes(p + slice * kRegisterLanes) << 23);
    else
      return *reinterpret_cast<const native::F32Memory*>(p + slice * kRegisterBytes);
  }

  // A Slice reads the codes of sub-block S.
  template <std::size_t S>
  using Slice = CodeSlice<kBits, kFp4, kSub / 4, kSub * S>;
  static constexpr std::int32_t kScaleOffset = F.scale_offset;
};

LOOM_INLINE native::F32 to_float(native::I32 v) { return __builtin_convertvector(v, native::F32); }

// The codes of sub-block S of one slice, for as many rows of x as come.
template <class Format, bool Wide, std::size_t S>
class Codes {
 public:
  LOOM_INLINE Codes(const std::byte* block, std::size_t slice) : slice_(block + slice * kRegisterBytes) {}

  LOOM_INLINE native::I32 dot(const QuantizedBlock& x) const {
    if constexpr (Format::kTakesWords && Wide)
      return slice_.dot(x.words + S * Format::kSub);
    else if constexpr (Format::kBits < 8 && Wide)
      return slice_.dot(x.high + S * Format::kSub, x.low + S * Format::kSub);
    else if constexpr (Format::kBits < 8)
      return slice_.dot(x.high + S * Format::kSub);
    else if constexpr (Wide)
      return slice_.dot(x.words);
    else
      return slice_.dot(x.high, x.sum);
  }

  // Like dot(), for a single row.
  static LOOM_INLINE native::I32 dot_once(const std::byte* block, std::size_t slice, const QuantizedBlock& x) {
    if constexpr (Format::kBits == 8 && Wide)
      return Slice::dot_once(block + slice * kRegisterBytes, x.words);
    else
      return Codes(block, slice).dot(x);
  }

 private:
  using Bytes = std::conditional_t<Wide, WordSlice, ByteSlice>;
  using Slice = std::conditional_t<(Format::kBits < 8), typename Format::template Slice<S>, Bytes>;
  static_assert(Format::kBits < 8 || Format::kSub == 32);

  Slice slice_;
};

// Like Codes, for several rows: a dot is of both vectors of QuantizedBlock::pairs.
template <class Format, std::size_t S>
class PairCodes {
 public:
  LOOM_INLINE PairCodes(const std::byte* block, std::size_t slice) : slice_(block + slice * kRegisterBytes) {}
  LOOM_INLINE auto dot(const QuantizedBlock& x) const { return slice_.dots(x.pairs + 2 * S * Format::kSub); }

 private:
  typename Format::template Slice<S> slice_;
};
template <class Format, bool Wide, std::size_t S>
using CodesOfRows = std::conditional_t<kHasPairs, PairCodes<Format, S>, Codes<Format, Wide, S>>;

// Calls f(t, dot, block) for `rows` rows of x, whose blocks are `blocks` apart and the first of which is even.
template <bool Wide, class Codes, class F>
LOOM_INLINE void each_dot(const Codes& codes, const QuantizedBlock* x, std::size_t blocks, std::size_t rows,
                          const F& f) {
  for (std::size_t t = 0; t < rows; ++t, x += blocks) {
    if constexpr (!kHasPairs) {
      f(t, codes.dot(*x), *x);
    } else if constexpr (const auto dots = codes.dot(*x); Wide) {
      f(t, kDigit * dots.first + dots.second, *x);
    } else {
      f(t, dots.first, *x);
      if (++t == rows) return;
      x += blocks;
      f(t, dots.second, *x);
    }
  }
}

// f<sub-block>() for each of a block.
template <class Format, class F>
LOOM_INLINE void each_sub(F&& f) {
  f.template operator()<0>();
  if constexpr (Format::kSubs == 2) f.template operator()<1>();
}

// All sub-blocks of a super-block are scaled by the same d and dmin, which are loaded once.
template <class Format>
struct SuperScales {
  native::F32 d[kRegisters], dmin[kRegisters];
  LOOM_INLINE explicit SuperScales(const std::byte* factors) {
    if constexpr (Format::kSuper)
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        const auto* halfs = reinterpret_cast<const std::uint16_t*>(factors + Format::kRestAt) + slice * kRegisterLanes;
        d[slice] = load_halfs(halfs);
        if constexpr (Format::kMin) dmin[slice] = load_halfs(halfs + kLanes);
      }
  }
};

// The scale, minimum and zero point of sub-block s of a slice.
template <class Format>
struct Factors {
  native::F32 d, m{};
  native::I32 zeros{};
  LOOM_INLINE Factors(const std::byte* factors, std::size_t s, std::size_t slice, const SuperScales<Format>& super) {
    const std::byte* p = factors + s * Format::kSubBytes;
    if constexpr (Format::kShared) {
      d = super.d[slice];
    } else if constexpr (Format::kSuper) {
      const native::I32 bytes = load_bytes(p + slice * kRegisterLanes);
      const native::I32 scale = Format::kNibbles ? bytes & 15 : bytes;
      d = super.d[slice] * to_float(Format::kScaleOffset != 0 ? scale - Format::kScaleOffset : scale);
      if constexpr (Format::kMin) {
        const native::I32 min = Format::kNibbles ? bytes >> 4 : load_bytes(p + kLanes + slice * kRegisterLanes);
        m = super.dmin[slice] * to_float(min);
      }
    } else {
      d = Format::number(p, slice);
      if constexpr (Format::kMin) m = Format::number(p + Format::kSlotBytes, slice);
    }
    if constexpr (Format::kZeros) zeros = load_bytes(factors + Format::kRestAt + slice * kRegisterLanes);
  }
};

// total += f32(dot) * (scale * sx), then min * (sx * f32(sum q)); `sum` is that of the inputs of `dot`. Minima of
// super-blocks are subtracted, since dmin has the other sign.
template <class Format>
LOOM_INLINE native::F32 add_block(native::F32 total, native::I32 dot, std::int32_t sum, std::int32_t offset,
                                  const Factors<Format>& f, const QuantizedBlock& x, std::size_t s) {
  if constexpr (Format::kBits == 1) dot += dot;
  if ((Format::kBits < 8 || Format::kZeros) && offset != 0) dot -= offset * sum;
  if constexpr (Format::kZeros) dot -= f.zeros * sum;
  total = total + to_float(dot) * (f.d * x.scale);
  const float scaled = Format::kSub == 32 ? x.scaled : x.scaled16[s];
  if constexpr (Format::kMin && Format::kSuper)
    total = total - f.m * scaled;
  else if constexpr (Format::kMin)
    total = total + f.m * scaled;
  return total;
}

template <class Format>
LOOM_INLINE std::int32_t input_sum(const QuantizedBlock& x, std::size_t s) {
  return Format::kSub == 32 ? x.sum : x.sums16[s];
}

// Keeps the compiler from holding the inputs that two slices share: it would spill them all, and a store costs more
// than a load.
LOOM_INLINE void reload() { __asm__ volatile("" ::: "memory"); }

// Asks for the lines of a panel ahead of use. (That they are read once is not said: a hint of that kind is worth 7 % to
// a Zen 4, and takes four fifths of the speed from a Xeon.)
template <std::size_t Bytes>
LOOM_INLINE void ask_for(const std::byte* from) {
  for (std::size_t line = 0; line < Bytes; line += 64) __builtin_prefetch(from + line);
}

// The sums of a panel of blocks, times the scale of the row of x where it has one of its own.
LOOM_INLINE void store_blocks(const MatmulTask& task, std::size_t p, std::size_t row, const F32x16& total) {
  const float* scales = task.quantized->row_scales;
  store_row(task, p, row, scales != nullptr ? total * splat(scales[row]) : total);
}

// For one row of x, takes panels in pairs that are half of the part from each other, each once, and prefetches their
// lines: a core reads two streams faster than one (a Xeon 1.7 times as fast). f(how many, first panel, panels between
// them).
template <class F>
LOOM_INLINE void for_pairs(std::size_t first, std::size_t last, F&& f) {
  const std::size_t half = (last - first) / 2;
  for (std::size_t p = first; p < first + half; ++p) f(std::integral_constant<std::size_t, 2>{}, p, half);
  if ((last - first) % 2 != 0) f(std::integral_constant<std::size_t, 1>{}, last - 1, std::size_t{0});
}

// The blocks that share their factors, times those of x.
template <class Format, bool Wide>
LOOM_INLINE void add_blocks(const std::byte* block, const QuantizedBlock* x, std::int32_t offset, F32x16& total) {
  const std::byte* const factors = Format::kSuper ? block : block + Format::kCodeBytes;
  if constexpr (Format::kSuper) block += Format::kFactors;
  const SuperScales<Format> super(factors);
  if constexpr (Format::kSuper) ask_for<Format::kFactors>(factors + kAhead);
  for (std::size_t k = 0; k < Format::kBlocks; ++k, ++x, block += Format::kCodeBytes) {
    ask_for<Format::kSuper ? Format::kCodeBytes : Format::kBytes>(block + kAhead);
#pragma GCC unroll 16
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      each_sub<Format>([&]<std::size_t S>() {
        const native::I32 dot = Codes<Format, Wide, S>::dot_once(block, slice, *x);
        reload();
        const Factors<Format> f(factors, k * Format::kSubs + S, slice, super);
        total.r[slice] = add_block<Format>(total.r[slice], dot, input_sum<Format>(*x, S), offset, f, *x, S);
      });
  }
}

template <class Format, bool Wide, std::size_t P = 1>
void block_row(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t apart = 0) {
  const std::int32_t offset = task.weight->layout().code_offset;
  const std::size_t bytes = apart * task.weight->panel_bytes();
  const std::byte* block = task.weight->panel(p);
  const QuantizedBlock* x = task.quantized->row(row);
  const QuantizedBlock* const end = x + task.quantized->blocks;
  F32x16 total[P];
  for (F32x16& each : total) each = zero();
  for (; x < end; x += Format::kBlocks, block += Format::kBytes)
    for (std::size_t i = 0; i < P; ++i) add_blocks<Format, Wide>(block + i * bytes, x, offset, total[i]);
  for (std::size_t i = 0; i < P; ++i) store_blocks(task, p + i * apart, row, total[i]);
}

constexpr std::size_t kBlockRows = 16;  // rows of x that share one unpacking of the codes

template <class Format, bool Wide>
void block_rows(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t rows) {
  const std::int32_t offset = task.weight->layout().code_offset;
  const std::size_t blocks = task.quantized->blocks;
  const std::byte* block = task.weight->panel(p);
  native::F32 total[kRegisters][kBlockRows] = {};
  for (std::size_t b = 0; b < blocks;) {
    const std::byte* const factors = Format::kSuper ? block : block + Format::kCodeBytes;
    if constexpr (Format::kSuper) block += Format::kFactors;
    const SuperScales<Format> super(factors);
    if constexpr (Format::kSuper) ask_for<Format::kFactors>(factors + kAhead);
    for (std::size_t k = 0; k < Format::kBlocks; ++k, ++b, block += Format::kCodeBytes) {
      ask_for<Format::kSuper ? Format::kCodeBytes : Format::kBytes>(block + kAhead);
      for (std::size_t slice = 0; slice < kRegisters; ++slice)
        each_sub<Format>([&]<std::size_t S>() {
          const CodesOfRows<Format, Wide, S> codes(block, slice);
          const Factors<Format> f(factors, k * Format::kSubs + S, slice, super);
          each_dot<Wide>(codes, task.quantized->row(row) + b, blocks, rows,
                         [&](std::size_t t, native::I32 dot, const QuantizedBlock& x) __attribute__((always_inline)) {
                           total[slice][t] =
                               add_block<Format>(total[slice][t], dot, input_sum<Format>(x, S), offset, f, x, S);
                         });
        });
    }
    if constexpr (!Format::kSuper) block += Format::kFactors;
  }
  for (std::size_t t = 0; t < rows; ++t) {
    F32x16 sum;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) sum.r[slice] = total[slice][t];
    store_blocks(task, p, row + t, sum);
  }
}

// Blocks that share their scales: one exact sum over all of them (engine D-33, groups of 64 and 128).
template <class Format, bool Wide, std::size_t P = 1>
void group_row(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t apart = 0) {
  const PanelLayout& layout = task.weight->layout();
  const std::size_t blocks = task.quantized->blocks, shared = layout.group_blocks(),
                    bytes = apart * task.weight->panel_bytes();
  const std::byte* block = task.weight->panel(p);
  const QuantizedBlock* x = task.quantized->row(row);
  F32x16 total[P];
  for (F32x16& each : total) each = zero();
  for (std::size_t b = 0; b < blocks; b += shared) {
    native::I32 dots[P][kRegisters] = {};
    std::int32_t sum = 0;
    const std::size_t end = b + shared < blocks ? b + shared : blocks;
    for (std::size_t k = b; k < end; ++k, block += Format::kCodeBytes) {
      for (std::size_t i = 0; i < P; ++i) {
        ask_for<Format::kCodeBytes>(block + i * bytes + kAhead);
#pragma GCC unroll 16
        for (std::size_t slice = 0; slice < kRegisters; ++slice) {
          dots[i][slice] += Codes<Format, Wide, 0>::dot_once(block + i * bytes, slice, x[k]);
          reload();
        }
      }
      sum += x[k].sum;
    }
    for (std::size_t i = 0; i < P; ++i)
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        const std::byte* const factors = block + i * bytes;
        total[i].r[slice] =
            add_block<Format>(total[i].r[slice], dots[i][slice], sum, layout.code_offset,
                              Factors<Format>(factors, 0, slice, SuperScales<Format>(factors)), x[b], 0);
      }
    block += Format::kFactors;
  }
  for (std::size_t i = 0; i < P; ++i) store_blocks(task, p + i * apart, row, total[i]);
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
    for (std::size_t k = 0; k < count; ++k) ask_for<Format::kCodeBytes>(block + k * Format::kCodeBytes + kAhead);
    for (std::size_t slice = 0; slice < kRegisters; ++slice) {
      native::I32 dots[kBlockRows] = {};
      std::int32_t sums[kBlockRows] = {};
      for (std::size_t k = 0; k < count; ++k) {
        const CodesOfRows<Format, Wide, 0> codes(block + k * Format::kCodeBytes, slice);
        each_dot<Wide>(codes, task.quantized->row(row) + b + k, blocks, rows,
                       [&](std::size_t t, native::I32 dot, const QuantizedBlock& x) __attribute__((always_inline)) {
                         dots[t] += dot;
                         sums[t] += x.sum;
                       });
      }
      const Factors<Format> f(factors, 0, slice, SuperScales<Format>(factors));
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
  if constexpr (!kHasPairs)
    if (task.rows == 1)
      return for_pairs(first, last, [&](auto count, std::size_t p, std::size_t apart) {
        if constexpr (Group)
          group_row<Format, Wide, count()>(task, p, 0, apart);
        else
          block_row<Format, Wide, count()>(task, p, 0, apart);
      });
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kBlockRows) {
      const std::size_t rows = task.rows - row < kBlockRows ? task.rows - row : kBlockRows;
      if constexpr (kHasPairs && Group)
        group_rows<Format, Wide>(task, p, row, rows);
      else if constexpr (kHasPairs)
        block_rows<Format, Wide>(task, p, row, rows);
      else if constexpr (Group)
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

// The loops of a call: form<F>() where a scale holds for 16 or 32 columns, group<bits>() for what else blocks share,
// which no file has: scales of 64 or 128 columns, zero points of bytes, bits in groups.
struct LaneLoops {
  template <BlockForm F>
  static void form(const MatmulTask& task, std::size_t first, std::size_t last) {
    block_panels<BlockFormat<F>>(task, first, last);
  }
  template <int Bits>
  static void group(const MatmulTask& task, std::size_t first, std::size_t last) {
    if constexpr (Bits > 1)
      if (task.weight->layout().has_zeros)
        return block_panels<BlockFormat<BlockForm{.bits = Bits, .has_zeros = true}>, true>(task, first, last);
    block_panels<BlockFormat<BlockForm{.bits = Bits}>, true>(task, first, last);
  }
};

// The block formats of this kind in the table of types, from number T on: each form once.
template <PanelKind Kind, class Loops, std::size_t T = kNumTypes>
void format_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if constexpr (T < kNumDTypes) {
    constexpr PanelLayout kLayout = kDTypes[T].panel;
    if constexpr (kLayout.kind == Kind)
      if (form_of(task.weight->layout()) == form_of(kLayout))
        return Loops::template form<form_of(kLayout)>(task, first, last);
    format_panels<Kind, Loops, T + 1>(task, first, last);
  }
}

template <PanelKind Kind, class Loops = LaneLoops>
void code_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  constexpr int kBits = traits(Kind).code_bits;
  const PanelLayout& l = task.weight->layout();
  if (l.factors != PanelFactors::F32) return format_panels<Kind, Loops>(task, first, last);
  if (l.input_blocks() > 1 || (kBits == 8 && l.has_zeros)) return Loops::template group<kBits>(task, first, last);
  if constexpr (kBits < 8)
    if (l.has_zeros) return Loops::template form<BlockForm{.bits = kBits, .has_zeros = true}>(task, first, last);
  Loops::template form<BlockForm{.bits = kBits}>(task, first, last);
}

// ---- row panels: one exact integer sum per output, or per 32 columns where inputs have scales by group ----

// I = step * sum(code q) - zero * sum(q); y = f32(I) * (scale * sx). Binary codes stand for 2 code - 1.
template <int Bits>
struct RowFormat {
  static constexpr std::size_t kBytes = 64 * Bits;
  using Block = BlockFormat<BlockForm{.bits = Bits}>;  // has the same codes

  static LOOM_INLINE native::F32 result(const Matrix& w, std::size_t lane, native::I32 dots, std::int32_t sum,
                                        float sx) {
    native::I32 dot = (Bits == 1 ? 2 : 1) * dots - w.layout().code_offset * sum;
    if (w.layout().has_zeros) dot -= *reinterpret_cast<const native::I32Memory*>(w.row_zeros() + lane) * sum;
    return to_float(dot) * (*reinterpret_cast<const native::F32Memory*>(w.row_scales() + lane) * sx);
  }
};

// Blocks of x that share a scale.
LOOM_INLINE std::size_t shared_blocks(const QuantizedRows& x) {
  return x.scale_cols == 0 ? x.blocks : x.scale_cols / kBlockCols;
}

template <int Bits, std::size_t P = 1>
void row_once(const MatmulTask& task, std::size_t p, std::size_t row, std::size_t apart = 0) {
  using Format = RowFormat<Bits>;
  const QuantizedBlock* x = task.quantized->row(row);
  const std::byte* block = task.weight->panel(p);
  const std::size_t blocks = task.quantized->blocks, shared = shared_blocks(*task.quantized),
                    bytes = apart * task.weight->panel_bytes();
  F32x16 total[P];
  for (F32x16& each : total) each = zero();
  for (std::size_t b = 0; b < blocks;) {
    native::I32 dots[P][kRegisters] = {};
    std::int32_t sum = 0;
    const float sx = x[b].scale;
    for (const std::size_t end = b + shared < blocks ? b + shared : blocks; b < end; ++b, block += Format::kBytes) {
      for (std::size_t i = 0; i < P; ++i) {
        ask_for<Format::kBytes>(block + i * bytes + kAhead);
#pragma GCC unroll 16
        for (std::size_t slice = 0; slice < kRegisters; ++slice) {
          dots[i][slice] += Codes<typename Format::Block, false, 0>::dot_once(block + i * bytes, slice, x[b]);
          reload();
        }
      }
      sum += x[b].sum;
    }
    for (std::size_t i = 0; i < P; ++i)
      for (std::size_t slice = 0; slice < kRegisters; ++slice)
        total[i].r[slice] =
            total[i].r[slice] + Format::result(*task.weight, (p + i * apart) * kPanelRows + slice * kRegisterLanes,
                                               dots[i][slice], sum, sx);
  }
  for (std::size_t i = 0; i < P; ++i) store_row(task, p + i * apart, row, total[i]);
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
      ask_for<Format::kBytes>(block + kAhead);
      for (std::size_t slice = 0; slice < kRegisters; ++slice) {
        const CodesOfRows<typename Format::Block, false, 0> codes(block, slice);
        each_dot<false>(codes, x.row(row) + b, x.blocks, rows,
                        [&](std::size_t t, native::I32 dot, const QuantizedBlock&)
                            __attribute__((always_inline)) { dots[slice][t] += dot; });
      }
      for (std::size_t t = 0; t < rows; ++t) sums[t] += x.row(row + t)[b].sum;
    }
    for (std::size_t slice = 0; slice < kRegisters; ++slice)
      for (std::size_t t = 0; t < rows; ++t)
        total[slice][t] = total[slice][t] + Format::result(*task.weight, p * kPanelRows + slice * kRegisterLanes,
                                                           dots[slice][t], sums[t], x.row(row + t)[first].scale);
  }
  for (std::size_t t = 0; t < rows; ++t) {
    F32x16 sum;
    for (std::size_t slice = 0; slice < kRegisters; ++slice) sum.r[slice] = total[slice][t];
    store_row(task, p, row + t, sum);
  }
}

template <int Bits>
void row_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if constexpr (!kHasPairs)
    if (task.rows == 1)
      return for_pairs(first, last, [&](auto count, std::size_t p, std::size_t apart) {
        row_once<Bits, count()>(task, p, 0, apart);
      });
  for (std::size_t p = first; p < last; ++p)
    for (std::size_t row = 0; row < task.rows; row += kBlockRows) {
      const std::size_t rows = task.rows - row < kBlockRows ? task.rows - row : kBlockRows;
      if constexpr (kHasPairs)
        row_many<Bits>(task, p, row, rows);
      else
        rows == 1 ? row_once<Bits>(task, p, row) : row_many<Bits>(task, p, row, rows);
    }
}

// The kernel of a kind of codes, null for others.
constexpr PanelKernel code_kernel_of(PanelKind kind) {
  switch (kind) {
    case PanelKind::BlockNibbles: return code_panels<PanelKind::BlockNibbles>;
    case PanelKind::BlockCrumbs: return code_panels<PanelKind::BlockCrumbs>;
    case PanelKind::BlockBytes: return code_panels<PanelKind::BlockBytes>;
    case PanelKind::BlockBits: return LaneLoops::group<1>;
    case PanelKind::BlockThreeBits: return format_panels<PanelKind::BlockThreeBits, LaneLoops>;
    case PanelKind::BlockFiveBits: return format_panels<PanelKind::BlockFiveBits, LaneLoops>;
    case PanelKind::BlockSixBits: return format_panels<PanelKind::BlockSixBits, LaneLoops>;
    case PanelKind::BlockTwiceFp4: return format_panels<PanelKind::BlockTwiceFp4, LaneLoops>;
    case PanelKind::RowBytes: return row_panels<8>;
    case PanelKind::RowNibbles: return row_panels<4>;
    case PanelKind::RowCrumbs: return row_panels<2>;
    case PanelKind::RowBits: return row_panels<1>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace loom::inline LOOM_TARGET
