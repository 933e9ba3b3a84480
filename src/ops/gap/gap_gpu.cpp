#include <array>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "core/checked.h"
#include "ops/elements_gpu.h"
#include "ops/gap/agreement.wgsl.h"
#include "ops/gap/close.wgsl.h"
#include "ops/gap/column_mean.wgsl.h"
#include "ops/gap/direction.wgsl.h"
#include "ops/gap/gap_figures.wgsl.h"
#include "ops/gap/gap_gpu.h"
#include "ops/gap/norm_gap.wgsl.h"
#include "ops/gap/simplex.wgsl.h"
#include "ops/gap/sizes.wgsl.h"
#include "ops/gap/squares.wgsl.h"
#include "ops/gap/width.wgsl.h"
#include "ops/norm/moments.wgsl.h"
#include "ops/recorded.h"
#include "ops/sums/sums_gpu.h"

namespace loom::gpu {
namespace {

using recorder::Trace;
const GapKernels<float>& gaps() { return record::gap_kernels.f32; }
const ElementwiseKernels<float>& activations() { return record::elementwise_kernels.f32; }
constexpr std::size_t kFewThreads = 64;

}  // namespace

void secant_width(const Exec& exec, ConstTensor x, double step, Tensor width) {
  static const std::string block = block_text({wgsl::squares}), fold = fold_text({wgsl::width});
  record_sums(exec, elements_of(x), 1, Kernel("squares", block).reads("x", x.data),
              Kernel("secant_width", fold)
                  .writes("width", width.data)
                  .number("step", static_cast<float>(step))
                  .number("count", static_cast<float>(elements_of(x)))
                  .number("least", static_cast<float>(kLeastSecantWidth)));
}

// The width is one number for all elements: an operand without rows of its own.
void secant_gap(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor width, ConstTensor e, Tensor out) {
  const ElementOperand operands[] = {
      {x.data, Access::Read}, {width.data, Access::Read, true}, {e.data, Access::Read}, {out.data, Access::Write}};
  record_elements(exec, named("secant_gap", fn), out.rows, out.cols, operands, {}, [&](Trace& t) {
    alignas(64) float above[Trace::n()], below[Trace::n()];
    gaps().ends(t.operand(0), t.operand(1), Trace::n(), above, below);
    activations().activate(fn, above, Trace::n(), above);
    activations().activate(fn, below, Trace::n(), below);
    gaps().secant(above, below, t.operand(1), t.operand(2), Trace::n(), t.operand(3));
  });
}

void plain_gap(const Exec& exec, const ActivationFn& fn, double low, double high, ConstTensor x, ConstTensor e,
               Tensor out) {
  const ElementOperand operands[] = {{x.data, Access::Read}, {e.data, Access::Read}, {out.data, Access::Write}};
  record_elements(exec, named("plain_gap", fn), out.rows, out.cols, operands, {}, [&](Trace& t) {
    alignas(64) float y[Trace::n()], slope[Trace::n()];
    activations().fill(1, Trace::n(), slope);
    activations().activate_backward(fn, t.operand(0), slope, Trace::n(), slope);
    activations().activate(fn, t.operand(0), Trace::n(), y);
    gaps().plain(static_cast<float>(low), static_cast<float>(high), y, slope, t.operand(1), Trace::n(), t.operand(2));
  });
}

void signed_gap(const Exec& exec, ConstTensor x, ConstTensor e, Tensor y) {
  record_elements(exec, "signed_gap", y.rows, y.cols,
                  {{x.data, Access::Read}, {e.data, Access::Read}, {y.data, Access::Write}}, {},
                  [](Trace& t) { gaps().with_sign(t.operand(0), t.operand(1), Trace::n(), t.operand(2)); });
}

void add_size_of_columns(const Exec& exec, ConstTensor w, void* sums) {
  exec.gpu()->record(exec,
                     Kernel("sizes", wgsl::sizes)
                         .reads("w", w.data)
                         .updates("sums", sums)
                         .number("rows", w.rows)
                         .number("cols", w.cols),
                     ceil_div(w.cols, Kernel::kThreads));
}

void close_gap(const Exec& exec, const void* sums, double threshold, bool divide, ConstTensor base, Tensor d) {
  exec.gpu()->record(exec,
                     Kernel("close", wgsl::close)
                         .reads("sums", sums)
                         .reads("base", or_else(base.data, sums))
                         .updates("d", d.data)
                         .number("elements", elements_of(d))
                         .number("cols", d.cols)
                         .number("threshold", static_cast<float>(threshold))
                         .fixed("divides", divide)
                         .fixed("has_base", base.data != nullptr),
                     ceil_div(elements_of(d), Kernel::kThreads));
}

void clamp(const Exec& exec, double limit, Tensor d, ConstTensor failed) {
  const ElementOperand operands[] = {{d.data, Access::Both}};
  const float numbers[] = {static_cast<float>(limit)};
  record_elements(
      exec, "clamp", d.rows, d.cols, operands, numbers,
      [](Trace& t) { gaps().clamp(t.number(0), nullptr, Trace::n(), t.operand(0)); }, failed.data);
}

void simplex_gap(const Exec& exec, ConstTensor p, ConstTensor e, std::span<const SoftmaxRun> runs, Tensor out) {
  static const std::string body = joined({wgsl::lanes, wgsl::simplex});
  for (const SoftmaxRun& run : runs)
    exec.gpu()->record(exec,
                       Kernel("simplex", body, GpuDevice::kRowThreads)
                           .reads("p", p.data)
                           .reads("e", e.data)
                           .writes("out", out.data)
                           .number("cols", p.cols)
                           .number("first", run.first)
                           .number("width", run.width)
                           .number("count", run.count),
                       p.rows * run.count);
}

void norm_gap(const Exec& exec, const NormGap& norm, ConstTensor x, const void* gamma, ConstTensor e, Tensor out) {
  static const std::string body = joined({wgsl::lanes, wgsl::moments, wgsl::norm_gap});
  const std::size_t groups = norm.deviation != nullptr ? 1 : norm.groups;
  exec.gpu()->record(exec,
                     Kernel("norm_gap", body, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .reads("gamma", gamma)
                         .reads("deviation", or_else(norm.deviation, gamma))
                         .reads("e", e.data)
                         .writes("out", out.data)
                         .number("eps", static_cast<float>(norm.eps))
                         .number("threshold", static_cast<float>(norm.threshold))
                         .fixed("cols", norm.shape.channels / groups * norm.shape.positions)
                         .fixed("positions", norm.shape.positions)
                         .fixed("groups", groups)
                         .fixed("has_deviation", norm.deviation != nullptr)
                         .fixed("snaps_mean", 1)
                         .fixed("centred", norm.centred),
                     norm.shape.samples * groups);
}

void direction_gap(const Exec& exec, ConstTensor e, ConstTensor b, ConstTensor y, std::size_t branch, Tensor q) {
  static const std::string body = joined({wgsl::lanes, wgsl::direction});
  exec.gpu()->record(exec,
                     Kernel("direction", body, GpuDevice::kRowThreads)
                         .reads("e", e.data)
                         .reads("b", b.data)
                         .reads("y", y.data)
                         .writes("q", q.data)
                         .number("n", elements_of(y) / q.rows)
                         .number("cols", q.cols)
                         .number("branch", branch),
                     q.rows);
}

void mean_of_column(const Exec& exec, ConstTensor p, std::size_t i, ConstTensor factor, Tensor mean) {
  exec.gpu()->record(exec,
                     Kernel("column_mean", wgsl::column_mean, kFewThreads)
                         .reads("p", p.data)
                         .reads("factor", or_else(factor.data, p.data))
                         .writes("mean", mean.data)
                         .number("rows", p.rows)
                         .number("cols", p.cols)
                         .number("column", i)
                         .number("count", static_cast<float>(p.rows))
                         .fixed("has_factor", factor.data != nullptr),
                     1);
}

void gap_figures(const Exec& exec, ConstTensor a, ConstTensor e, const Aim& aim, Tensor figures, Tensor failed) {
  static const std::string block = block_text({wgsl::agreement}), fold = fold_text({wgsl::gap_figures});
  record_sums(exec, elements_of(a), 4,
              Kernel("agreement", block)
                  .reads("a", a.data)
                  .reads("e", e.data)
                  .number("factor", static_cast<float>(aim.factor))
                  .number("limit", static_cast<float>(aim.limit)),
              Kernel("gap_figures", fold)
                  .writes("figures", figures.data)
                  .updates("failed", failed.data)
                  .number("count", static_cast<float>(elements_of(a)))
                  .number("threshold", static_cast<float>(aim.threshold)));
}

}  // namespace loom::gpu
