#pragma once
// Kernels read weights in panels of 16 rows, so that the sixteen lanes are sixteen outputs. One table says what each
// kind of panel is made of; one struct holds the other choices of a type.

#include <cstddef>
#include <cstdint>

namespace loom {

inline constexpr std::size_t kPanelRows = 16;
inline constexpr std::size_t kBlockCols = 32;   // reduced indices of one quantised block and of one activation scale
inline constexpr std::size_t kSuperBlocks = 8;  // blocks of a super-block of 256 columns, as the K formats have them

// The kinds differ in the layout of a panel in memory. A panel of elements is [col][16]. A panel of codes has, per 32
// columns, 64 bytes for each bit of a code:
//   bytes: byte 64j+4r+b is index 4j+b of row r.
//   nibbles, crumbs (2 bits), bits, of n bits each: code k, from the low end, of byte 64j+4r+b is index 4(kn+j)+b.
//   3, 5 and 6 bits: the low 2, 4 and 4 bits as crumbs or nibbles, after them the others as bits or crumbs.
// Where scales are by group, the factors (PanelFactors) follow the codes, and 16 zero points, one byte each, where the
// type has them. Where a scale holds for 64 or 128 columns, the codes of all of them come first; the last such group of
// a row may have fewer. The factors of a super-block come before its codes, so that memory is read in one direction.
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
  BlockThreeBits,
  BlockFiveBits,
  BlockSixBits,
  BlockTwiceFp4,
  RowBytes,
  RowNibbles,
  RowCrumbs,
  RowBits,
};

// The scales of weights are stored beside the panels, one for each row (ByRow), or among the codes, one for each group
// of columns (ByGroup). The scales of quantised inputs hold for the same two spans.
enum class PanelScales : std::uint8_t { None, ByRow, ByGroup };
enum class PanelInputs : std::uint8_t { F32, F64, Codes };  // as they are, in f32 or f64; quantised to integers

// The factors of a group are the numbers that encode its scale and its minimum. Each kind stores them in its own way.
//   F32, F16: sub-blocks ascending, 16 scales, then 16 minima where there are any.
//   Shared, Bytes, Nibbles: the factors of a super-block. For its sub-blocks, ascending, they hold nothing (Shared); 16
//     bytes s, then 16 bytes m where there are minima (Bytes); 16 bytes with s in the low and m in the high half
//     (Nibbles). Then come 16 f16 d and, where there are minima, 16 f16 dmin, filled up to 64 bytes. The scale is
//     d * (s - scale_offset), or d; the minimum is -(dmin * m): both are exact in f32.
//   Exponents: 16 bytes, the exponents of f32 scales whose other bits are 0.
enum class PanelFactors : std::uint8_t { F32, F16, Shared, Bytes, Nibbles, Exponents };

// The number of a code's bits in the first plane. Codes of 3, 5 and 6 bits are stored in two planes, all others in one.
constexpr std::size_t low_plane_bits(std::size_t bits) { return bits == 3 ? 2 : bits == 5 || bits == 6 ? 4 : bits; }

// BlockTwiceFp4: what the nibbles of OCP E2M1 stand for, less code_offset: twice their values, which are integers.
inline constexpr std::uint8_t kTwiceFp4[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

struct PanelTraits {
  PanelKind kind;
  std::uint8_t element_bytes;  // 0 where the panel holds codes
  std::uint8_t code_bits;      // 0 where it holds elements
  PanelScales scales;
  PanelInputs inputs;  // how inputs meet it

  constexpr bool holds_codes() const { return code_bits != 0; }
  // One exact integer sum over the whole row.
  constexpr bool sums_rows() const { return holds_codes() && scales == PanelScales::ByRow; }
  // Integers with a scale, computed in f64.
  constexpr bool is_wide() const { return inputs == PanelInputs::F64 && scales == PanelScales::ByRow; }
  constexpr std::size_t block_code_bytes() const { return kBlockCols * kPanelRows / 8 * code_bits; }
  // Bytes of a row's scale, and of its zero point.
  constexpr std::size_t row_factor_bytes() const {
    return scales != PanelScales::ByRow ? 0 : inputs == PanelInputs::F64 ? 8 : 4;
  }
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
    {PanelKind::BlockThreeBits, 0, 3, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockFiveBits, 0, 5, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockSixBits, 0, 6, PanelScales::ByGroup, PanelInputs::Codes},
    {PanelKind::BlockTwiceFp4, 0, 4, PanelScales::ByGroup, PanelInputs::Codes},
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
    }() &&
        kNumPanelKinds == static_cast<std::size_t>(PanelKind::RowBits) + 1,
    "kPanelKinds stands in enumerator order");

constexpr const PanelTraits& traits(PanelKind kind) { return kPanelKinds[static_cast<std::size_t>(kind)]; }
// The kind with the same codes and these scales; `kind` itself where there is none.
constexpr PanelKind with_scales(PanelKind kind, PanelScales scales) {
  for (const PanelTraits& other : kPanelKinds)
    if (other.holds_codes() && other.code_bits == traits(kind).code_bits && other.inputs == traits(kind).inputs &&
        other.scales == scales)
      return other.kind;
  return kind;
}

struct PanelLayout {
  PanelKind kind = PanelKind::Float32;
  std::uint8_t sub_cols = 32;  // columns per scale: 16, 32, 64 or 128 (scales by group)
  PanelFactors factors = PanelFactors::F32;
  bool has_min = false;           // value = scale * code + min
  bool has_zeros = false;         // a zero point per group or row
  bool is_signed = false;         // wide codes
  std::int16_t code_offset = 0;   // a code c stands for c - code_offset (less the zero point); binary for 2 c - 1
  std::uint8_t scale_offset = 0;  // of scales in bytes
  // of quantised inputs, where they are not as the weights' own (engine D-34)
  PanelScales own_input_scales = PanelScales::None;

  std::size_t panel_bytes(std::size_t cols) const;
  std::size_t block_bytes() const;  // of 32 columns of codes with their scales, where no others share them
  // sub-blocks of 32 columns
  constexpr std::size_t block_subs() const { return sub_cols < kBlockCols ? kBlockCols / sub_cols : 1; }
  // An f16 for 256 columns, by itself or times integers of the sub-blocks.
  constexpr bool has_super_blocks() const {
    return factors == PanelFactors::Shared || factors == PanelFactors::Bytes || factors == PanelFactors::Nibbles;
  }
  // blocks that share a scale of inputs
  constexpr std::size_t input_blocks() const { return sub_cols <= kBlockCols ? 1 : sub_cols / kBlockCols; }
  // blocks that share their factors, which are stored after the codes of all of them, or before those of a super-block
  constexpr std::size_t group_blocks() const { return has_super_blocks() ? kSuperBlocks : input_blocks(); }
  std::size_t super_at() const;      // of the f16 d among the factors
  std::size_t factor_bytes() const;  // scales, minima and zero points of such blocks
  // Codes that some targets rather meet with int16 inputs than with digits of them: all that are put together in
  // registers, and those of sub-blocks of 16.
  constexpr bool may_take_words() const {
    const std::size_t bits = traits(kind).code_bits;
    return low_plane_bits(bits) != bits || kind == PanelKind::BlockTwiceFp4 || sub_cols < kBlockCols;
  }
  constexpr bool quantises_input() const { return traits(kind).inputs == PanelInputs::Codes; }
  constexpr bool has_row_scales() const { return traits(kind).scales == PanelScales::ByRow; }
  constexpr PanelScales input_scales() const {
    return own_input_scales == PanelScales::None ? traits(kind).scales : own_input_scales;
  }
};

}  // namespace loom
