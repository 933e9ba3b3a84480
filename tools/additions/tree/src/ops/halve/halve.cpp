#include "ops/halve/halve.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void halve(const Exec& exec, ConstTensor x, Tensor y) {
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t first, std::size_t n) {
      exec.kernels.halve.of<T>().halve(x.as<T>() + first, n, y.as<T>() + first);
    });
  });
}

}  // namespace loom
