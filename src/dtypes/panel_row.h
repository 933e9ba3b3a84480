#pragma once
// Iteration over a row of a matrix in its panel, for packing, decoding and copying: elements, or blocks of
// codes with their factors. Kernels, which read sixteen rows at a time, have their own.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

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
    case 3: return f.template operator()<3>();
    case 4: return f.template operator()<4>();
    case 5: return f.template operator()<5>();
    case 6: return f.template operator()<6>();
    default: return f.template operator()<8>();
  }
}

// 32 columns, or the last fewer, of one row. Byte: std::byte, const or not.
template <class Byte>
struct RowBlock {
  Byte *codes, *factors;     // of all rows of the panel; of the group that the block belongs to
  std::size_t row;           // of the panel
  std::size_t first, count;  // columns
  std::size_t in_group;      // 0: the first that these factors are for

  // A code of fewer than eight bits is not negative.
  template <std::size_t kBits>
  int code(std::size_t i) const {
    if constexpr (kBits == 8) return static_cast<std::int8_t>(codes[byte_of<8>(i)]);
    constexpr std::size_t kLow = low_plane_bits(kBits);
    int value = static_cast<int>(codes[byte_of<kLow>(i)]) >> shift_of<kLow>(i) & ((1 << kLow) - 1);
    if constexpr (constexpr std::size_t kHigh = kBits - kLow; kHigh > 0)
      value |= (static_cast<int>(codes[64 * kLow + byte_of<kHigh>(i)]) >> shift_of<kHigh>(i) & ((1 << kHigh) - 1))
               << kLow;
    return value;
  }
  // Its place must hold zeros.
  template <std::size_t kBits>
  void put_code(std::size_t i, int code) const {
    constexpr std::size_t kLow = low_plane_bits(kBits);
    const auto bits = static_cast<unsigned>(code) & ((1u << kBits) - 1);
    codes[byte_of<kLow>(i)] |= static_cast<std::byte>((bits & ((1u << kLow) - 1)) << shift_of<kLow>(i));
    if constexpr (constexpr std::size_t kHigh = kBits - kLow; kHigh > 0)
      codes[64 * kLow + byte_of<kHigh>(i)] |= static_cast<std::byte>(bits >> kLow << shift_of<kHigh>(i));
  }

  // All codes of the block, each in the low bits of a byte whose other bits are 0, four of them in a word.
  using Codes = std::array<std::uint8_t, kBlockCols>;
  template <std::size_t kBits>
  Codes all_codes() const {
    constexpr std::size_t kLow = low_plane_bits(kBits);
    Words words = plane<kLow>(codes);
    if constexpr (kLow != kBits) {
      const Words high = plane<kBits - kLow>(codes + 64 * kLow);
      for (std::size_t w = 0; w < words.size(); ++w) words[w] |= high[w] << kLow;
    }
    return std::bit_cast<Codes>(words);
  }
  template <std::size_t kBits>
  void put_codes(const Codes& all) const {
    constexpr std::size_t kLow = low_plane_bits(kBits);
    Words words = std::bit_cast<Words>(all);
    if constexpr (kLow != kBits) {
      Words high;
      for (std::size_t w = 0; w < words.size(); ++w) {
        high[w] = words[w] >> kLow & kInEachByte<kBits - kLow>;
        words[w] &= kInEachByte<kLow>;
      }
      put_plane<kBits - kLow>(codes + 64 * kLow, high);
    }
    put_plane<kLow>(codes, words);
  }

  // `sub` counts the sub-blocks of this block, each of which has a scale and, in some layouts, a minimum.
  float scale(const PanelLayout& layout, std::size_t sub) const {
    if (!layout.has_super_blocks()) return plain_factor(layout, sub * (layout.has_min ? 2 : 1));
    if (layout.factors == PanelFactors::Shared) return super_factor(layout, 0);
    const int byte = super_byte(layout, sub, 0);
    return super_factor(layout, 0) *
           static_cast<float>((layout.factors == PanelFactors::Nibbles ? byte & 15 : byte) - layout.scale_offset);
  }
  float min(const PanelLayout& layout, std::size_t sub) const {
    if (!layout.has_super_blocks()) return plain_factor(layout, sub * 2 + 1);
    const bool nibbles = layout.factors == PanelFactors::Nibbles;
    const int byte = super_byte(layout, sub, nibbles ? 0 : 1);
    return 0.0f - super_factor(layout, 1) * static_cast<float>(nibbles ? byte >> 4 : byte);
  }
  // These two write the factors of layouts that store each of them as a number.
  void put_scale(const PanelLayout& layout, std::size_t sub, float value) const {
    put_plain_factor(layout, sub * (layout.has_min ? 2 : 1), value);
  }
  void put_min(const PanelLayout& layout, std::size_t sub, float value) const {
    put_plain_factor(layout, sub * 2 + 1, value);
  }
  // These two write the factors of a super-block: d and dmin, and the integers of the sub-blocks that they are
  // multiplied by.
  void put_super(const PanelLayout& layout, float d, float dmin) const {
    put_super_factor(layout, 0, d);
    if (layout.has_min) put_super_factor(layout, 1, dmin);
  }
  void put_super_scale(const PanelLayout& layout, std::size_t sub, int scale, int min) const {
    const bool nibbles = layout.factors == PanelFactors::Nibbles;
    super_byte(layout, sub, 0) = static_cast<std::uint8_t>(scale + layout.scale_offset + (nibbles ? min << 4 : 0));
    if (layout.has_min && !nibbles) super_byte(layout, sub, 1) = static_cast<std::uint8_t>(min);
  }
  Byte& zero_point(const PanelLayout& layout) const { return factors[layout.factor_bytes() - kPanelRows + row]; }

