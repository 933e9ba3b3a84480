#pragma once
// A step plan is all that a step mesh knows of a network for one input shape (engine section 8): what each cell reads
// and makes in a tick, resolved links, the state that layers ask for. Like a ForwardPlan it is immutable and shared.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/network.h"
#include "network/plan/links.h"

namespace loom {

// A cell as the step mesh runs it: what it reads, and what it does with that.
struct StepCell {
  static constexpr std::size_t kNone = ~std::size_t{0};
  const Layer* operation = nullptr;  // null: its input passes through, one tick later
  std::size_t link = kNone;          // the cell whose last output is fed in
  Merge feed = Merge::None;          // how that joins what the predecessor left
  bool starts = false;               // data reaches it; shapes are known only then
  Shape source, input, output;       // the predecessor's output, what the operation reads, what it makes
  std::size_t cost = 0;              // of one tick, in multiplications or so
};

class StepPlan {
 public:
  // The network is settled (Network::settle) and keeps its cells while the plan is used. Links of the grid in mode
  // "auto" feed, and feeds and skips may come from any cell, the own one included, as every cell reads what the others
  // left in the tick before. Widths inside a ring come from declared sizes; ShapeMismatch where they do not. Cells of a
  // ring that can never start are named in warnings(). Errors of Links::resolve().
  // Settles the network as ForwardPlan::create() does.
  static Result<std::shared_ptr<const StepPlan>> create(Network& network, const Shape& input);
  // Changes nothing: InvalidState unless the network is settled.
  static Result<std::shared_ptr<const StepPlan>> create(const Network& network, const Shape& input);

  const Shape& input() const { return input_; }
  std::span<const StepCell> cells() const { return cells_; }
  std::span<const std::string> warnings() const { return warnings_; }
  const std::vector<StateNeeds>& state_needs() const { return links_.state_needs; }
  std::size_t num_sources() const { return links_.sources.size(); }
  // The cell whose output is a slot of Call::cells.
  std::size_t source_of_slot(std::size_t slot) const { return links_.sources[slot]; }
  const Wiring& wiring() const { return links_.wiring; }
  // ForwardPlan::is_of().
  bool is_of(const Network& network) const { return structure_ == network.structure(); }

 private:
  StepPlan(const Network& network, const Shape& input);
  void list_cells(const Network& network);
  void settle_starts(const Network& network);
  Result<void> infer(const Network& network);
  Result<void> check_shapes(const Network& network);

  std::uint64_t structure_;
  Shape input_;
  std::vector<StepCell> cells_;
  std::vector<std::string> warnings_;
  Links links_;
};

}  // namespace loom
