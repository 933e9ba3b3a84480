#include "dtypes/panel.h"

#include "core/checked.h"

namespace loom {

std::size_t PanelLayout::super_at() const {
  if (factors == PanelFactors::Shared) return 0;
  return kSuperBlocks * block_subs() * kPanelRows * (has_min && factors == PanelFactors::Bytes ? 2 : 1);
}

std::size_t PanelLayout::factor_bytes() const {
  if (traits(kind).scales != PanelScales::ByGroup) return 0;
  const std::size_t slots = block_subs() * kPanelRows, parts = has_min ? 2 : 1, zeros = has_zeros ? kPanelRows : 0;
  switch (factors) {
    case PanelFactors::F32: return slots * 4 * parts + zeros;
    case PanelFactors::F16: return slots * 2 * parts + zeros;
    case PanelFactors::Exponents: return slots;
    case PanelFactors::Shared:
    case PanelFactors::Bytes:
    case PanelFactors::Nibbles: return round_up(super_at() + kPanelRows * 2 * parts, 64);
  }
  return 0;
}

std::size_t PanelLayout::block_bytes() const { return traits(kind).block_code_bytes() + factor_bytes(); }

std::size_t PanelLayout::panel_bytes(std::size_t cols) const {
  const std::size_t blocks = ceil_div(cols, kBlockCols);
  if (traits(kind).holds_codes())
    return blocks * traits(kind).block_code_bytes() + ceil_div(blocks, group_blocks()) * factor_bytes();
  return cols * kPanelRows * traits(kind).element_bytes;
}

}  // namespace loom
