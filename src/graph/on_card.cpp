#include "graph/on_card.h"

#include <algorithm>
#include <cstring>

#include "backend/rehearsal.h"
#include "core/checked.h"

namespace loom::graph {
namespace {

constexpr std::uint8_t kHere = Work::kHere, kThere = Work::kThere;

bool reads_on_device(const Step& step, std::size_t input) { return input < 64 && (step.form >> input & 1u) != 0; }

// A step measured on a device. Returns its form.
std::uint64_t measure(const Exec& exec, const Plan& plan, const Step& step, int opset,
                      std::shared_ptr<const std::vector<std::int32_t>>& table) {
  const ArenaScope scope(exec.arena);
  Op op(*step.node, opset, exec);
  for (const int in : step.ins) op.ins.push_back(in < 0 ? nullptr : &plan.values[static_cast<std::size_t>(in)]);
  std::vector<Value> outs;
  op.outs = &outs, op.packed = step.packed, op.fused = step.fused.get();
  op.table = &table;
  const auto done = step.run(op);
  // A step that cannot be measured for the card has no form: the host computes it, and has measured it.
  const bool fails = exec.status.has_value() || !done;
  exec.status.reset();
  return fails ? 0 : op.form;
}

// Bytes of a value on the card, where a truth value is a word.
std::size_t device_bytes(const Value& v) { return v.type == Type::boolean ? v.elements() * 4 : v.bytes(); }
std::uint32_t word_at(const void* data, std::size_t i) {
  std::uint32_t word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(data) + i * 4, 4);
  return word;
}

// The places of a run's values; here() and there() copy a value to the host or to the card if it is not stored in that
// memory yet.
class Places {
 public:
  Places(const Exec& exec, const Plan& plan, Work& work) : exec_(exec), plan_(plan), work_(work) {}

  Result<const Value*> here(std::size_t slot, bool* has_come = nullptr) {
    const std::size_t root = plan_.roots[slot];
    Value& at = work_.values[root];
    if ((work_.place[root] & kHere) == 0) {
      const std::size_t bytes = device_bytes(at);
      LOOM_TRY_VOID(exec_.arena.device()->read_in_pass(work_.there[root].as<std::byte>(), {at.as<std::byte>(), bytes}));
      if (at.type == Type::boolean)
        for (std::size_t i = at.elements(); i-- > 0;) at.as<std::int64_t>()[i] = word_at(at.data, i);
      work_.place[root] |= kHere;
      if (has_come != nullptr) *has_come = true;
    }
    work_.values[slot].data = at.data;
    return &work_.values[slot];
  }
  Result<const Value*> there(std::size_t slot) {
    const std::size_t root = plan_.roots[slot];
    const Value& from = work_.values[root];
    Value& at = work_.there[root];
    if ((work_.place[root] & kThere) == 0) {
      const std::span<const std::byte> bytes(from.as<std::byte>(), from.bytes());
      if (plan_.offsets[root] == Plan::kNowhere && plan_.travels[root] == Plan::kNowhere) {
        LOOM_TRY(const std::byte* const placed, exec_.arena.device()->place(from.own, bytes));
        at.data = const_cast<std::byte*>(placed);
      } else if (from.type == Type::boolean) {
        std::vector<std::uint32_t> words(from.as<std::int64_t>(), from.as<std::int64_t>() + from.elements());
        LOOM_TRY_VOID(exec_.arena.device()->write_in_pass(at.as<std::byte>(), std::as_bytes(std::span(words))));
      } else {
        LOOM_TRY_VOID(exec_.arena.device()->write_in_pass(at.as<std::byte>(), bytes));
      }
      work_.place[root] |= kThere;
    }
    work_.there[slot].data = at.data;
    return &work_.there[slot];
  }

