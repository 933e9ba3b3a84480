// Products of many rows of inputs with block panels by registers of tiles: sums of bfloat16 products in f32, which are
// the exact integers of the other targets, since codes and the two parts of an int16 fit eight bits and no sum leaves
// 2^24. The integers and what follows them are those of code_panels.h. All else is the work of the target that this is
// a variant of.

#include <utility>

#include "ops/matmul/code_panels.h"
#include "simd/amx/bf16_parts.h"
#include "tile_unit.h"

namespace loom::LOOM_BASE {  // NOLINT(readability-identifier-naming)
extern const MatmulKernels matmul_kernels;
}  // namespace loom::LOOM_BASE

namespace loom::inline LOOM_TARGET {
namespace {

static_assert(kRegisters == 1 && kWordOrder[1] == 2,
              "a lane of a register is one of the tiles, words have their order");

constexpr std::size_t kLeastRows = 12;   // fewer are faster in registers of lanes
constexpr std::size_t kTileRows = 16;    // of inputs, that meet the sixteen outputs of a panel
constexpr std::size_t kBatchRows = 256;  // of inputs, that share one decoding of the codes
constexpr std::size_t kTileElements = 512;
constexpr float kMostInput = 32512.0f + 128.0f;  // |high| + |low| of an input

// Two tiles for each block of 32 columns, of 16 columns each: the high parts, then the low ones (ops/matmul/matmul.h).
LOOM_INLINE const std::uint16_t* tile_of(const QuantizedRows& x, std::size_t group, std::size_t block,
                                         std::size_t half) {
  return x.parts + ((group * x.blocks + block) * 2 + half) * kTileElements;
}

template <class Format>
constexpr std::int32_t kMostCode = Format::kBits == 8 ? 128
                                   : Format::kFp4     ? 12
                                                      : 1 << (Format::kBits - 1);
// The difference between a panel's code and that of the tiles.
template <class Format>
constexpr std::int32_t kCentre = Format::kBits == 8 ? 0 : kMostCode<Format>;
// The numbers of the tiles by code.
template <class Format>
constexpr Bf16Table<Format::kBits == 6 ? 64 : 32> kCodeTable([](int code) {
  if constexpr (Format::kFp4)
    return code < 16 ? kTwiceFp4[code] - kCentre<Format> : 0;
  else
    return code - kCentre<Format>;
});

// The loops depend on this part of a format.
struct TileShape {
  std::size_t subs;   // sub-blocks of a block
  std::size_t parts;  // sums of a sub-block: one of both parts of the inputs, where it is exact, or one of each
  bool has_min;
};
template <class Format>
constexpr TileShape kShape{.subs = Format::kSubs,
                           .parts = kMostCode<Format> * kMostInput * Format::kSub <= 0x1p24f ? 1 : 2,
                           .has_min = Format::kMin};

// Eight blocks of a panel: the codes of each half of a block as tiles, which meet both parts of the inputs, or a tile
// for each; and the factors of each sub-block. A code of the tiles and `more` are the code less its offset and zero.
template <TileShape Shape>
struct DecodedPanel {
  alignas(64) std::uint16_t tiles[kSuperBlocks][2][Shape.parts][kTileElements];
  native::F32 scale[kSuperBlocks][Shape.subs], min[kSuperBlocks][Shape.subs], more[kSuperBlocks][Shape.subs];
};
template <TileShape Shape>
using Decode = const std::byte* (*)(const std::byte* from, std::size_t blocks, std::int32_t offset,
                                    DecodedPanel<Shape>& out);

// Codes 16 h to 16 h + 15 of a block, twice.
template <class Format, TileShape Shape = kShape<Format>>
LOOM_INLINE void decode_half(const std::byte* codes, int half, std::uint16_t (&out)[Shape.parts][kTileElements]) {
  for (int i = 0; i < 4; ++i) {
    const native::U32 word = code_word<Format::kBits>(codes, 4 * half + i);
    const Bf16Pairs pairs = [&] {
      if constexpr (Format::kBits == 8)
        return bf16_of_bytes(word);
      else
        return kCodeTable<Format>(word);
    }();
    for (std::size_t part = 0; part < Shape.parts; ++part)
      for (std::size_t of_inputs = 0; of_inputs < 2; ++of_inputs) {
        const bool meets = Shape.parts == 1 || part == of_inputs;
        auto* const row = reinterpret_cast<native::U32*>(out[part]) + 8 * of_inputs + 2 * static_cast<std::size_t>(i);
        row[0] = meets ? pairs.even : native::U32{};
        row[1] = meets ? pairs.odd : native::U32{};
      }
  }
}

// Returns where the next blocks begin.
template <class Format>
const std::byte* decode(const std::byte* from, std::size_t blocks, std::int32_t offset,
                        DecodedPanel<kShape<Format>>& out) {
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::byte* const factors = Format::kSuper ? from : from + k * Format::kBytes + Format::kCodeBytes;
    const std::byte* const codes =
        Format::kSuper ? from + Format::kFactors + k * Format::kCodeBytes : from + k * Format::kBytes;
    const SuperScales<Format> super(factors);
    each_sub<Format>([&]<std::size_t S>() {
      const Factors<Format> f(factors, (Format::kSuper ? k * Format::kSubs : 0) + S, 0, super);
      out.scale[k][S] = f.d;
      out.min[k][S] = Format::kSuper ? -f.m : f.m;
      out.more[k][S] = to_float(kCentre<Format> - (Format::kBits < 8 ? offset : 0) - f.zeros);
    });
    for (int half = 0; half < 2; ++half) decode_half<Format>(codes, half, out.tiles[k][half]);
  }
  return from + (Format::kSuper ? Format::kBytes : blocks * Format::kBytes);
}

// f<0>() to f<N - 1>().
template <std::size_t N, class F>
LOOM_INLINE constexpr void each_index(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f.template operator()<static_cast<int>(I)>(), ...);
  }(std::make_index_sequence<N>());
}

