#include "graph/runner.h"

#include <algorithm>
#include <cstring>

#include "backend/rehearsal.h"
#include "ops/all.h"

namespace loom::graph {
namespace {

constexpr std::size_t kMostKnown = 4096;  // elements of whole numbers that a plan looks at

bool is_looked_at(const Value& value, bool everything) {
  return everything || (store_of(value.type) == Store::i64 && value.elements() <= kMostKnown);
}

Result<void> check_shape(const InputInfo& info, const Value& value) {
  if (info.type != Type::none && info.type != value.type)
    return fail(Code::InvalidArgument, "input \"{}\" is {}, got {}", info.name, name_of(info.type),
                name_of(value.type));
  if (!info.has_shape) return {};
  bool fits = info.dims.size() == value.rank();
  for (std::size_t i = 0; fits && i < info.dims.size(); ++i)
    fits = info.dims[i] < 0 || info.dims[i] == static_cast<std::int64_t>(value.dims[i]);
  if (fits) return {};
  std::vector<std::string> wanted;
  wanted.reserve(info.dims.size());
  for (const std::int64_t d : info.dims) wanted.push_back(d < 0 ? "?" : std::to_string(d));
  return fail(Code::ShapeMismatch, "input \"{}\" has shape [{}], got {}", info.name, fmt::join(wanted, ", "),
              text_of(value.dims));
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(std::shared_ptr<const Program> program, const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner());
  runner->program_ = std::move(program), runner->cancel_ = options.cancel;
  runner->device_ = options.device, runner->arena_ = Arena(options.device);
  runner->choose_device_ = options.choose_device;
  LOOM_TRY(runner->pool_, ThreadPool::given_or_new(options.pool, options.threads));
  LOOM_TRY(runner->kernels_, kernels_for(options.isa.value_or(best_isa())));
  return runner;
}

// Names of constants that are inputs too make them inputs of this run.
Result<void> Runner::choose_program(const std::vector<std::pair<std::string, Value>>& inputs) {
  std::set<std::string> given;
  for (const auto& [name, value] : inputs)
    if (std::ranges::find(program_->defaults(), name, &InputInfo::name) != program_->defaults().end())
      given.insert(name);
  if (chosen_ != nullptr && given == given_) return {};
  auto chosen = program_;
  if (!given.empty()) {
    LOOM_TRY(chosen, program_->with_inputs(given));
  }
  plan_ = nullptr;
  work_.reset();  // which point to nodes of the other one
  chosen_ = std::move(chosen), given_ = std::move(given);
  return {};
}

Result<std::vector<Value>> Runner::in_order(std::vector<std::pair<std::string, Value>> inputs) const {
  std::vector<Value> ordered(chosen_->inputs().size());
  for (auto& [name, value] : inputs) {
    const auto found = std::ranges::find(chosen_->inputs(), name, &InputInfo::name);
    if (found == chosen_->inputs().end()) return fail(Code::InvalidArgument, "the graph has no input \"{}\"", name);
    ordered[static_cast<std::size_t>(found - chosen_->inputs().begin())] = std::move(value);
  }
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const InputInfo& info = chosen_->inputs()[i];
    if (!ordered[i].present()) return fail(Code::InvalidArgument, "input \"{}\" is missing", info.name);
    LOOM_TRY_VOID(check_shape(info, ordered[i]));
  }
  return ordered;
}

bool Runner::fits(const std::vector<Value>& inputs) const {
  if (!plan_ || knows_ == Knows::everything) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value &now = inputs[i], &then = planned_[i];
    if (now.type != then.type || now.dims != then.dims) return false;
    if (knows_ == Knows::whole_numbers && is_looked_at(now, false) && now.bytes() != 0 &&
        std::memcmp(now.data, then.data, now.bytes()) != 0)
      return false;
  }
  return true;
}

