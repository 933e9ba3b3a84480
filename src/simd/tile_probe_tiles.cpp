// Compares a variant's tile products with sums of integers: a unit that rounds where none is needed, as an emulator may
// have it, is not used (backend/cpu/isa.h).

#include "tile_unit.h"

namespace loom::inline LOOM_TARGET {

bool has_exact_tiles();

bool has_exact_tiles() {
  constexpr int kSide = 16, kTerms = 32;
  std::int32_t a[kSide][kTerms], b[kTerms][kSide];
  alignas(64) std::uint16_t left[kSide][kTerms], right[kSide][kTerms];
  const auto narrow = [](std::int32_t v) {
    return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, static_cast<float>(v)) >> 16);
  };
  // As large as real inputs and codes: sums come near 2^24, beyond which not every integer is a number of f32.
  for (int i = 0; i < kSide; ++i)
    for (int k = 0; k < kTerms; ++k) {
      a[i][k] = k % 2 == 0 ? 256 * (127 - (i + k) % 3) : (37 * i + 11 * k) % 256 - 128;
      b[k][i] = 31 - (5 * i + 3 * k) % 3 - (i % 4 == 3 ? 40 : 0);
      left[i][k] = narrow(a[i][k]);
      right[k / 2][2 * i + k % 2] = narrow(b[k][i]);
    }
  alignas(64) float sums[kSide][kSide];
  {
    TileUnit unit;
    unit.clear<0>();
    unit.load<1>(left);
    unit.load<2>(right);
    unit.multiply<0, 1, 2>();
    unit.store<0>(sums[0]);
  }
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      std::int32_t sum = 0;
      for (int k = 0; k < kTerms; ++k) sum += a[i][k] * b[k][j];
      if (sums[i][j] != static_cast<float>(sum)) return false;
    }
  return true;
}

}  // namespace loom::inline LOOM_TARGET
