// Products of many rows of inputs with block panels by registers of tiles: sums of bfloat16 products in f32, which are
// the exact integers of the other targets, since codes and the two parts of an int16 fit eight bits and no sum leaves
// 2^24. The integers and what follows them are those of code_panels.h. All else is the work of the target that this is
// a variant of.

#include <algorithm>
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
constexpr std::size_t kPanels = 8;       // that share one loading of inputs into tiles
constexpr std::size_t kTileElements = 512;
constexpr float kMostInput = 32512.0f + 128.0f;  // |high| + |low| of an input

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

// The loops depend on this part of a format, and on whether inputs have 16 bits.
struct TileShape {
  std::size_t subs;    // sub-blocks of a block
  std::size_t inputs;  // parts of the inputs that are not zero: the second, or both
  std::size_t sums;    // of a sub-block: one of all parts of the inputs, where it is exact, or one of each
  bool has_min;
};
template <class Format, bool Wide>
constexpr TileShape kShape{.subs = Format::kSubs,
                           .inputs = Wide ? 2 : 1,
                           .sums = !Wide || kMostCode<Format> * kMostInput * Format::kSub <= 0x1p24f ? 1 : 2,
                           .has_min = Format::kMin};

// Eight blocks of a panel: the codes of each sub-block as a tile, whose other rows are zeros, and its factors. A code
// of the tiles and `more` are the code less its offset and zero.
template <std::size_t Subs>
struct DecodedPanel {
  alignas(64) std::uint16_t tiles[kSuperBlocks][Subs][kTileElements];
  native::F32 scale[kSuperBlocks][Subs], min[kSuperBlocks][Subs], more[kSuperBlocks][Subs];
};
template <std::size_t Subs>
using Decode = const std::byte* (*)(const std::byte* from, std::size_t blocks, std::int32_t offset,
                                    DecodedPanel<Subs>& out);

// Codes 4 i to 4 i + 3 of a block, which are two rows of a tile.
template <class Format>
LOOM_INLINE Bf16Pairs pairs_of(const std::byte* codes, int i) {
  const native::U32 word = code_word<Format::kBits>(codes, i);
  if constexpr (Format::kBits == 8)
    return bf16_of_bytes(word);
  else
    return kCodeTable<Format>(word);
}

// Returns where the next blocks begin.
template <class Format>
const std::byte* decode(const std::byte* from, std::size_t blocks, std::int32_t offset,
                        DecodedPanel<Format::kSubs>& out) {
  constexpr int kRowPairs = 8 / static_cast<int>(Format::kSubs);
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
      auto* const rows = reinterpret_cast<native::U32*>(out.tiles[k][S]);
      for (int i = 0; i < 8; ++i) {
        const bool is_mine = i / kRowPairs == static_cast<int>(S);
        const Bf16Pairs pairs = is_mine ? pairs_of<Format>(codes, i) : Bf16Pairs{};
        rows[2 * i] = pairs.even;
        rows[2 * i + 1] = pairs.odd;
      }
    });
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

// A product of a tile whose terms are to be added to totals[row].
template <std::size_t Subs>
struct Term {
  const DecodedPanel<Subs>* panel;
  const TileInputs* x;
  std::size_t block, sub, rows;
  float* totals;
};

// totals[row] += the terms of a sub-block, as add_block() of code_panels.h adds them. The sums of a tile, or of two
// that follow each other, are [16 rows][16].
template <std::size_t Subs, std::size_t Sums, bool HasMin>
[[gnu::noinline]] void add_terms(const Term<Subs>& term, const float* sums) {
  const native::F32 scale = term.panel->scale[term.block][term.sub], min = term.panel->min[term.block][term.sub],
                    more = term.panel->more[term.block][term.sub];
  const float* const scaled = Subs == 1 ? term.x->scaled : term.x->scaled16[term.sub];
  const float* const sum = Subs == 1 ? term.x->sum : term.x->sums16[term.sub];
  const auto add = [&]<bool HasMore>() {
    float* totals = term.totals;
#pragma GCC unroll 4
    for (std::size_t t = 0; t < term.rows; ++t, sums += kLanes, totals += kLanes) {
      F32x16 dots = load(sums), total = load(totals);
      if constexpr (Sums == 2) dots = dots + load(sums + kTileRows * kLanes);
      if constexpr (HasMore) dots.r[0] += more * sum[t];
      total.r[0] += dots.r[0] * (scale * term.x->scale[t]);
      if constexpr (HasMin) total.r[0] += min * scaled[t];
      store(totals, total);
    }
  };
  _mm512_test_epi32_mask((__m512i)more, (__m512i)more) != 0 ? add.template operator()<true>()
                                                            : add.template operator()<false>();
}

