#include "ops/norm/rms_gradient.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void rms_norm_gradient(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor dx, void* dgamma, std::size_t block) {
  const ArenaScope scope(exec.arena);
  const Tensor products = exec.arena.tensor(x.rows, x.cols, x.element);
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      exec.kernels.rms_gradient.of<T>().row(x.row<T>(r), static_cast<const T*>(gamma), eps, dy.row<T>(r), x.cols, dx.row<T>(r), products.row<T>(r));
    });
  });
  if (dgamma != nullptr) add_column_sums(exec, products, block, dgamma);
}

}  // namespace loom
