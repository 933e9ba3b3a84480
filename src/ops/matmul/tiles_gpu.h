#pragma once
// The part of a product that a workgroup of a graphics card computes. No bit depends on it, only shapes of the work.

#include <array>
#include <cstddef>

#include "backend/webgpu/kernel.h"

namespace loom::gpu {

inline constexpr std::size_t kThreadsOfGroup = Kernel::kThreads;  // one thread for each output
constexpr std::size_t kFewRows = 8;                               // of x, whose outputs are shared by threads
constexpr std::size_t kFewOutputs = 8;                            // of a workgroup then, of one row: half a panel
constexpr std::size_t kRowsOfSharedGroup = 4;  // of a workgroup of blocks_few.wgsl, by the sixteen outputs of a panel
constexpr std::size_t kRowsOfGroup = 16;       // of a workgroup otherwise, by the sixteen outputs of a panel

// The tile of c = a b that a workgroup computes in floats: 4 side columns, and as many rows or twice as many.
struct GemmTile {
  std::size_t side;
  bool tall;
  constexpr std::size_t rows() const { return 4 * side * (tall ? 2 : 1); }
  constexpr std::size_t columns() const { return 4 * side; }
  // How many a workgroup has in its memory, of so many bytes: with two it waits once for a step, where
  // there is room for another workgroup too. Tall ones leave that room, which is faster.
  constexpr std::size_t in_memory(std::size_t bytes) const {
    const std::size_t one = 2 * side * (side + 1) * 16;
    return !tall && bytes >= 4 * one ? 2 : 1;
  }
};
// The largest one of which there are enough is taken; the last one fits always.
constexpr std::array<GemmTile, 3> kGemmTiles = {{{16, true}, {16, false}, {8, false}}};

// The tile of a product of codes that a workgroup computes: 64 outputs by `rows` rows of x, for each thread four
// outputs by four rows, by eight in tall ones.
struct CodeTile {
  std::size_t rows;
  bool tall;
  constexpr std::size_t threads() const { return (tall ? 2 : 4) * rows; }
};
inline constexpr std::size_t kPanelsOfCodeTile = 4;
constexpr std::array<CodeTile, 4> kCodeTiles = {{{128, true}, {64, false}, {32, false}, {16, false}}};

// The tile of a product of codes on units for matrices (rows_units.wgsl): 128 outputs by 64 rows of x. Its memory holds
// the factors of so many blocks; with plain arithmetic in place of the units, of as many as any card has room for.
inline constexpr std::size_t kRowsOfUnits = 64, kPanelsOfUnits = 8;
inline constexpr std::size_t kHeldByUnits = 8, kHeldByPlainUnits = 2, kBytesOfUnits = 44032;

}  // namespace loom::gpu