 private:
  using Words = std::array<std::uint32_t, kBlockCols / 4>;
  template <std::size_t kBits>
  static constexpr std::uint32_t kInEachByte = 0x01010101u * ((1u << kBits) - 1);
  template <std::size_t kBits>
  Words plane(const std::byte* from) const {
    Words words;
    for (std::size_t w = 0; w < words.size(); ++w) {
      std::memcpy(&words[w], from + byte_of<kBits>(4 * w), 4);
      words[w] = words[w] >> shift_of<kBits>(4 * w) & kInEachByte<kBits>;
    }
    return words;
  }
  template <std::size_t kBits>
  void put_plane(std::byte* to, const Words& words) const {
    std::uint32_t packed[kBits] = {};
    for (std::size_t w = 0; w < words.size(); ++w) packed[w % kBits] |= words[w] << shift_of<kBits>(4 * w);
    for (std::size_t j = 0; j < kBits; ++j) std::memcpy(to + byte_of<kBits>(4 * j), &packed[j], 4);
  }
  template <std::size_t kBits>
  std::size_t byte_of(std::size_t i) const {
    return 64 * (i / 4 % kBits) + 4 * row + i % 4;
  }
  template <std::size_t kBits>
  static std::size_t shift_of(std::size_t i) {
    return kBits == 8 ? 0 : i / 4 / kBits * kBits;
  }
  using Unsigned = std::conditional_t<std::is_const_v<Byte>, const std::uint8_t, std::uint8_t>;
  Unsigned& super_byte(const PanelLayout& layout, std::size_t sub, std::size_t part) const {
    const std::size_t slot = in_group * layout.block_subs() + sub,
                      parts = layout.super_at() / (kSuperBlocks * layout.block_subs() * kPanelRows);
    return reinterpret_cast<Unsigned*>(factors)[(slot * parts + part) * kPanelRows + row];
  }
  float super_factor(const PanelLayout& layout, std::size_t part) const {
    std::uint16_t half;
    std::memcpy(&half, factors + layout.super_at() + (part * kPanelRows + row) * 2, 2);
    return float16_to_float(half);
  }
  void put_super_factor(const PanelLayout& layout, std::size_t part, float value) const {
    const std::uint16_t half = float_to_float16_saturated(value);
    std::memcpy(factors + layout.super_at() + (part * kPanelRows + row) * 2, &half, 2);
  }
  float plain_factor(const PanelLayout& layout, std::size_t slot) const {
    if (layout.factors == PanelFactors::F16) return float16_to_float(load<std::uint16_t>(slot));
    if (layout.factors == PanelFactors::F32) return load<float>(slot);
    return std::bit_cast<float>(std::uint32_t{load<std::uint8_t>(slot)} << 23);
  }
  void put_plain_factor(const PanelLayout& layout, std::size_t slot, float value) const {
    if (layout.factors == PanelFactors::F16) return store(slot, float_to_float16_saturated(value));
    if (layout.factors == PanelFactors::F32) return store(slot, value);
    store(slot, static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(value) >> 23));
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
        group_blocks_(layout.group_blocks()),
        super_(layout.has_super_blocks()) {}

  Byte* element(std::size_t col) const { return panel_ + (col * kPanelRows + row_) * element_bytes_; }

  std::size_t blocks() const { return ceil_div(cols_, kBlockCols); }
  // Factors come before the codes of a super-block, else after those of the last block that shares them.
  RowBlock<Byte> block(std::size_t b) const {
    const std::size_t group = b / group_blocks_, before = group * factor_bytes_,
                      factors = super_ ? group * group_blocks_ : std::min((group + 1) * group_blocks_, blocks());
    return {panel_ + b * code_bytes_ + before + (super_ ? factor_bytes_ : 0),
            panel_ + factors * code_bytes_ + before,
            row_,
            b * kBlockCols,
            std::min(kBlockCols, cols_ - b * kBlockCols),
            b % group_blocks_};
  }

 private:
  Byte* panel_;
  std::size_t row_, cols_, element_bytes_, code_bytes_, factor_bytes_, group_blocks_;
  bool super_;
};

}  // namespace loom
