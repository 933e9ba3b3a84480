#include "ops/matmul/dense_calls.h"

#include <utility>

#include "ops/all.h"
#include "ops/matmul/matmul.h"

namespace loom {

const float* run_dense_calls(const KernelTable& kernels, std::span<const DenseCall> calls, const float* x,
                             std::size_t rows, std::span<float> memory) {
  float *to = memory.data(), *next = to + memory.size() / 2;
  for (const DenseCall& call : calls) {
    const Matrix& weight = *call.weight;
    const MatmulTask task{&weight, x, rows, weight.cols(), nullptr, to, call.bias};
    kernels.matmul.panels[static_cast<std::size_t>(weight.layout().kind)](task, 0, weight.panels());
    if (call.activation != nullptr) kernels.elementwise.f32.activate(*call.activation, to, rows * weight.rows(), to);
    x = to;
    std::swap(to, next);
  }
  return x;
}

}  // namespace loom