// Products of Groups times sixteen rows of inputs, one or two, with some panels. While the unit multiplies, the terms
// of the tile before are added: each takes about as long.
template <TileShape Shape, int Groups>
class TileProducts {
 public:
  TileProducts(TileUnit& unit, std::size_t rows) : unit_(unit), rows_(rows) {}

  // Adds the products of the panels with blocks x[0], x[1] .. to totals, [panel][apart][16]; `further` is the distance
  // of the second group's blocks.
  [[gnu::noinline]] void add(const TileInputs* x, std::size_t further, std::size_t blocks,
                             const DecodedPanel<Shape.subs>* panels, std::size_t count, float* totals,
                             std::size_t apart) {
    for (std::size_t k = 0; k < blocks; ++k, ++x) {
      each_index<Groups>([&]<int G>() {
        if constexpr (Shape.inputs == 2) unit_.template load<2 * G>(x[G * further].parts[0]);
        unit_.template load<2 * G + 1>(x[G * further].parts[1]);
      });
      for (std::size_t s = 0; s < Shape.subs; ++s) {
        const auto multiply_panel = [&]<int Turn>(std::size_t p) {
          unit_.template load<kCodes + Turn>(panels[p].tiles[k][s]);
          each_index<Groups>([&]<int G>() {
            multiply<G, Groups == 2 ? G : Turn, kCodes + Turn>(
                {&panels[p], x + G * further, k, s, rows_of(G), totals + (p * apart + G * kTileRows) * kLanes});
          });
        };
        std::size_t p = 0;
        for (; p + 2 <= count; p += 2) {
          multiply_panel.template operator()<0>(p);
          multiply_panel.template operator()<1>(p + 1);
        }
        if (p < count) multiply_panel.template operator()<0>(p);
      }
    }
    add_last();
  }

 private:
  // Tiles 0 to 3 are the parts of both groups of inputs, two are sums, which groups alternate between or fill both,
  // two are codes.
  static constexpr int kSums = 4, kCodes = 6;
  std::size_t rows_of(int group) const {
    return group + 1 < Groups ? kTileRows : rows_ - static_cast<std::size_t>(Groups - 1) * kTileRows;
  }

  template <int Group, int Turn, int Code>
  LOOM_INLINE void multiply(const Term<Shape.subs>& term) {
    constexpr int kLow = Shape.sums == 2 ? kSums : kSums + Turn, kHigh = Shape.sums == 2 ? kSums + 1 : kLow;
    unit_.template clear<kLow>();
    if constexpr (Shape.sums == 2) unit_.template clear<kHigh>();
    if constexpr (Shape.inputs == 2) unit_.template multiply<kHigh, 2 * Group, Code>();
    unit_.template multiply<kLow, 2 * Group + 1, Code>();
    add_last();
    unit_.template store<kLow>(sums_[0]);
    if constexpr (Shape.sums == 2) unit_.template store<kHigh>(sums_[1]);
    last_ = term;
  }

  LOOM_INLINE void add_last() {
    if (last_.panel != nullptr) add_terms<Shape.subs, Shape.sums, Shape.has_min>(last_, sums_[0]);
    last_.panel = nullptr;
  }

  TileUnit& unit_;
  std::size_t rows_;
  Term<Shape.subs> last_{};
  alignas(64) float sums_[Shape.sums][kTileRows * kLanes];
};

// The memory of a thread for the panels that it takes side by side.
template <std::size_t Subs>
struct Scratch {
  DecodedPanel<Subs> panels[kPanels];
  float totals[kPanels][kBatchRows * kLanes];
};
constexpr std::size_t kScratchBytes = std::max(sizeof(Scratch<1>), sizeof(Scratch<2>));
static_assert(kScratchBytes % 64 == 0);