// The inputs as a plan may know them. Numbers that it looks at and that later runs are compared with are copies, since
// the caller's memory may be gone by then, or hold others.
Result<std::vector<Value>> Runner::as_known(const std::vector<Value>& inputs) const {
  std::vector<Value> given = inputs;
  for (Value& value : given) {
    value.constant = false;
    value.known = knows_ != Knows::shapes && is_looked_at(value, knows_ == Knows::everything);
    if (!value.known || knows_ == Knows::everything || value.own) continue;
    LOOM_TRY(Value kept, Value::create(value.type, value.dims));
    if (value.bytes() != 0) std::memcpy(kept.data, value.data, value.bytes());
    kept.known = true;
    value = std::move(kept);
  }
  return given;
}

void Runner::choose(const std::vector<Value>& inputs, const std::atomic<bool>* cancel) {
  const auto choose = std::exchange(choose_device_, {});
  if (!choose) return;
  const auto work = [&](Device& card) -> Result<PlanWork> {
    const DeviceTurn turn(&card);
    device_ = &card;
    LOOM_TRY_VOID(make_plan(inputs, cancel));
    Arena none(&card);
    return work_of(*plan_, chosen_->model().opset, {*pool_, *kernels_, none});
  };
  Device* const chosen = choose(pool_->threads(), work);
  device_ = chosen, plan_ = nullptr, arena_ = Arena(chosen);
}

Result<void> Runner::prepare(const std::vector<Value>& inputs, const std::atomic<bool>* cancel) {
  if (fits(inputs)) return {};
  LOOM_TRY_VOID(make_plan(inputs, cancel));
  work_.emplace(*plan_);
  auto done = plan_scratch({*pool_, *kernels_, arena_}, [&](const Exec& exec) {
    if (auto ran = Program::run(exec, *plan_, chosen_->model().opset, *work_); !ran)
      exec.status = std::move(ran).error();
  });
  if (!done) plan_ = nullptr;  // which the old memory does not hold
  return done;
}

Result<void> Runner::make_plan(const std::vector<Value>& inputs, const std::atomic<bool>* cancel) {
  plan_ = nullptr;
  Arena none(device_);
  const Exec like{*pool_, *kernels_, none, cancel};
  for (knows_ = Knows::shapes;; knows_ = static_cast<Knows>(static_cast<int>(knows_) + 1)) {
    LOOM_TRY(std::vector<Value> given, as_known(inputs));
    bool needs_value = false;
    auto planned = chosen_->plan(like, given, &needs_value);
    if (!planned && needs_value && knows_ != Knows::everything) continue;
    if (!planned) return tl::make_unexpected(std::move(planned).error());
    plan_ = std::move(*planned), planned_ = std::move(given);
    break;
  }
  return {};
}

Result<std::vector<Value>> Runner::run(std::vector<std::pair<std::string, Value>> inputs,
                                       const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(choose_program(inputs));
  LOOM_TRY(const std::vector<Value> ordered, in_order(std::move(inputs)));
  if (cancel == nullptr) cancel = cancel_;
  choose(ordered, cancel);
  const DeviceTurn turn(device_);
  auto outputs = run_pass(ordered, cancel);
  if (device_ == nullptr) return outputs;
  // The fault flag of a pass that an error has ended is not reported to the next one.
  const auto checked = device_->check();
  if (outputs && !checked) return tl::make_unexpected(checked.error());
  return outputs;
}

Result<std::vector<Value>> Runner::run_pass(const std::vector<Value>& ordered, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(prepare(ordered, cancel));
  for (std::size_t i = 0; i < ordered.size(); ++i) work_->give(plan_->inputs[i], ordered[i].data, false);
  const ArenaScope scope(arena_);
  const Exec exec{*pool_, *kernels_, arena_, cancel, Activations::int16};
  LOOM_TRY_VOID(Program::run(exec, *plan_, chosen_->model().opset, *work_));
  std::vector<Value> outputs;
  for (const std::size_t at : plan_->outputs) {
    LOOM_TRY(const Value* const here, host_value(exec, *plan_, *work_, at));
    const Value& value = *here;
    LOOM_TRY(Value copy, Value::create(value.type, value.dims));
    if (value.bytes() != 0) std::memcpy(copy.data, value.data, value.bytes());
    outputs.push_back(std::move(copy));
  }
  return outputs;
}

}  // namespace loom::graph
