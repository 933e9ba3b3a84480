#include "ops/l2_norm/l2_norm.h"

#include "ops/sums/sums.h"

namespace loom {

void l2_norm(const Exec& exec, ConstTensor x, double factor, Tensor y) {
  with_element(x.element, [&]<class T>() {
    const L2NormKernels<T>& kernels = exec.kernels.l2_norm.of<T>();
    sum_blocks(exec, x.rows * x.cols, 1, y.as<T>(), [&](std::size_t first, std::size_t count, T* lanes) {
      kernels.block(x.as<T>() + first, static_cast<T>(factor), count, lanes);
    });
    if (exec.computes()) kernels.root(y.as<T>());
  });
}

}  // namespace loom
