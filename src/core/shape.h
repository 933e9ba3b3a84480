#pragma once
// Extents of a row-major tensor, outermost first: rank 1 to 8, every extent at least 1, at most 2^40 elements (engine
// S-01; 2^32 - 1 where addresses have 32 bits).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/error.h"

namespace loom {

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 8;
  // 2^40; where addresses have 32 bits 2^28, whose bytes in f64 can be counted.
  static constexpr std::size_t kMaxElements = sizeof(std::size_t) > 4 ? static_cast<std::size_t>(std::uint64_t{1} << 40)
                                                                      : std::size_t{1} << 28;

  // ShapeMismatch for a rank outside 1..8 or an extent of 0, SizeOverflow for more than kMaxElements elements.
  static Result<Shape> create(std::span<const std::size_t> extents);
  // Makes a shape of extents that were checked before.
  static Shape of(std::initializer_list<std::size_t> extents) {
    return create({extents.begin(), extents.size()}).value();
  }

  std::size_t rank() const { return rank_; }
  std::size_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::span<const std::size_t> extents() const { return {extents_.data(), rank_}; }
  std::size_t elements() const { return elements_; }
  // The last axis, and the number of rows that all others make (engine S-02).
  std::size_t cols() const { return extents_[rank_ - 1]; }
  std::size_t rows() const { return elements_ / cols(); }
  bool operator==(const Shape& other) const { return std::ranges::equal(extents(), other.extents()); }
  std::string text() const;  // "[2, 5, 8]"

  // The same leading axes with another last one.
  Result<Shape> with_cols(std::size_t cols) const;
  // The shape with one more axis at the end.
  Result<Shape> appended(std::size_t extent) const;

 private:
  std::array<std::size_t, kMaxRank> extents_{1};
  std::size_t rank_ = 1, elements_ = 1;
};

}  // namespace loom