 private:
  const Exec& exec_;
  const Plan& plan_;
  Work& work_;
};

// Takes memory for all values; values that are known are stored on the host.
void take_memory(const Exec& exec, const Plan& plan, Work& work) {
  std::byte* const there = exec.arena.take<std::byte>(plan.value_bytes);
  std::byte* const device_travels = exec.arena.take<std::byte>(plan.travel_bytes);
  std::byte* const here = exec.arena.note<std::byte>(plan.value_bytes);
  std::byte* const host_travels = exec.arena.note<std::byte>(plan.travel_bytes);
  if (exec.rehearsal()) return;
  std::vector<bool> is_given(plan.values.size(), false);
  for (const std::size_t input : plan.inputs) is_given[input] = true;
  for (std::size_t root = 0; root < plan.values.size(); ++root) {
    if (plan.roots[root] != root) continue;
    const bool is_written = plan.offsets[root] != Plan::kNowhere;
    if (is_written) {
      work.values[root].data = here + plan.offsets[root], work.there[root].data = there + plan.offsets[root];
      work.place[root] = 0;
    } else if (is_given[root]) {
      const bool is_on_device = work.place[root] == kThere;
      if (!is_on_device) work.place[root] = kHere;
      (is_on_device ? work.values : work.there)[root].data =
          (is_on_device ? host_travels : device_travels) + plan.travels[root];
    } else {
      if (plan.travels[root] != Plan::kNowhere) work.there[root].data = device_travels + plan.travels[root];
      work.place[root] = kHere;
    }
  }
}

class CardRun {
 public:
  CardRun(const Exec& exec, const Plan& plan, int opset, Work& work)
      : exec_(exec), plan_(plan), work_(work), opset_(opset), places_(exec, plan, work) {}

  Result<void> run() {
    for (const Step& step : plan_.steps) {
      LOOM_TRY_VOID(step.form != 0 && !stays_on_host(step) ? record(step) : compute_on_host(step));
      if (exec_.cancel != nullptr && exec_.cancel->load(std::memory_order_relaxed))
        return fail(Code::Cancelled, "cancelled");
    }
    return {};
  }

 private:
  // Returns whether the step computes truth values of inputs that are on the host: masks, which follow from whole
  // numbers.
  bool stays_on_host(const Step& step) const {
    if (step.outs[0] < 0 || plan_.values[static_cast<std::size_t>(step.outs[0])].type != Type::boolean) return false;
    return std::ranges::all_of(step.ins, [&](int in) {
      return in < 0 || (work_.place[plan_.roots[static_cast<std::size_t>(in)]] & kHere) != 0;
    });
  }

  void outputs_are(const Step& step, std::uint8_t place) {
    for (const int out : step.outs) {
      if (out < 0) continue;
      const std::size_t root = plan_.roots[static_cast<std::size_t>(out)];
      work_.place[root] = place;
    }
  }

  Result<void> record(const Step& step) {
    ins_.assign(step.ins.size(), nullptr);
    for (std::size_t i = 0; i < step.ins.size(); ++i) {
      if (step.ins[i] < 0) continue;
      const auto slot = static_cast<std::size_t>(step.ins[i]);
      LOOM_TRY(ins_[i], reads_on_device(step, i) ? places_.there(slot) : places_.here(slot));
    }
    LOOM_TRY_VOID(run_step(exec_, step, opset_, ins_, work_.there));
    outputs_are(step, kThere);
    return {};
  }

  Result<void> compute_on_host(const Step& step) {
    bool has_come = false;
    ins_.assign(step.ins.size(), nullptr);
    for (std::size_t i = 0; i < step.ins.size(); ++i) {
      if (step.ins[i] < 0) continue;
      LOOM_TRY(ins_[i], places_.here(static_cast<std::size_t>(step.ins[i]), &has_come));
    }
    if (has_come) exec_.arena.device()->count_host_call(step.node->op);
    if (!work_.scratch.holds(plan_.scratch)) {
      LOOM_TRY(work_.scratch, Arena::create(plan_.scratch.plus(2 * Buffer::kAlignment)));
    }
    const Exec here{exec_.pool, exec_.kernels, work_.scratch, exec_.cancel, exec_.activations};
    LOOM_TRY_VOID(run_step(here, step, opset_, ins_, work_.values));
    outputs_are(step, kHere);
    return {};
  }

  const Exec& exec_;
  const Plan& plan_;
  Work& work_;
  int opset_;
  Places places_;
  std::vector<const Value*> ins_;
};

}  // namespace

