#pragma once
// A graph at work: threads, memory and the plans of the shapes that came last. Inputs and outputs go by name.

#include "backend/cpu/isa.h"
#include "layers/graph/plan.h"

namespace loom::graph {

struct RunnerOptions {
  int threads = 0;              // 0: physical cores
  std::optional<Isa> isa = {};  // absent: the best of this machine
  const std::atomic<bool>* cancel = nullptr;
  std::shared_ptr<ThreadPool> pool = {};
};

class Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(std::shared_ptr<const Program> program,
                                                const RunnerOptions& options = {});

  // Values by the names of Program::inputs(), each of its type. What a plan needs to know of whole numbers it looks up:
  // other numbers are then planned anew; where shapes follow from the values of other inputs, every call is planned.
  // Inputs need to last during the call alone; the results are owned. InvalidArgument for a missing or unknown name,
  // ShapeMismatch, Cancelled once `*cancel`, or that of the options, is set, and errors of the operations.
  Result<std::vector<Value>> run(std::vector<std::pair<std::string, Value>> inputs,
                                 const std::atomic<bool>* cancel = nullptr);

  const Program& program() const { return *program_; }
  std::size_t scratch_bytes() const { return arena_.size(); }
  int threads() const { return pool_->threads(); }

 private:
  // Which numbers a plan knows.
  enum class Knows : std::uint8_t { shapes, whole_numbers, everything };
  Runner() = default;
  Result<void> prepare(const std::vector<Value>& inputs);
  bool fits(const std::vector<Value>& inputs) const;
  Result<std::vector<Value>> in_order(std::vector<std::pair<std::string, Value>> inputs) const;
  Result<std::vector<Value>> as_known(const std::vector<Value>& inputs) const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<ThreadPool> pool_;
  const KernelTable* kernels_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  Arena arena_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Value> planned_;  // inputs that plan_ was made for; of those that it looked at, with their numbers
  std::vector<Value> values_;
  Knows knows_ = Knows::shapes;
};

}  // namespace loom::graph
