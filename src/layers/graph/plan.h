#pragma once
// A graph made ready to run. Operations whose inputs are known are computed while a run is planned: constants once and
// for all, shapes and what follows from them once for each set of input shapes. What is left are steps, and values that
// share one piece of memory by their lifetimes. A condition that is known chooses a branch; a loop whose count is known
// is unrolled.

#include <map>
#include <set>

#include "core/mutex.h"
#include "layers/graph/operation.h"

namespace loom::graph {

struct Step {
  const Node* node = nullptr;
  OpFn run = nullptr;
  std::vector<int> ins, outs;  // values; -1: left out
  std::shared_ptr<void>* packed = nullptr;
  std::shared_ptr<const Fused> fused = {};
  std::shared_ptr<std::shared_ptr<void>> own_packed = {};       // where `packed` follows from this plan
  std::uint64_t form = 0;                                       // of its operation (Op::form)
  std::shared_ptr<const std::vector<std::int32_t>> table = {};  // Op::table
};

// A convolution's weight and bias with what follows it put in (fusing.h).
struct FoldedWeight {
  std::vector<const Node*> nodes;  // what follows
  Value weight, bias;
};
using FoldedWeights = std::map<const Node*, FoldedWeight>;

struct Plan {
  std::vector<Step> steps;
  std::vector<Value> values;
  std::vector<std::size_t> roots;    // the value whose memory a value has
  std::vector<std::size_t> offsets;  // of roots that steps write, else kNowhere
  std::vector<std::size_t> inputs, outputs;
  std::vector<std::shared_ptr<const Node>> made;  // nodes of steps that are none of the graph
  std::size_t value_bytes = 0;
  Arena::Mark scratch;  // of steps here
  // On a card: inputs, and numbers that nobody keeps, have places of their own, there and here.
  bool is_for_card = false;
  std::vector<std::size_t> travels;  // by root, else kNowhere
  std::size_t travel_bytes = 0;

  static constexpr std::size_t kNowhere = ~std::size_t{0};
};

// The values of a run, and on a graphics card where each of them is: there, here or both. A run takes it as another one
// of the same plan has left it.
struct Work {
  explicit Work(const Plan& plan) : values(plan.values) {
    if (plan.is_for_card) there = plan.values;
    place.resize(there.size());
  }
  // An input: memory of the card that the plan is for, or of this computer.
  void give(std::size_t slot, const void* data, bool is_there) {
    (is_there ? there : values)[slot].data = const_cast<void*>(data);
    if (!there.empty()) place[slot] = is_there ? kThere : kHere;
  }
  static constexpr std::uint8_t kHere = 1, kThere = 2;
  std::vector<Value> values;        // with addresses of this computer
  std::vector<Value> there;         // with those of a card
  std::vector<std::uint8_t> place;  // by root
  Arena scratch;                    // of steps that are computed here
};

struct ProgramOptions {
  std::uint64_t max_bytes = std::uint64_t{1} << 34;  // of all values of a plan
  // Inputs that a plan knows are those of a call, so that what follows from them is that call's work; else they come
  // from a file too, and count as folding (folding.h).
  bool calls_give_inputs = true;
};

class Program {
 public:
  // The errors of check_model().
  static Result<std::shared_ptr<Program>> create(Model model, const ProgramOptions& options = {});

  const Model& model() const { return model_; }
  // The inputs of a run, which are those without a constant of the same name.
  const std::vector<InputInfo>& inputs() const { return inputs_; }
  // All names that a run may give a value: inputs(), then those with a constant, which is their default.
  const std::vector<InputInfo>& accepted() const { return accepted_; }
  std::span<const InputInfo> defaults() const { return std::span(accepted_).subspan(inputs_.size()); }
  // The same graph, in which these of defaults() are inputs. Constants are shared.
  Result<std::shared_ptr<const Program>> with_inputs(const std::set<std::string>& names) const;
  const std::vector<std::string>& outputs() const { return model_.body.outputs; }

  // `inputs` in the order of inputs(); those without `known` are shapes alone. `needs_value` says that an error is
  // about a number that only a run knows. LimitExceeded where constants ask for more work than FoldingBudget has;
  // Cancelled by the cancel of `like`.
  Result<std::shared_ptr<const Plan>> plan(const Exec& like, std::span<const Value> inputs, bool* needs_value) const;

  // Runs the steps, on the device of the plan; inputs have been given. In a rehearsal memory is taken alone. What is
  // taken from the arena holds the values until the caller rewinds it.
  static Result<void> run(const Exec& exec, const Plan& plan, int opset, Work& work);

 private:
  friend class Planner;
  Model model_;
  ProgramOptions options_;
  std::vector<InputInfo> inputs_, accepted_;
  std::uint64_t constant_elements_ = 0;
  // What follows from constants alone, by node: made by the first plan that meets the node.
  mutable Mutex lock_;
  mutable std::map<const Node*, std::vector<Value>> folded_;
  mutable std::map<const Node*, std::shared_ptr<void>> packed_;
  mutable Packs packs_;  // constants last as long as the program
  mutable FoldedWeights folded_weights_;
};

}  // namespace loom::graph
