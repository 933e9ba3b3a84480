#include "layers/linear.h"

#include "layers/adapter.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

constexpr std::size_t kMaxJobs = 4;

const Weight* present(const Weight* bias) { return bias != nullptr && bias->declared() ? bias : nullptr; }

void linear64(const Exec& exec, ConstTensor x, const LinearJob& job) {
  const ArenaScope scope(exec.arena);
  const std::size_t rows = job.weight->rows() / job.weight->parts();
  const double* w = job.weight->values<double>(exec) + job.part * rows * x.cols;
  gemm(exec, Operand::of(x), {w, 1, x.cols}, x.cols, job.y);
  if (const Weight* bias = present(job.bias)) add_to_rows(exec, job.y, bias->values<double>(exec) + job.part * rows, job.y);
}

}  // namespace

void linear(const Exec& exec, ConstTensor x, std::span<const LinearJob> jobs) {
  LOOM_ASSERT(jobs.size() <= kMaxJobs);
  const ArenaScope scope(exec.arena);
  std::array<MatmulJob, kMaxJobs> packed;
  std::size_t n = 0;
  for (const LinearJob& job : jobs) {
    if (x.element == Element::f64) {
      linear64(exec, x, job);
      continue;
    }
    const Weight* bias = present(job.bias);
    const float* b = bias == nullptr ? nullptr : bias->values<float>(exec) + job.part * (job.weight->rows() / job.weight->parts());
    packed[n++] = {job.weight->matrix(job.part).get(), job.y, b, job.input_floor};
  }
  if (n != 0) matmul(exec, x, {packed.data(), n});
  for (const LinearJob& job : jobs) adapt(exec, x, *job.weight, job.part, job.y);
}

void linear_backward(const Exec& exec, const Pass& pass, ConstTensor x, const Weight& weight, const Weight& bias, ConstTensor dy, Tensor dx,
                     std::size_t block, bool add_to_dx, const ConstTensor* y) {
  if (pass.gradients != nullptr) {
    if (const auto [dw, fresh] = pass.gradients->target(exec, weight); dw != nullptr)
      gemm(exec, Operand::transposed(dy), Operand::of(x), x.rows, {dw, weight.rows(), weight.cols(), x.element}, fresh ? Into::Store : Into::Add,
           block);
    if (bias.declared())
      if (void* db = pass.gradients->of(bias)) add_column_sums(exec, dy, block, db);
  }
  if (dx.data != nullptr) {
    const ArenaScope scope(exec.arena);
    ConstTensor down = dy;
    if (pass.tween != nullptr && pass.tween->averages) {
      const Tensor target = exec.arena.tensor(dy.rows, dy.cols, dy.element);
      if (y == nullptr) linear(exec, x, weight, bias, target);
      add(exec, y != nullptr ? *y : ConstTensor(target), dy, target);
      down = target;
    }
    with_element(dx.element, [&]<class T>() {
      gemm(exec, Operand::of(down), {weight.values<T>(exec), weight.cols(), 1}, dy.cols, dx, add_to_dx ? Into::Add : Into::Store);
    });
  }
  adapt_backward(exec, pass, x, weight, dy, dx, block);
}

}  // namespace loom
