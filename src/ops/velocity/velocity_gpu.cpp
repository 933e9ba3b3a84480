#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/elements_gpu.h"
#include "ops/recorded.h"
#include "ops/sums/sums_gpu.h"
#include "ops/velocity/add_products.wgsl.h"
#include "ops/velocity/add_velocity.wgsl.h"
#include "ops/velocity/move_rate.wgsl.h"
#include "ops/velocity/velocity_gpu.h"
#include "ops/velocity/velocity_figures.wgsl.h"
#include "ops/velocity/velocity_terms.wgsl.h"

namespace loom::gpu {
namespace {

using recorder::Trace;

}  // namespace

void move_rate(const Exec& exec, double base, ConstTensor figures, ConstTensor factor, Tensor rate) {
  exec.gpu()->record(exec,
                     Kernel("move_rate", wgsl::move_rate)
                         .reads("figures", figures.data)
                         .reads("factor", factor.data == nullptr ? figures.data : factor.data)
                         .writes("rate", rate.data)
                         .number("base", static_cast<float>(base))
                         .fixed("has_factor", factor.data != nullptr),
                     1);
}

void add_products(const Exec& exec, ConstTensor rate, ConstTensor g, Tensor sum, Tensor moved) {
  exec.gpu()->record(exec,
                     Kernel("add_products", wgsl::add_products)
                         .reads("rate", rate.data)
                         .reads("g", g.data)
                         .updates("sum", sum.data)
                         .writes("moved", moved.data)
                         .number("elements", elements_of(sum)),
                     ceil_div(elements_of(sum), Kernel::kThreads));
}

void velocity(const Exec& exec, const VelocityStep& step, ConstTensor rate, ConstTensor g, ConstTensor w, Tensor v,
              Tensor figures, Tensor failed) {
  static const std::string block = block_text({wgsl::velocity_terms}), fold = fold_text({wgsl::velocity_figures});
  record_sums(exec, elements_of(v), kVelocityFigures,
              Kernel("velocity", block)
                  .reads("rate", rate.data)
                  .reads("g", g.data)
                  .reads("w", w.data)
                  .updates("v", v.data)
                  .number("keep_share", static_cast<float>(step.keep))
                  .number("take_share", static_cast<float>(step.take)),
              Kernel("velocity_figures", fold).writes("figures", figures.data).updates("failed", failed.data));
}

void add_velocity(const Exec& exec, ConstTensor rate, ConstTensor figures, ConstTensor failed, ConstTensor v,
                  double limit, Tensor w) {
  exec.gpu()->record(exec,
                     Kernel("add_velocity", wgsl::add_velocity)
                         .reads("rate", rate.data)
                         .reads("figures", figures.data)
                         .reads("failed", failed.data)
                         .reads("v", v.data)
                         .updates("w", w.data)
                         .number("elements", elements_of(w))
                         .number("limit", static_cast<float>(limit)),
                     ceil_div(elements_of(w), Kernel::kThreads));
}

void add_scaled(const Exec& exec, double factor, ConstTensor x, Tensor y) {
  record_elements(exec, "add_scaled", y.rows, y.cols, {{x.data, Access::Read}, {y.data, Access::Both}},
                  {static_cast<float>(factor)}, [](Trace& t) {
                    record::velocity_kernels.f32.scaled(t.number(0), t.operand(0), Trace::n(), t.operand(1));
                  });
}

void add_change(const Exec& exec, ConstTensor before, ConstTensor now, Tensor y) {
  record_elements(exec, "add_change", y.rows, y.cols,
                  {{before.data, Access::Read}, {now.data, Access::Read}, {y.data, Access::Both}}, {}, [](Trace& t) {
                    record::velocity_kernels.f32.change(t.operand(0), t.operand(1), Trace::n(), t.operand(2));
                  });
}

}  // namespace loom::gpu
