#include "ops/statistics/statistics.h"

#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/statistics/statistics_gpu.h"
#include "ops/sums/sums.h"

namespace loom {

TensorStats TensorStats::read(const ConstTensor& figures) {
  const auto at = [&](std::size_t i) { return read_element(figures, i); };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

void tensor_statistics(const Exec& exec, ConstTensor x, Tensor figures) {
  const std::size_t n = x.rows * x.cols;
  if (n == 0) return fill_zero(exec, figures);
  for (const Exec& host : dispatch(exec, [&] { gpu::tensor_statistics(exec, x, figures); })) {
    const ArenaScope scope(host.arena);
    const std::size_t blocks = pieces_of(n);
    with_element(x.element, [&]<class T>() {
      const StatisticsKernels<T>& k = host.kernels.statistics.of<T>();
      T *const sums = host.arena.take<T>(2), *const squares = host.arena.take<T>(1),
               *const extremes = host.arena.take<T>(2 * blocks);
      sum_blocks(host, n, 2, sums, [&](std::size_t first, std::size_t count, T* lanes) {
        k.block(x.as<T>() + first, count, lanes, extremes + 2 * (first / kLaneBlock));
      });
      if (host.computes()) k.mean(sums, n, figures.as<T>());
      sum_blocks(host, n, 1, squares, [&](std::size_t first, std::size_t count, T* lanes) {
        k.spread(x.as<T>() + first, count, figures.as<T>(), lanes);
      });
      if (host.computes()) k.finish(sums, squares, extremes, blocks, n, figures.as<T>());
    });
  }
}

}  // namespace loom