// Products of P panels with R groups of sixteen rows.
template <TileShape Shape, std::size_t P, std::size_t R>
class TileProducts {
 public:
  TileProducts(TileUnit& unit, const QuantizedRows& x, const DecodedPanel<Shape>* panels)
      : unit_(unit), x_(x), panels_(panels) {}

  // Adds the products of blocks from `first` on to totals [P][apart][16], for the rows from `row` on, a multiple of
  // sixteen.
  [[gnu::noinline]] void add(std::size_t first, std::size_t blocks, std::size_t row, std::size_t rows, float* totals,
                             std::size_t apart) {
    for (std::size_t k = 0; k < blocks; ++k)
      for (std::size_t s = 0; s < Shape.subs; ++s) {
        each_index<kSums>([&]<int I>() { unit_.template clear<I>(); });
        for (std::size_t half = s; half < 2; half += Shape.subs) multiply(first + k, k, half, row / kTileRows);
        each_index<kSums>([&]<int I>() { unit_.template store<I>(sums_[I]); });
        for (std::size_t r = 0; r < R; ++r)
          for (std::size_t p = 0; p < P; ++p) {
            const std::size_t begin = r * kTileRows, count = rows - begin < kTileRows ? rows - begin : kTileRows;
            add_terms(panels_[p], k, s, sums_[(r * P + p) * Shape.parts], x_.row(row + begin) + first + k, count,
                      totals + (p * apart + begin) * kLanes);
          }
      }
  }

 private:
  static constexpr std::size_t kSums = R * P * Shape.parts;
  static constexpr int kLeft = 4, kRight = 6;  // the tiles of inputs and of codes, two of each, after those of sums
  static_assert(kSums <= 4 && R <= 2);

  LOOM_INLINE void multiply(std::size_t block, std::size_t k, std::size_t half, std::size_t group) {
    each_index<R>([&]<int r>() { unit_.template load<kLeft + r>(tile_of(x_, group + r, block, half)); });
    each_index<P * Shape.parts>([&]<int I>() {
      constexpr int kAt = kRight + I % 2;
      unit_.template load<kAt>(panels_[I / Shape.parts].tiles[k][half][I % Shape.parts]);
      each_index<R>(
          [&]<int r>() { unit_.template multiply<r* static_cast<int>(P * Shape.parts) + I, kLeft + r, kAt>(); });
    });
  }

  // totals[row] += the terms of a sub-block, as add_block() of code_panels.h adds them. The sums of a tile, or of two
  // that follow each other, are [16 rows][16].
  LOOM_INLINE void add_terms(const DecodedPanel<Shape>& panel, std::size_t k, std::size_t s, const float* sums,
                             const QuantizedBlock* x, std::size_t rows, float* totals) const {
    const native::F32 scale = panel.scale[k][s], min = panel.min[k][s], more = panel.more[k][s];
    const auto add = [&]<bool kMore>() {
      for (std::size_t t = 0; t < rows; ++t, x += x_.blocks, sums += kLanes, totals += kLanes) {
        F32x16 dots = load(sums), total = load(totals);
        if constexpr (Shape.parts == 2) dots = dots + load(sums + kTileRows * kLanes);
        if constexpr (kMore) dots.r[0] += more * static_cast<float>(Shape.subs == 1 ? x->sum : x->sums16[s]);
        total.r[0] += dots.r[0] * (scale * x->scale);
        if constexpr (Shape.has_min) total.r[0] += min * (Shape.subs == 1 ? x->scaled : x->scaled16[s]);
        store(totals, total);
      }
    };
    _mm512_test_epi32_mask((__m512i)more, (__m512i)more) != 0 ? add.template operator()<true>()
                                                              : add.template operator()<false>();
  }

  TileUnit& unit_;
  const QuantizedRows& x_;
  const DecodedPanel<Shape>* panels_;
  alignas(64) float sums_[kSums][kTileRows * kLanes];
};

