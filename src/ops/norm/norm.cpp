#include "ops/norm/norm.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void rms_norm(const Exec& exec, ConstTensor x, const float* gamma, float eps, Tensor y) {
  for_rows(exec, x.rows, x.cols, [&](std::size_t r) { exec.kernels.norm.rms_norm_row(x.row(r), gamma, eps, x.cols, y.row(r)); });
}

void layer_norm(const Exec& exec, ConstTensor x, const float* gamma, const float* beta, float eps, Tensor y) {
  for_rows(exec, x.rows, x.cols, [&](std::size_t r) { exec.kernels.norm.layer_norm_row(x.row(r), gamma, beta, eps, x.cols, y.row(r)); });
}

}  // namespace loom
