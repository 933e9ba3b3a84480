#include "ops/l2_norm/l2_norm.h"

#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {

static_assert(kPieceElements == kLanes * kChain, "a piece is a block of lanes16");

void l2_norm(const Exec& exec, ConstTensor x, double factor, Tensor y) {
  const ArenaScope scope(exec.arena);
  with_element(x.element, [&]<class T>() {
    const L2NormKernels<T>& kernels = exec.kernels.l2_norm.of<T>();
    const std::size_t n = x.rows * x.cols;
    T* lanes = exec.arena.take<T>(pieces_of(n) * kLanes);
    for_pieces(exec, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
      kernels.block(x.as<T>() + first, static_cast<T>(factor), count, lanes + piece * kLanes);
    });
    if (exec.computes()) *y.as<T>() = kernels.join(lanes, pieces_of(n));
  });
}

}  // namespace loom