Result<void> plan_card(Plan& plan, int opset, const Exec& like) {
  Arena arena = Arena::measuring(like.arena.device());
  const Exec exec{like.pool, like.kernels, arena, nullptr, like.activations};
  // Gradients have no form: they are computed on the host.
  for (Step& step : plan.steps)
    if (!is_gradient(*step.node)) step.form = measure(exec, plan, step, opset, step.table);
  plan.is_for_card = true;
  plan.travels.assign(plan.values.size(), Plan::kNowhere);
  const auto travels = [&](std::size_t root) {
    plan.travels[root] = std::exchange(
        plan.travel_bytes, plan.travel_bytes + round_up(std::max<std::size_t>(plan.values[root].bytes(), 1), 64));
  };
  for (const std::size_t input : plan.inputs) travels(input);
  for (std::size_t root = 0; root < plan.values.size(); ++root)
    if (plan.roots[root] == root && plan.offsets[root] == Plan::kNowhere && plan.travels[root] == Plan::kNowhere &&
        (plan.values[root].own == nullptr || plan.values[root].type == Type::boolean))
      travels(root);
  return {};
}

namespace {

// Returns the number of terms in one output element of a step that multiplies; 0 for other steps.
double terms_of(const Plan& plan, const Step& step) {
  const auto in = [&](std::size_t i) -> const Value& { return plan.values[static_cast<std::size_t>(step.ins[i])]; };
  const std::string& op = step.node->op;
  if ((op != "MatMul" && op != "Gemm" && op != "Conv" && op != "ConvTranspose") || step.ins.size() < 2) return 0;
  const Value& w = in(1);
  if (op.starts_with("Conv"))
    return static_cast<double>(w.elements()) / static_cast<double>(std::max<std::size_t>(w.dims[0], 1));
  return static_cast<double>(in(0).elements() == 0 ? 0 : in(0).dims.back());
}

}  // namespace

PlanWork work_of(const Plan& plan, int opset, const Exec& like) {
  PlanWork work;
  Arena arena = Arena::measuring(like.arena.device());
  const Exec exec{like.pool, like.kernels, arena, nullptr, like.activations};
  const Device& card = *like.arena.device();
  std::vector<bool> is_on_device(plan.values.size(), false);
  for (const Step& step : plan.steps) {
    std::uint64_t before = card.counters().rehearsed;
    auto table = step.table;
    if (step.form != 0) measure(exec, plan, step, opset, table);
    auto kernels = static_cast<double>(card.counters().rehearsed - before);
    const Value* const first = step.outs[0] < 0 ? nullptr : &plan.values[static_cast<std::size_t>(step.outs[0])];
    // A rehearsal has one step of a sequence.
    if (step.node->op == "LSTM")
      kernels *= static_cast<double>(plan.values[static_cast<std::size_t>(step.ins[0])].dims[0]);
    ++work.steps, work.kernels += kernels;
    if (first != nullptr) work.multiply_adds += terms_of(plan, step) * static_cast<double>(first->elements());
    bool has_come = false;
    for (const int in : step.ins) {
      if (in < 0) continue;
      const std::size_t root = plan.roots[static_cast<std::size_t>(in)];
      if (plan.values[root].constant) work.weight_bytes += static_cast<double>(plan.values[root].bytes());
      has_come |= step.form == 0 && is_on_device[root];
      if (step.form == 0) is_on_device[root] = false;
    }
    work.trips += has_come;
    for (const int out : step.outs) {
      if (out < 0) continue;
      is_on_device[plan.roots[static_cast<std::size_t>(out)]] = step.form != 0;
      work.activation_bytes += static_cast<double>(plan.values[static_cast<std::size_t>(out)].bytes());
    }
  }
  return work;
}

Result<void> run_on_card(const Exec& exec, const Plan& plan, int opset, Work& work) {
  take_memory(exec, plan, work);
  if (!exec.rehearsal()) return CardRun(exec, plan, opset, work).run();
  for (const Step& step : plan.steps) {
    auto table = step.table;
    if (step.form != 0) measure(exec, plan, step, opset, table);
  }
  return {};
}

Result<const Value*> host_value(const Exec& exec, const Plan& plan, Work& work, std::size_t slot) {
  if (!plan.is_for_card) return &work.values[slot];
  return Places(exec, plan, work).here(slot);
}

Result<const Value*> device_value(const Exec& exec, const Plan& plan, Work& work, std::size_t slot) {
  return Places(exec, plan, work).there(slot);
}

}  // namespace loom::graph
