#pragma once
// Makes a plan: walks through the nodes of a graph in their order, computes what is known and adds a step for the rest.

#include <string>

#include "graph/folding.h"
#include "graph/plan.h"

namespace loom::graph {

// Names of one body, and of those around it.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, int, std::less<>> names{};

  int find(const std::string& name) const {
    for (const Scope* s = this; s != nullptr; s = s->outer)
      if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
    return -1;
  }
};

class Planner {
 public:
  Planner(const Program& program, const Exec& like) : program_(program), like_(like), plan_(std::make_shared<Plan>()) {}

  Result<std::shared_ptr<const Plan>> plan(std::span<const Value> inputs);
  bool needs_value() const { return needs_value_; }

 private:
  int add(Value value, bool is_given = false);
  int of_this_plan(int slot);
  Result<void> add_constants(const Body& body, Scope& scope);
  Result<void> run_body(const Body& body, Scope& scope);
  Result<void> run_node(const Node& node, Scope& scope);
  Result<std::vector<int>> ins_of(const Node& node, const Scope& scope) const;
  Result<void> run_if(const Node& node, Scope& scope, const std::vector<int>& ins);
  Result<void> run_loop(const Node& node, Scope& scope, const std::vector<int>& ins);
  Result<void> run_scan(const Node& node, Scope& scope, const std::vector<int>& ins);
  Result<void> run_op(const Node& node, Scope& scope, const std::vector<int>& ins);
  Result<void> compute(Op& op, OpFn run, std::vector<Value>& outs, bool constant, const Arena::Mark& scratch);
  // The inputs of a Scan that its body reads one by one, by their axes.
  struct ScanInputs {
    std::vector<int> slots;
    std::vector<std::int64_t> axes, reversed;
    std::size_t steps = 0;
  };
  Result<ScanInputs> scan_inputs_of(const Node& node, const std::vector<int>& ins, std::size_t states);
  Result<int> scanned(const ScanInputs& scan, std::size_t k, std::size_t i);
  Result<int> stacked(std::vector<int> parts, std::int64_t axis, bool reversed);
  // Plans an operation that is no node of the graph. Returns its output.
  Result<int> run_made(Node node, const std::vector<int>& ins);
  Result<std::vector<int>> outputs_of(const Body& body, const Scope& scope) const;
  Value& value(int i) { return plan_->values[static_cast<std::size_t>(i)]; }
  bool is_given(int i) const { return i >= 0 && given_[static_cast<std::size_t>(i)]; }
  bool is_cancelled() const { return like_.cancel != nullptr && like_.cancel->load(std::memory_order_relaxed); }
  void drop_unread();
  void lay_out();
  Result<void> count_bytes(const Value& value);

  const Program& program_;
  const Exec& like_;
  std::shared_ptr<Plan> plan_;
  FoldingBudget folding_;
  std::vector<bool> given_;  // by value: follows from an input of a call
  std::uint64_t bytes_ = 0;
  std::size_t nodes_ = 0;
  int unrolled_ = 0;  // loops around the current node
  bool needs_value_ = false;
};

inline constexpr std::size_t kMostNodes = 1u << 20;  // that one plan visits, loops unrolled

}  // namespace loom::graph
