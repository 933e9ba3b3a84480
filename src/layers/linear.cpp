#include "layers/linear.h"

#include "layers/adapter.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

constexpr std::size_t kMaxJobs = 4;

// Mixed precision has rounded what comes from other cells.
FactorKind values_of(const Run& run) { return run.mixed == Mixed::none ? FactorKind::Any : FactorKind::Rounded; }

const Weight* present(const Weight* bias) { return bias != nullptr && bias->declared() ? bias : nullptr; }

void linear64(const Exec& exec, ConstTensor x, const LinearJob& job) {
  const ArenaScope scope(exec.arena);
  const std::size_t rows = job.weight->rows() / job.weight->parts();
  const double* w = job.weight->values<double>(exec) + job.part * rows * x.cols;
  gemm(exec, Operand::of(x), {w, 1, x.cols}, x.cols, job.y);
  if (const Weight* bias = present(job.bias))
    add_to_rows(exec, job.y, bias->values<double>(exec) + job.part * rows, job.y);
}

}  // namespace

void linear(const Run& run, ConstTensor x, std::span<const LinearJob> jobs) {
  LOOM_ASSERT(jobs.size() <= kMaxJobs);
  const ArenaScope scope(run.arena());
  std::array<MatmulJob, kMaxJobs> packed;
  std::size_t n = 0;
  for (const LinearJob& job : jobs) {
    if (x.element == Element::f64) {
      linear64(run, x, job);
      continue;
    }
    const Weight* bias = present(job.bias);
    const float* b =
        bias == nullptr ? nullptr : bias->values<float>(run) + job.part * (job.weight->rows() / job.weight->parts());
    packed[n++] = {job.weight->matrix(job.part).get(), job.y, b, job.input_floor};
  }
  if (n != 0) matmul(run, x, {packed.data(), n}, values_of(run));
  for (const LinearJob& job : jobs) adapt(run, x, *job.weight, job.part, job.y);
}

namespace {

void add_products(const Run& run, ConstTensor x, const Weight& weight, const Weight& bias, ConstTensor dy,
                  std::size_t block, const SharedOperands* shared = nullptr) {
  if (run.gradients == nullptr) return;
  if (const auto [data, fresh] = run.gradients->target(run, weight); data != nullptr) {
    const Tensor dw{data, weight.rows(), weight.cols(), x.element};
    const Into into = fresh ? Into::Store : Into::Add;
    shared != nullptr ? gemm(run, shared->dy, shared->x, dw, into, block, values_of(run))
                      : gemm(run, Operand::transposed(dy), Operand::of(x), x.rows, dw, into, block, values_of(run));
  }
  if (bias.declared())
    if (void* db = run.gradients->of(run, bias)) add_column_sums(run, dy, block, db);
}

void take_back(const Run& run, const Weight& weight, ConstTensor dy, Tensor dx, bool add_to_dx) {
  with_element(dx.element, [&]<class T>() {
    gemm(run, Operand::of(dy), {weight.values<T>(run), weight.cols(), 1}, dy.cols, dx,
         add_to_dx ? Into::Add : Into::Store, 0, values_of(run));
  });
}

}  // namespace

void linear_backward(const Run& run, ConstTensor x, const Weight& weight, const Weight& bias, ConstTensor dy, Tensor dx,
                     std::size_t block, bool add_to_dx, const SharedOperands* shared) {
  add_products(run, x, weight, bias, dy, block, shared);
  if (dx.data != nullptr) {
    const ArenaScope scope(run.arena());
    take_back(run, weight, dy, dx, add_to_dx);
  }
  adapt_backward(run, x, weight, dy, dx, block);
}

void linear_target(const Run& run, const TweenRules& rules, ConstTensor x, const Weight& weight, const Weight& bias,
                   ConstTensor e, Tensor d, std::size_t block, bool add_to_d, const ConstTensor* y) {
  if (d.data == nullptr || !rules.averages) return linear_backward(run, x, weight, bias, e, d, block, add_to_d);
  add_products(run, x, weight, bias, e, block);
  {
    const ArenaScope scope(run.arena());
    const Tensor target = run.tensor(e.rows, e.cols, e.element);
    if (y == nullptr) linear(run, x, weight, bias, target);
    add(run, y != nullptr ? *y : ConstTensor(target), e, target);
    take_back(run, weight, target, d, add_to_d);
  }
  adapt_backward(run, x, weight, e, d, block);
}

}  // namespace loom
