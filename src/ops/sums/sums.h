#pragma once
// Sums over all elements of a tensor by lanes16 (docs/internals/numerics.md), in the tensor's element type. Threads
// share out the blocks of kLaneBlock elements, each of which leaves sixteen partial sums; what is left of it is one
// number per sum, in a small tensor that later ops read.

#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {

template <class T>
struct SumsKernels {
  // to[s] = the fold of the sum over blocks, ascending, of lanes[block][s][16].
  void (*fold_blocks)(const T* lanes, std::size_t blocks, std::size_t sums, T* to);
};

// to[0, sums) from the blocks of n elements: block(first, count, lanes) leaves the lanes [sums][16] of elements [first,
// first + count).
template <class T, class F>
void sum_blocks(const Exec& exec, std::size_t n, std::size_t sums, T* to, F&& block) {
  static_assert(kPieceElements == kLaneBlock, "a piece is a block of lanes16");
  const ArenaScope scope(exec.arena);
  const std::size_t width = sums * kLanes;
  T* const lanes = exec.arena.take<T>(pieces_of(n) * width);
  for_pieces(exec, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
    block(first, count, lanes + piece * width);
  });
  if (exec.computes()) exec.kernels.sums.template of<T>().fold_blocks(lanes, pieces_of(n), sums, to);
}

}  // namespace loom
