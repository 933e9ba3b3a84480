#pragma once
// A graph made ready to run. Operations whose inputs are known are computed while a run is planned: constants once and
// for all, shapes and the values that follow from them once for each set of input shapes. The remaining operations
// become steps, whose values share memory by their lifetimes. A condition that is known chooses a branch; a loop whose
// count is known is unrolled.

#include <map>
#include <set>

#include "core/mutex.h"
#include "graph/operation.h"

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

// A convolution's weight and bias, with the operations that follow it folded in (fusing.h).
struct FoldedWeight {
  std::vector<const Node*> nodes;  // operations that follow it
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
  Arena::Mark scratch;  // of steps on the host
  // For a card: inputs, and values that no step or constant stores, have memory of their own on the card and the host.
  bool is_for_card = false;
  std::vector<std::size_t> travels;  // by root, else kNowhere
  std::size_t travel_bytes = 0;

  static constexpr std::size_t kNowhere = ~std::size_t{0};
};

// The values of a run, and with a graphics card the place of each: on the card, on the host or both. Runs of the same
// plan can share one Work, one after another.
struct Work {
  explicit Work(const Plan& plan) : values(plan.values) {
    if (plan.is_for_card) there = plan.values;
    place.resize(there.size());
  }
  // Sets an input: memory of the card that the plan is for, or of the host.
  void give(std::size_t slot, const void* data, bool is_on_device) {
    (is_on_device ? there : values)[slot].data = const_cast<void*>(data);
    if (!there.empty()) place[slot] = is_on_device ? kThere : kHere;
  }
  static constexpr std::uint8_t kHere = 1, kThere = 2;
  std::vector<Value> values;        // with addresses on the host
  std::vector<Value> there;         // with those on a card
  std::vector<std::uint8_t> place;  // by root
  Arena scratch;                    // of steps that the host computes
};

struct ProgramOptions {
  std::uint64_t max_bytes = std::uint64_t{1} << 34;  // of all values of a plan
  // Inputs that a plan knows are those of a call, so that what follows from them is that call's work; else they come
  // from a file too, and count as folding (folding.h).
  bool calls_give_inputs = true;
  bool has_gradients = false;  // gradient_model() made it, of a model that has been checked
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
  // Returns this graph with these of defaults() as inputs. Constants are shared.
  Result<std::shared_ptr<const Program>> with_inputs(const std::set<std::string>& names) const;
  const std::vector<std::string>& outputs() const { return model_.body.outputs; }

  // `inputs` in the order of inputs(); those without `known` are shapes alone. `needs_value` says that an error is
  // about a number that only a run knows. LimitExceeded where constants ask for more work than FoldingBudget has;
  // Cancelled by the cancel of `like`.
  Result<std::shared_ptr<const Plan>> plan(const Exec& like, std::span<const Value> inputs, bool* needs_value) const;

  // Runs the steps, on the device of the plan; inputs have been given. A rehearsal only takes memory. The values are in
  // the arena until the caller rewinds it.
  static Result<void> run(const Exec& exec, const Plan& plan, int opset, Work& work);

 private:
  friend class Planner;
  Model model_;
  ProgramOptions options_;
  std::vector<InputInfo> inputs_, accepted_;
  std::uint64_t constant_elements_ = 0;
  // Values that follow from constants alone, by node: the first plan that meets the node computes them.
  mutable Mutex lock_;
  mutable std::map<const Node*, std::vector<Value>> folded_;
  mutable std::map<const Node*, std::shared_ptr<void>> packed_;
  mutable Packs packs_;  // constants last as long as the program
  mutable FoldedWeights folded_weights_;
};

}  // namespace loom::graph
