#pragma once
// The tiles of AMX: eight registers of sixteen rows of 64 bytes (Intel SDM 1, 18; instructions in 2).

#include <cstdint>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

// Takes the unit for the thread while it lives; what the registers held before is lost.
class TileUnit {
 public:
  LOOM_INLINE TileUnit() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const config;
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
  }
  LOOM_INLINE ~TileUnit() { __asm__ volatile("tilerelease"); }
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;

  template <int Tile>
  LOOM_INLINE void clear() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(Tile));
  }
  // 1 024 bytes, row after row.
  template <int Tile>
  LOOM_INLINE void load(const void* from) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(Tile), "r"(from), "r"(kRowBytes) : "memory");
  }
  template <int Tile>
  LOOM_INLINE void store(float* to) {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Tile), "r"(to), "r"(kRowBytes) : "memory");
  }
  // Sum[m][n] += the 32 products of bfloat16 A[m][2k + i] * B[k][2n + i], in f32: exact where all partial sums are.
  template <int Sum, int A, int B>
  LOOM_INLINE void multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sum), "i"(A), "i"(B));
  }

 private:
  static constexpr std::int64_t kRowBytes = 64;
};

}  // namespace loom::inline LOOM_TARGET