// P panels from p on, by batches of rows.
template <TileShape Shape, std::size_t P>
void tile_batches(TileUnit& unit, const MatmulTask& task, std::size_t p, Decode<Shape> decode) {
  const QuantizedRows& x = *task.quantized;
  DecodedPanel<Shape> panels[P];
  alignas(64) float totals[P][kBatchRows * kLanes];
  for (std::size_t row = 0; row < task.rows; row += kBatchRows) {
    const std::size_t rows = task.rows - row < kBatchRows ? task.rows - row : kBatchRows;
    const std::byte* from[P];
    for (std::size_t i = 0; i < P; ++i) {
      from[i] = task.weight->panel(p + i);
      __builtin_memset(totals[i], 0, rows * kLanes * sizeof(float));
    }
    for (std::size_t b = 0; b < x.blocks; b += kSuperBlocks) {
      const std::size_t blocks = x.blocks - b < kSuperBlocks ? x.blocks - b : kSuperBlocks;
      for (std::size_t i = 0; i < P; ++i)
        from[i] = decode(from[i], blocks, task.weight->layout().code_offset, panels[i]);
      std::size_t r = 0;
      for (TileProducts<Shape, P, 2> products(unit, x, panels); r + kTileRows < rows; r += 2 * kTileRows)
        products.add(b, blocks, row + r, rows - r, totals[0] + r * kLanes, kBatchRows);
      if (r < rows)
        TileProducts<Shape, P, 1>(unit, x, panels)
            .add(b, blocks, row + r, rows - r, totals[0] + r * kLanes, kBatchRows);
    }
    for (std::size_t i = 0; i < P; ++i)
      for (std::size_t t = 0; t < rows; ++t) store_blocks(task, p + i, row + t, load(totals[i] + t * kLanes));
  }
}

template <TileShape Shape>
void tile_panels(const MatmulTask& task, std::size_t first, std::size_t last, Decode<Shape> decode) {
  constexpr std::size_t kPanels = Shape.parts == 1 ? 2 : 1;
  TileUnit unit;
  std::size_t p = first;
  for (; p + kPanels <= last; p += kPanels) tile_batches<Shape, kPanels>(unit, task, p, decode);
  if (kPanels > 1 && p < last) tile_batches<Shape, 1>(unit, task, p, decode);
}

template <PanelKind Kind>
void base_panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  LOOM_BASE::matmul_kernels.panels[static_cast<std::size_t>(Kind)](task, first, last);
}

// The loops of code_panels() by tiles.
template <PanelKind Kind>
struct TileLoops {
  template <BlockForm F>
  static void form(const MatmulTask& task, std::size_t first, std::size_t last) {
    tile_panels<kShape<BlockFormat<F>>>(task, first, last, decode<BlockFormat<F>>);
  }
  template <int Bits>
  static void group(const MatmulTask& task, std::size_t first, std::size_t last) {
    base_panels<Kind>(task, first, last);
  }
};

template <PanelKind Kind>
void panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if constexpr (constexpr PanelTraits kTraits = traits(Kind); kTraits.holds_codes() && !kTraits.sums_rows() &&
                                                              kTraits.inputs == PanelInputs::Codes &&
                                                              kTraits.code_bits > 1)
    if (task.quantized->parts != nullptr) return code_panels<Kind, TileLoops<Kind>>(task, first, last);
  base_panels<Kind>(task, first, last);
}

// Sixteen inputs of a block, as their form has them.
LOOM_INLINE native::I32 inputs_of(const QuantizedBlock& block, std::size_t half, InputForm form) {
  using Bytes [[gnu::vector_size(16), gnu::may_alias, gnu::aligned(1)]] = std::int8_t;
  using Words [[gnu::vector_size(32), gnu::may_alias, gnu::aligned(2)]] = std::int16_t;
  const auto widened = [&](const auto& v) { return __builtin_convertvector(v, native::I32); };
  if (form == InputForm::Words) return widened(*reinterpret_cast<const Words*>(block.words + 16 * half));
  const native::I32 high = widened(*reinterpret_cast<const Bytes*>(block.high + 16 * half));
  if (form == InputForm::Codes) return high;
  return high * kDigit + widened(*reinterpret_cast<const Bytes*>(block.low + 16 * half));
}

void quantize_row(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out) {
  LOOM_BASE::matmul_kernels.quantize_row(x, cols, row, out);
  if (out.parts == nullptr) return;
  const bool in_order = out.form != InputForm::Words;  // these have the order of the tiles
  std::uint16_t* to = out.parts + row / kTileRows * out.blocks * 2 * kTileElements + row % kTileRows * 32;
  for (std::size_t b = 0; b < out.blocks; ++b)
    for (std::size_t half = 0; half < 2; ++half, to += kTileElements)
      store_bf16_parts(inputs_of(out.row(row)[b], half, out.form), in_order, to, to + 16);
}

constexpr MatmulKernels kernels() {
  MatmulKernels table{
      .panels = {}, .prefers_words = kPrefersWords, .tile_rows = kLeastRows, .quantize_row = quantize_row};
  each_index<kNumPanelKinds>([&]<int I>() { table.panels[I] = panels<static_cast<PanelKind>(I)>; });
  return table;
}

}  // namespace

extern const MatmulKernels matmul_kernels;
constinit const MatmulKernels matmul_kernels = kernels();

}  // namespace loom::inline LOOM_TARGET
