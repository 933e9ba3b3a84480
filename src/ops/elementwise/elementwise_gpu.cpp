#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/elements_gpu.h"
#include "ops/elementwise/add_to_rows.wgsl.h"
#include "ops/elementwise/copy.wgsl.h"
#include "ops/elementwise/elementwise_gpu.h"
#include "ops/elementwise/fill.wgsl.h"
#include "ops/recorded.h"

namespace loom::gpu {
namespace {

using recorder::Trace;
const ElementwiseKernels<float>& kernels() { return record::elementwise_kernels.f32; }

ElementOperand in(const ConstTensor& t) { return {t.data, Access::Read}; }
ElementOperand out(const Tensor& y) { return {y.data, Access::Write}; }

}  // namespace

void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y) {
  record_elements(exec, "add", y.rows, y.cols, {in(a), in(b), out(y)}, {},
                  [](Trace& t) { kernels().add(t.operand(0), t.operand(1), Trace::n(), t.operand(2)); });
}

void multiply(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y) {
  record_elements(exec, "multiply", y.rows, y.cols, {in(a), in(b), out(y)}, {},
                  [](Trace& t) { kernels().multiply(t.operand(0), t.operand(1), Trace::n(), t.operand(2)); });
}

void scale(const Exec& exec, ConstTensor x, double factor, Tensor y) {
  record_elements(exec, "scale", y.rows, y.cols, {in(x), out(y)}, {static_cast<float>(factor)}, [](Trace& t) {
    kernels().scale(t.operand(0), static_cast<double>(t.number(0)), Trace::n(), t.operand(1));
  });
}

void divide(const Exec& exec, ConstTensor x, double divisor, Tensor y) {
  record_elements(exec, "divide", y.rows, y.cols, {in(x), out(y)}, {static_cast<float>(divisor)},
                  [](Trace& t) { kernels().divide(t.operand(0), t.number(0), Trace::n(), t.operand(1)); });
}

void activate(const Exec& exec, const ActivationFn& fn, ConstTensor x, Tensor y) {
  record_elements(exec, named("activate", fn), y.rows, y.cols, {in(x), out(y)}, {},
                  [&](Trace& t) { kernels().activate(fn, t.operand(0), Trace::n(), t.operand(1)); });
}

void activate_backward(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor dy, Tensor dx) {
  record_elements(exec, named("activate_backward", fn), dx.rows, dx.cols, {in(x), in(dy), out(dx)}, {}, [&](Trace& t) {
    kernels().activate_backward(fn, t.operand(0), t.operand(1), Trace::n(), t.operand(2));
  });
}

void gated(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, Tensor y) {
  record_elements(exec, named("gated", fn), y.rows, y.cols, {in(gate), in(up), out(y)}, {},
                  [&](Trace& t) { kernels().gated(fn, t.operand(0), t.operand(1), Trace::n(), t.operand(2)); });
}

void gated_backward(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, ConstTensor dy,
                    Tensor dgate, Tensor dup) {
  record_elements(exec, named("gated_backward", fn), dup.rows, dup.cols,
                  {in(gate), in(up), in(dy), out(dgate), out(dup)}, {}, [&](Trace& t) {
                    kernels().gated_backward(fn, t.operand(0), t.operand(1), t.operand(2), Trace::n(), t.operand(3),
                                             t.operand(4));
                  });
}

void add_to_rows(const Exec& exec, ConstTensor x, const void* row, Tensor y) {
  exec.gpu()->record(exec,
                     Kernel("add_to_rows", wgsl::add_to_rows)
                         .reads("x", x.data)
                         .reads("row", row)
                         .writes("y", y.data)
                         .number("elements", elements_of(y))
                         .number("cols", y.cols),
                     ceil_div(elements_of(y), Kernel::kThreads));
}

void fill(const Exec& exec, Tensor y, double value) {
  exec.gpu()->record(exec,
                     Kernel("fill", wgsl::fill)
                         .writes("y", y.data)
                         .number("elements", elements_of(y))
                         .number("value", std::bit_cast<std::uint32_t>(static_cast<float>(value))),
                     ceil_div(elements_of(y), Kernel::kThreads));
}

void copy(const Exec& exec, ConstTensor x, Tensor y) {
  constexpr std::size_t kOfThread = 8;
  exec.gpu()->record(
      exec, Kernel("copy", wgsl::copy).reads("x", x.data).writes("y", y.data).number("elements", elements_of(y)),
      ceil_div(elements_of(y), kOfThread * Kernel::kThreads));
}

}  // namespace loom::gpu
