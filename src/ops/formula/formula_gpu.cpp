#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/mutex.h"
#include "ops/formula/formula_gpu.h"
#include "ops/formula/places.wgsl.h"
#include "ops/recorded.h"
#include "simd/record/trace.h"

namespace loom::gpu {
namespace {

constexpr std::string_view kInputNames[kFormulaInputs] = {"in0", "in1", "in2", "in3", "in4",  "in5",
                                                          "in6", "in7", "in8", "in9", "in10", "in11"};

std::string name_of(const Formula& formula) {
  std::string name = "formula";
  for (const FormulaStep& s : formula.steps()) {
    name += fmt::format(" {} {} {}", static_cast<int>(s.kind), s.a, s.b);
    if (s.kind == FormulaKind::Clip || s.kind == FormulaKind::HardSigmoid)
      name += fmt::format(" {:a} {:a}", s.low, s.high);
    if (s.kind == FormulaKind::Activate)
      name += fmt::format(" {} {:a} {:a} {}", loom::name(s.fn.kind), s.fn.leaky_slope, s.fn.elu_alpha, s.fn.ste);
  }
  return name;
}

// The CPU's kernel over a row of its own operands, written down.
std::string body_of(const Formula& formula) {
  const std::size_t inputs = formula.num_inputs();
  std::string body(wgsl::places);
  for (std::size_t k = 0; k < inputs; ++k)
    body += fmt::format("fn load_{0}(i: u32) -> f32 {{ return load_in{0}(place({0}u, i)); }}\n", k);
  body += fmt::format("fn store_{}(i: u32, value: f32) {{ store_y(i, value); }}\n", inputs);
  body += "fn run(group: u32, thread: u32) {\n  let i = 64u * group + thread;\n  if (i < elements()) {\n";
  body += recorder::traced([&](recorder::Trace& t) {
    FormulaTask<float> task;
    task.steps = formula.steps().data(), task.num_steps = formula.steps().size();
    task.num_inputs = inputs, task.num_axes = 1, task.dims[0] = recorder::Trace::n();
    for (std::size_t k = 0; k < inputs; ++k) task.inputs[k] = t.operand(k), task.strides[k][0] = 1;
    task.y = t.operand(inputs);
    record::formula_kernels.f32.evaluate(task, 0, recorder::Trace::n());
  });
  return body + "  }\n}\n";
}

struct Text {
  std::string name, body;
};
const Text& text_of(const Formula& formula) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const Text>, std::less<>>;
  std::string name = name_of(formula);
  const Mutex::Guard lock(mutex);
  auto& text = known[name];
  if (text == nullptr) text = std::make_unique<const Text>(Text{std::move(name), body_of(formula)});
  return *text;
}

}  // namespace

void evaluate(const Exec& exec, const Formula& formula, const FormulaTask<float>& task, std::size_t n) {
  const auto is_as_y = [&](std::size_t k) { return task.num_axes == 1 && task.strides[k][0] == 1; };
  std::size_t rank = 0;
  for (std::size_t k = 0; k < task.num_inputs; ++k) rank = is_as_y(k) ? rank : task.num_axes;
  std::array<std::uint32_t, (kFormulaInputs + 1) * kFormulaAxes> axes{};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    axes[axis] = static_cast<std::uint32_t>(task.dims[axis]);
    for (std::size_t k = 0; k < task.num_inputs; ++k)
      axes[(k + 1) * rank + axis] = static_cast<std::uint32_t>(task.strides[k][axis]);
  }
  const Text& text = text_of(formula);
  Kernel kernel(text.name, text.body);
  for (std::size_t k = 0; k < task.num_inputs; ++k) kernel.reads(kInputNames[k], task.inputs[k]);
  const std::span<const std::uint32_t> words =
      std::span(axes).first(std::max<std::size_t>(1, (task.num_inputs + 1) * rank));
  exec.gpu()->record(exec,
                     kernel.reads("axes", exec.gpu()->upload(exec, words))
                         .writes("y", task.y)
                         .number("elements", n)
                         .fixed("rank", rank),
                     ceil_div(n, Kernel::kThreads));
}

}  // namespace loom::gpu
