#pragma once
// Iteration over a row of a matrix as it lies in its panel, for packing, decoding and copying: elements, or blocks of codes with
// their factors. Kernels, which read sixteen rows at a time, have their own.

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "dtypes/float16.h"
#include "dtypes/panel.h"

namespace loom {

// f<bits of a code>(): places are divisions by that, which only constants make cheap.
template <class F>
decltype(auto) with_code_bits(PanelKind kind, F&& f) {
  switch (traits(kind).code_bits) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    default: return f.template operator()<8>();
  }
}

// 32 columns, or the last fewer, of one row. Byte: std::byte, const or not.
template <class Byte>
struct RowBlock {
  Byte *codes, *factors;     // of all rows of the panel; of the group that the block belongs to
  std::size_t row;           // of the panel
  std::size_t first, count;  // columns
  bool opens_group;          // the first that these factors are for

  // A code of fewer than eight bits is not negative.
  template <std::size_t kBits>
  int code(std::size_t i) const {
    const auto byte = static_cast<std::uint8_t>(codes[byte_of<kBits>(i)]);
    return kBits == 8 ? static_cast<std::int8_t>(byte) : byte >> shift_of<kBits>(i) & ((1 << kBits) - 1);
  }
  // Its place must hold zeros.
  template <std::size_t kBits>
  void put_code(std::size_t i, int code) const {
    codes[byte_of<kBits>(i)] |= static_cast<std::byte>(static_cast<std::uint8_t>(code) << shift_of<kBits>(i));
  }

  // Scales and minima, in their order.
  float factor(const PanelLayout& layout, std::size_t slot) const {
    if (!layout.half_scales) return load<float>(slot);
    return float16_to_float(load<std::uint16_t>(slot));
  }
  void put_factor(const PanelLayout& layout, std::size_t slot, float value) const {
    if (!layout.half_scales) return store(slot, value);
    store(slot, float_to_float16_saturated(value));
  }
  Byte& zero_point(const PanelLayout& layout) const { return factors[layout.factor_bytes() - kPanelRows + row]; }

 private:
  template <std::size_t kBits>
  std::size_t byte_of(std::size_t i) const {
    return 64 * (i / 4 % kBits) + 4 * row + i % 4;
  }
  template <std::size_t kBits>
  static std::size_t shift_of(std::size_t i) {
    return kBits == 8 ? 0 : i / 4 / kBits * kBits;
  }
  template <class T>
  T load(std::size_t slot) const {
    T value;
    std::memcpy(&value, factors + (slot * kPanelRows + row) * sizeof(T), sizeof(T));
    return value;
  }
  template <class T>
  void store(std::size_t slot, T value) const {
    std::memcpy(factors + (slot * kPanelRows + row) * sizeof(T), &value, sizeof(T));
  }
};

template <class Byte>
class PanelRow {
 public:
  // Row `row` of a matrix whose panels of `panel_bytes` begin at `panels`.
  PanelRow(const PanelLayout& layout, Byte* panels, std::size_t panel_bytes, std::size_t row, std::size_t cols)
      : panel_(panels + row / kPanelRows * panel_bytes),
        row_(row % kPanelRows),
        cols_(cols),
        element_bytes_(traits(layout.kind).element_bytes),
        code_bytes_(traits(layout.kind).block_code_bytes()),
        factor_bytes_(layout.factor_bytes()),
        group_blocks_(layout.group_blocks()) {}

  Byte* element(std::size_t col) const { return panel_ + (col * kPanelRows + row_) * element_bytes_; }

  std::size_t blocks() const { return ceil_div(cols_, kBlockCols); }
  // Factors stand behind the codes of the last block that shares them.
  RowBlock<Byte> block(std::size_t b) const {
    const std::size_t group = b / group_blocks_, end = std::min((group + 1) * group_blocks_, blocks()), before = group * factor_bytes_;
    return {panel_ + b * code_bytes_ + before, panel_ + end * code_bytes_ + before, row_, b * kBlockCols,
            std::min(kBlockCols, cols_ - b * kBlockCols), b % group_blocks_ == 0};
  }

 private:
  Byte* panel_;
  std::size_t row_, cols_, element_bytes_, code_bytes_, factor_bytes_, group_blocks_;
};

}  // namespace loom
