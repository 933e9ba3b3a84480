#pragma once
// A graph at work: threads, memory and the plans of the shapes that came last. Inputs and outputs go by name.

#include <set>

#include "backend/cpu/isa.h"
#include "graph/on_card.h"

namespace loom::graph {

struct RunnerOptions {
  int threads = 0;              // 0: physical cores
  std::optional<Isa> isa = {};  // absent: the best of this machine
  const std::atomic<bool>* cancel = nullptr;
  std::shared_ptr<ThreadPool> pool = {};
  Device* device = nullptr;  // a graphics card, null: the host; both give the same bits. It outlives the runner
  // In place of that: chooses the device at the first run, by its shapes; work(card) is the work of a run on it.
  using WorkOn = std::function<Result<PlanWork>(Device& card)>;
  std::function<Device*(int threads, const WorkOn& work)> choose_device = {};
};

class Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(std::shared_ptr<const Program> program,
                                                const RunnerOptions& options = {});

  // Values by the names of Program::inputs(), each of its type; those of Program::defaults() may be given too. A
  // plan depends on the whole numbers that it looks up: other numbers are planned again; where shapes follow from the
  // values of other inputs, every call is planned. Inputs must last during the call only; the results are owned.
  // InvalidArgument for a missing or unknown name, ShapeMismatch, Cancelled once `*cancel`, or that of the options, is
  // set, and errors of the operations.
  Result<std::vector<Value>> run(std::vector<std::pair<std::string, Value>> inputs,
                                 const std::atomic<bool>* cancel = nullptr);

  const Program& program() const { return *program_; }
  std::size_t scratch_bytes() const { return arena_.size(); }
  int threads() const { return pool_->threads(); }
  Device* device() const { return device_; }

 private:
  // Which numbers a plan knows.
  enum class Knows : std::uint8_t { shapes, whole_numbers, everything };
  Runner() = default;
  Result<void> prepare(const std::vector<Value>& inputs, const std::atomic<bool>* cancel);
  Result<void> make_plan(const std::vector<Value>& inputs, const std::atomic<bool>* cancel);
  void choose(const std::vector<Value>& inputs, const std::atomic<bool>* cancel);
  Result<std::vector<Value>> run_pass(const std::vector<Value>& ordered, const std::atomic<bool>* cancel);
  bool fits(const std::vector<Value>& inputs) const;
  Result<void> choose_program(const std::vector<std::pair<std::string, Value>>& inputs);
  Result<std::vector<Value>> in_order(std::vector<std::pair<std::string, Value>> inputs) const;
  Result<std::vector<Value>> as_known(const std::vector<Value>& inputs) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> chosen_;  // program_, or with the inputs that a run has given in place of constants
  std::set<std::string> given_;            // those
  std::shared_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  Device* device_ = nullptr;
  decltype(RunnerOptions::choose_device) choose_device_;
  Arena arena_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Value> planned_;  // inputs that plan_ was made for; of those that it looked at, with their numbers
  std::optional<Work> work_;
  Knows knows_ = Knows::shapes;
};

}  // namespace loom::graph
