#pragma once
// How weights lie for the kernels: panels of 16 rows, so that sixteen outputs lie across lanes. One table says what each kind of panel
// is made of; one struct what else a type chooses.

#include <cstddef>
#include <cstdint>

namespace loom {

inline constexpr std::size_t kPanelRows = 16;
inline constexpr std::size_t kBlockCols = 32;   // reduced indices of one quantised block and of one activation scale

// How a panel lies. Panels of elements: [col][16]. Panels of codes: per 32 columns
//   codes: bytes 512 (byte 64j+4r+b: index 4j+b of row r); nibbles 256, crumbs (2 bits) 128, bits 64 bytes: code k, from the low
//   end, of byte 64j+4r+b is index 4(kn+j)+b, with n groups of 64 bytes; then, where scales are by group, 16 scales (and 16 minima) per
//   sub-block, sub-blocks ascending: f16 or f32; then 16 zero points, one byte each, where the type has them. Where a scale holds for
//   64 or 128 columns, the codes of all of them come first; the last such group of a row may have fewer.
enum class PanelKind : std::uint8_t {
  Float64,
  Float32,
  Float16,
  BFloat16,
  Fp8E4M3,
  Fp8E5M2,
  BlockFp4,
  Wide16,
  Wide32,
  Wide64,
  BlockNibbles,
  BlockCrumbs,
  BlockBytes,
  BlockBits,
  RowBytes,
  RowNibbles,
  RowCrumbs,
  RowBits,
};

// Of weights: one for each row, beside the panels; for groups of columns, among the codes. Of quantised inputs: the same two.
enum class PanelScales : std::uint8_t { None, ByRow, ByGroup };
enum class PanelInputs : std::uint8_t { F32, F64, Codes };       // as they are, in f32 or f64; quantised to integers

struct PanelTraits {
  PanelKind kind;
  std::uint8_t element_bytes;  // 0 where the panel holds codes
  std::uint8_t code_bits;      // 0 where it holds elements
  PanelScales scales;
  PanelInputs inputs;          // how inputs meet it

  constexpr bool holds_codes() const { return code_bits != 0; }
  // One exact integer sum over the whole row.
  constexpr bool sums_rows() const { return holds_codes() && scales == PanelScales::ByRow; }
  // Integers with a scale, computed in f64.
  constexpr bool is_wide() const { return inputs == PanelInputs::F64 && scales == PanelScales::ByRow; }
  constexpr std::size_t block_code_bytes() const { return kBlockCols * kPanelRows / 8 * code_bits; }
  // Bytes of a row's scale, and of its zero point.
  constexpr std::size_t row_factor_bytes() const { return scales != PanelScales::ByRow ? 0 : inputs == PanelInputs::F64 ? 8 : 4; }
};

inline constexpr PanelTraits kPanelKinds[] = {
    {PanelKind::Float64, 8, 0, PanelScales::None, PanelInputs::F64},
    {PanelKind::Float32, 4, 0, PanelScales::None, PanelInputs::F32},
    {PanelKind::Float16, 2, 0, PanelScales::None, PanelInputs::F32},
    {PanelKind::BFloat16, 2, 0, PanelScales::None, PanelInputs::F32},
    {PanelKind::Fp8E4M3, 1, 0, PanelScales::ByRow, PanelInputs::F32},
    {PanelKind::Fp8E5M2, 1, 0, PanelScales::ByRow, PanelInputs::F32},
    {PanelKind::BlockFp4, 0, 4, PanelScales::ByGroup, PanelInputs::F32},
    {PanelKind::Wide16, 2, 0, PanelScales::ByRow, PanelInputs::F64},
    {PanelKind::Wide32, 4, 0, PanelScales::ByRow, PanelInputs::F64},
    {PanelKind::Wide64, 8, 0, PanelScales::ByRow, PanelInputs::F64},
    {PanelKind::BlockNibbles, 0, 4, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockCrumbs, 0, 2, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockBytes, 0, 8, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockBits, 0, 1, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::RowBytes, 0, 8, PanelScales::ByRow, PanelInputs::Codes},
    {PanelKind::RowNibbles, 0, 4, PanelScales::ByRow, PanelInputs::Codes},
    {PanelKind::RowCrumbs, 0, 2, PanelScales::ByRow, PanelInputs::Codes},
    {PanelKind::RowBits, 0, 1, PanelScales::ByRow, PanelInputs::Codes},
};
inline constexpr std::size_t kNumPanelKinds = sizeof kPanelKinds / sizeof *kPanelKinds;
static_assert(
    [] {
      for (std::size_t i = 0; i < kNumPanelKinds; ++i)
        if (static_cast<std::size_t>(kPanelKinds[i].kind) != i) return false;
      return true;
    }() && kNumPanelKinds == static_cast<std::size_t>(PanelKind::RowBits) + 1,
    "kPanelKinds stands in enumerator order");

constexpr const PanelTraits& traits(PanelKind kind) { return kPanelKinds[static_cast<std::size_t>(kind)]; }
// The kind with the same codes whose scales lie so; `kind` itself where there is none.
constexpr PanelKind with_scales(PanelKind kind, PanelScales scales) {
  for (const PanelTraits& other : kPanelKinds)
    if (other.holds_codes() && other.code_bits == traits(kind).code_bits && other.inputs == traits(kind).inputs && other.scales == scales) return other.kind;
  return kind;
}

struct PanelLayout {
  PanelKind kind = PanelKind::Float32;
  std::uint8_t sub_cols = 32;       // columns per scale: 16, 32, 64 or 128 (scales by group)
  bool half_scales = false;         // scales and minima as f16 instead of f32
  bool has_min = false;             // value = scale * code + min
  bool has_zeros = false;           // a zero point per group or row
  bool is_signed = false;           // wide codes
  std::int16_t code_offset = 0;     // a code c stands for c - code_offset (less the zero point); binary for 2 c - 1
  PanelScales own_input_scales = PanelScales::None;  // of quantised inputs, where they are not as the weights' own (engine D-34)

  std::size_t panel_bytes(std::size_t cols) const;
  std::size_t block_bytes() const;  // of 32 columns of codes, with the scales of no more than them
  constexpr std::size_t group_blocks() const { return sub_cols <= kBlockCols ? 1 : sub_cols / kBlockCols; }  // blocks that share their scales
  std::size_t factor_bytes() const;  // scales, minima and zero points behind the codes of such blocks
  constexpr bool quantises_input() const { return traits(kind).inputs == PanelInputs::Codes; }
  constexpr bool has_row_scales() const { return traits(kind).scales == PanelScales::ByRow; }
  constexpr PanelScales input_scales() const { return own_input_scales == PanelScales::None ? traits(kind).scales : own_input_scales; }
};

}  // namespace loom
