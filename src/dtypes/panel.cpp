#include "dtypes/panel.h"

#include "core/checked.h"

namespace loom {

std::size_t PanelLayout::factor_bytes() const {
  if (traits(kind).scales != PanelScales::ByGroup) return 0;
  const std::size_t subs = sub_cols < kBlockCols ? kBlockCols / sub_cols : 1;
  return subs * kPanelRows * (half_scales ? 2 : 4) * (has_min ? 2 : 1) + (has_zeros ? kPanelRows : 0);
}

std::size_t PanelLayout::block_bytes() const { return traits(kind).block_code_bytes() + factor_bytes(); }

std::size_t PanelLayout::panel_bytes(std::size_t cols) const {
  const std::size_t blocks = ceil_div(cols, kBlockCols);
  if (traits(kind).holds_codes()) return blocks * traits(kind).block_code_bytes() + ceil_div(blocks, group_blocks()) * factor_bytes();
  return cols * kPanelRows * traits(kind).element_bytes;
}

}  // namespace loom
