#include "ops/norm/norm.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y) {
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      exec.kernels.norm.of<T>().rms_norm_row(x.row<T>(r), static_cast<const T*>(gamma), eps, x.cols, y.row<T>(r));
    });
  });
}

void layer_norm(const Exec& exec, ConstTensor x, const void* gamma, const void* beta, double eps, Tensor y) {
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      exec.kernels.norm.of<T>().layer_norm_row(x.row<T>(r), static_cast<const T*>(gamma), static_cast<const T*>(beta), eps, x.cols, y.row<T>(r));
    });
  });
}

}  // namespace loom