// `count` panels from p on, by batches of rows.
template <TileShape Shape>
void tile_batches(TileUnit& unit, const MatmulTask& task, std::size_t p, std::size_t count, Decode<Shape.subs> decode) {
  const QuantizedRows& x = *task.quantized;
  auto& [panels, totals] = *reinterpret_cast<Scratch<Shape.subs>*>(task.scratch);
  for (std::size_t row = 0; row < task.rows; row += kBatchRows) {
    const std::size_t rows = std::min(task.rows - row, kBatchRows);
    const std::byte* from[kPanels];
    for (std::size_t i = 0; i < count; ++i) {
      from[i] = task.weight->panel(p + i);
      __builtin_memset(totals[i], 0, rows * kLanes * sizeof(float));
    }
    for (std::size_t b = 0; b < x.blocks; b += kSuperBlocks) {
      const std::size_t blocks = std::min(x.blocks - b, kSuperBlocks);
      for (std::size_t i = 0; i < count; ++i)
        from[i] = decode(from[i], blocks, task.weight->layout().code_offset, panels[i]);
      const auto add = [&]<int Groups>(std::size_t r) {
        constexpr std::size_t kRows = Groups * kTileRows;
        TileProducts<Shape, Groups>(unit, std::min(rows - r, kRows))
            .add(x.tiles + (row + r) / kTileRows * x.blocks + b, x.blocks, blocks, panels, count,
                 totals[0] + r * kLanes, kBatchRows);
      };
      std::size_t r = 0;
      for (; r + kTileRows < rows; r += 2 * kTileRows) add.template operator()<2>(r);
      if (r < rows) add.template operator()<1>(r);
    }
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t t = 0; t < rows; ++t) store_blocks(task, p + i, row + t, load(totals[i] + t * kLanes));
  }
}

template <TileShape Shape>
void tile_panels(const MatmulTask& task, std::size_t first, std::size_t last, Decode<Shape.subs> decode) {
  TileUnit unit;
  const std::size_t batches = (last - first + kPanels - 1) / kPanels;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t p = first + i * (last - first) / batches, end = first + (i + 1) * (last - first) / batches;
    tile_batches<Shape>(unit, task, p, end - p, decode);
  }
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
    using Format = BlockFormat<F>;
    task.quantized->form == InputForm::Codes ? tile_panels<kShape<Format, false>>(task, first, last, decode<Format>)
                                             : tile_panels<kShape<Format, true>>(task, first, last, decode<Format>);
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
    if (task.quantized->tiles != nullptr) return code_panels<Kind, TileLoops<Kind>>(task, first, last);
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
  if (out.tiles == nullptr) return;
  const bool in_order = out.form != InputForm::Words;  // these have the order of the tiles
  const std::size_t t = row % kTileRows;
  TileInputs* to = out.tiles + row / kTileRows * out.blocks;
  for (const QuantizedBlock* block = out.row(row); block < out.row(row + 1); ++block, ++to) {
    for (std::size_t half = 0; half < 2; ++half) {
      store_bf16_parts(inputs_of(*block, half, out.form), in_order, to->parts[0][t] + 16 * half,
                       to->parts[1][t] + 16 * half);
      to->scaled16[half][t] = block->scaled16[half];
      to->sums16[half][t] = static_cast<float>(block->sums16[half]);
    }
    to->scale[t] = block->scale;
    to->scaled[t] = block->scaled;
    to->sum[t] = static_cast<float>(block->sum);
  }
}

constexpr MatmulKernels kernels() {
  MatmulKernels table{.panels = {},
                      .prefers_words = kPrefersWords,
                      .takes_pairs = false,
                      .tile_rows = kLeastRows,
                      .tile_panels = kPanels,
                      .scratch_bytes = kScratchBytes,
                      .quantize_row = quantize_row};
  each_index<kNumPanelKinds>([&]<int I>() { table.panels[I] = panels<static_cast<PanelKind>(I)>; });
  return table;
}

}  // namespace

extern const MatmulKernels matmul_kernels;
constinit const MatmulKernels matmul_kernels = kernels();

}  // namespace loom::inline LOOM_TARGET
