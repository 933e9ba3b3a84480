#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/mutex.h"
#include "ops/elements_gpu.h"
#include "ops/recorded.h"
#include "ops/update/outcomes.wgsl.h"
#include "ops/update/update_gpu.h"

namespace loom::gpu {
namespace {

using recorder::Trace;
constexpr std::size_t kGroup = 4096;  // elements that a workgroup of try_updates() has

// Numbers of a rule as a kernel reads them; its choices are in the text, which has a `name` for each of them.
struct RuleStep {
  std::string name;
  std::array<float, 14> numbers;
  std::size_t slots = 0;

  RuleStep(UpdateKind kind, const UpdateNumbers<float>& n, const UpdateState& state)
      : numbers{n.rate,     n.decay, n.shrink, n.beta1, n.beta2,    n.alpha,    n.eps,
                n.momentum, n.rest1, n.rest2,  n.rest,  n.undamped, n.correct1, n.correct2} {
    while (slots < kUpdateSlots && state[slots].data != nullptr) ++slots;
    name = fmt::format("update {} {} {} {} {} {}", static_cast<int>(kind), slots, n.first, n.nesterov, n.centered,
                       n.has_momentum);
  }
};

// The kernel of a rule on operands 0, the weight, 1, its gradient, and the slots.
void call(Trace& t, UpdateKind kind, const UpdateNumbers<float>& given, std::size_t slots) {
  UpdateNumbers<float> n = given;
  float* const numbers[] = {&n.rate,     &n.decay, &n.shrink, &n.beta1, &n.beta2,    &n.alpha,    &n.eps,
                            &n.momentum, &n.rest1, &n.rest2,  &n.rest,  &n.undamped, &n.correct1, &n.correct2};
  for (std::size_t i = 0; i < std::size(numbers); ++i) *numbers[i] = t.number(i);
  UpdateRun<float> run{t.operand(0), t.operand(1), {}, Trace::n()};
  for (std::size_t s = 0; s < slots; ++s) run.slot[s] = t.operand(2 + s);
  record::update_kernels.f32.update[static_cast<std::size_t>(kind)](n, run);
}

// The update tried: what it would store is looked at.
const std::string& trial_text(const RuleStep& step, UpdateKind kind, const UpdateNumbers<float>& numbers) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const std::string>>;
  const Mutex::Guard lock(mutex);
  auto& text = known[step.name];
  if (text != nullptr) return *text;
  std::string body =
      param_text(step.numbers.size()) + "var<private> bad: u32;\nvar<workgroup> found: array<u32, 256>;\n";
  for (std::size_t k = 0; k < 2 + step.slots; ++k)
    if (k != 1)
      body += fmt::format("fn store_{}(i: u32, value: f32) {{ bad |= select(1u, 0u, is_finite(value)); }}\n", k);
  body += "fn run(group: u32, thread: u32) {\n  bad = 0u;\n  if (greater(load_bound(0u), most())) {\n";
  body += fmt::format(
      "    for (var i = {0}u * group + thread; i < min({0}u * (group + 1u), elements()); i += 256u) {{\n", kGroup);
  body += recorder::traced([&](Trace& t) { call(t, kind, numbers, step.slots); });
  body += "    }\n  }\n  found[thread] = bad;\n  workgroupBarrier();\n";
  body +=
      "  for (var n = 128u; n != 0u; n >>= 1u) {\n    if (thread < n) { found[thread] |= found[thread + n]; }\n"
      "    workgroupBarrier();\n  }\n  if (thread == 0u) { put_found_there(group, found[0]); }\n}\n";
  text = std::make_unique<const std::string>(std::move(body));
  return *text;
}

}  // namespace

void update(const Exec& exec, UpdateKind kind, const UpdateNumbers<float>& numbers, Tensor w, ConstTensor g,
            const UpdateState& state, ConstTensor failed) {
  const RuleStep step(kind, numbers, state);
  std::array<ElementOperand, 2 + kUpdateSlots> operands{{{w.data, Access::Both}, {g.data, Access::Read}}};
  for (std::size_t s = 0; s < step.slots; ++s) operands[2 + s] = {state[s].data, Access::Both};
  record_elements(
      exec, step.name, 1, w.rows * w.cols, std::span<const ElementOperand>(operands).first(2 + step.slots),
      step.numbers, [&](Trace& t) { call(t, kind, numbers, step.slots); }, failed.data);
}

void try_updates(const Exec& exec, std::span<const UpdateTrial> trials, std::span<const UpdateNumbers<float>> numbers,
                 Tensor outcomes) {
  const ArenaScope scope(exec.arena);
  std::vector<std::uint32_t> ends = {0};  // of the workgroups of each
  for (const UpdateTrial& trial : trials)
    ends.push_back(ends.back() + static_cast<std::uint32_t>(ceil_div(trial.w.rows * trial.w.cols, kGroup)));
  auto* const found = exec.arena.take<std::uint32_t>(ends.back());
  if (exec.rehearsal()) return;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const UpdateTrial& trial = trials[i];
    const RuleStep step(trial.rule.kind, numbers[i], trial.state);
    Kernel kernel("try_update", trial_text(step, trial.rule.kind, numbers[i]), 256);
    kernel.reads("0", trial.w.data).reads("1", trial.g.data);
    for (std::size_t s = 0; s < step.slots; ++s) kernel.reads(kOperandNames[2 + s], trial.state[s].data);
    kernel.reads("bound", trial.bound.data)
        .writes("found_there", found + ends[i])
        .number("elements", trial.w.rows * trial.w.cols)
        .number("most", static_cast<float>(trial.most));
    for (std::size_t k = 0; k < step.numbers.size(); ++k) kernel.number(kNumberNames[k], step.numbers[k]);
    exec.gpu()->record(exec, kernel, ends[i + 1] - ends[i]);
  }
  exec.gpu()->record(exec,
                     Kernel("outcomes", wgsl::outcomes, 256)
                         .reads("found_there", found)
                         .reads("ends", exec.gpu()->upload(exec, std::span<const std::uint32_t>(ends)))
                         .writes("outcomes", outcomes.data),
                     trials.size());
}

}  // namespace loom::gpu
