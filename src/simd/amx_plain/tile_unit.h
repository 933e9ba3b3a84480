#pragma once
// The tiles of simd/amx in plain C++, for tests on processors that lack them.

#include <cstdint>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

class TileUnit {
 public:
  template <int Tile>
  void clear() {
    tiles_[Tile] = {};
  }
  template <int Tile>
  void load(const void* from) {
    __builtin_memcpy(&tiles_[Tile], from, sizeof(TileBytes));
  }
  template <int Tile>
  void store(float* to) {
    __builtin_memcpy(to, &tiles_[Tile], sizeof(TileBytes));
  }
  template <int Sum, int A, int B>
  void multiply() {
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 16; ++n) {
        auto sum = __builtin_bit_cast(float, tiles_[Sum].words[m][n]);
        for (int k = 0; k < 16; ++k)
          for (int i = 0; i < 2; ++i) sum += number(tiles_[A].words[m][k], i) * number(tiles_[B].words[k][n], i);
        tiles_[Sum].words[m][n] = __builtin_bit_cast(std::uint32_t, sum);
      }
  }

 private:
  struct TileBytes {
    std::uint32_t words[16][16] = {};
  };
  static float number(std::uint32_t pair, int i) {
    return __builtin_bit_cast(float, i == 0 ? pair << 16 : pair & 0xffff0000);
  }

  TileBytes tiles_[8];
};

}  // namespace loom::inline LOOM_TARGET
