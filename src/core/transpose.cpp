#include "core/transpose.h"

#include <algorithm>
#include <cstring>

namespace loom {
namespace {

// Side of the tile that passes through the first-level cache at once. Strides are often powers of two, whose lines
// share few cache sets: sixteen lines per side, each read or written whole, are about as many as the cache holds of
// them.
constexpr std::size_t kTile = 16;

template <class T>
void by_element(const T* from, std::size_t from_stride, std::size_t rows, std::size_t cols, T* to,
                std::size_t to_stride) {
  for (std::size_t c = 0; c < cols; ++c)
    for (std::size_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
}

using Four = float __attribute__((vector_size(16)));

Four load(const float* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void store(float* p, Four v) { std::memcpy(p, &v, sizeof v); }

void four_by_four(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
  const Four a = load(from), b = load(from + from_stride), c = load(from + 2 * from_stride),
             d = load(from + 3 * from_stride);
  const Four ac_low = __builtin_shufflevector(a, c, 0, 4, 1, 5), ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
  const Four bd_low = __builtin_shufflevector(b, d, 0, 4, 1, 5), bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(ac_low, bd_low, 0, 4, 1, 5));
  store(to + to_stride, __builtin_shufflevector(ac_low, bd_low, 2, 6, 3, 7));
  store(to + 2 * to_stride, __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5));
  store(to + 3 * to_stride, __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7));
}

}  // namespace

void transpose(const float* from, std::size_t from_stride, std::size_t rows, std::size_t cols, float* to,
               std::size_t to_stride) {
  for (std::size_t r = 0; r < rows; r += kTile) {
    const std::size_t down = std::min(kTile, rows - r), down4 = down / 4 * 4;
    for (std::size_t c = 0; c < cols; c += kTile) {
      const std::size_t across = std::min(kTile, cols - c), across4 = across / 4 * 4;
      const float* source = from + r * from_stride + c;
      float* target = to + c * to_stride + r;
      for (std::size_t j = 0; j < across4; j += 4)
        for (std::size_t i = 0; i < down4; i += 4)
          four_by_four(source + i * from_stride + j, from_stride, target + j * to_stride + i, to_stride);
      by_element(source + across4, from_stride, down4, across - across4, target + across4 * to_stride, to_stride);
      by_element(source + down4 * from_stride, from_stride, down - down4, across, target + down4, to_stride);
    }
  }
}

void transpose(const double* from, std::size_t from_stride, std::size_t rows, std::size_t cols, double* to,
               std::size_t to_stride) {
  for (std::size_t r = 0; r < rows; r += kTile)
    for (std::size_t c = 0; c < cols; c += kTile)
      by_element(from + r * from_stride + c, from_stride, std::min(kTile, rows - r), std::min(kTile, cols - c),
                 to + c * to_stride + r, to_stride);
}

}  // namespace loom
