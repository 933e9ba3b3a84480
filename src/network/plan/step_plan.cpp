// Input of every cell in a tick of the step mesh, and the shapes that follow (engine M-03, M-04). Links may lead back,
// so shapes are not found in one forward pass: known shapes spread from the port until nothing changes; a ring that
// adds columns takes the width that the operation declares; then everything is checked.

#include "network/plan/step_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/folding.h"
#include "network/merge.h"

namespace loom {
namespace {

// The first input width that a layer declares: its own, or that of the first child that has one.
class DeclaredWidth final : public QuietFieldVisitor {
 public:
  static std::optional<std::size_t> of(const Layer& layer) {
    DeclaredWidth visitor(layer.kind_row().width_key);
    const_cast<Layer&>(layer).fields(visitor);  // only read
    return visitor.found_;
  }
  explicit DeclaredWidth(std::string_view key) : key_(key) {}
  using QuietFieldVisitor::operator();
  void operator()(Key, std::vector<LayerPtr>& children) override {
    for (const LayerPtr& child : children)
      if (!found_ && !child->common.is_disabled) found_ = of(*child);
  }
  void operator()(Key, LayerPtr& child) override {
    if (!found_ && child) found_ = of(*child);
  }

 protected:
  void whole(Key key, std::uint64_t& value, SizeRange) override {
    if (!found_ && value > 0 && key.first() == key_) found_ = static_cast<std::size_t>(value);
  }

 private:
  std::string_view key_;
  std::optional<std::size_t> found_;
};

// Multiplications of one tick, roughly: every weight that runs meets every row.
std::size_t cost_of(const Wiring& wiring, const Layer& layer, const Shape& input, const Shape& output) {
  std::size_t weights = 0;
  visit_running(wiring, const_cast<Layer&>(layer), [&](Layer& l) {
    l.visit_weights([&](Weight& w) { weights += w.role() == WeightRole::Matrix ? w.elements() : 0; });
  });
  return weights * input.rows() + 4 * (input.elements() + output.elements());
}

}  // namespace

StepPlan::StepPlan(const Network& network, const Shape& input)
    : structure_(network.structure()), input_(input), cells_(network.num_cells()) {}

Result<std::shared_ptr<const StepPlan>> StepPlan::create(Network& network, const Shape& input) {
  if (!network.is_settled()) LOOM_TRY_VOID(network.settle());
  return create(std::as_const(network), input);
}

Result<std::shared_ptr<const StepPlan>> StepPlan::create(const Network& network, const Shape& input) {
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  std::shared_ptr<StepPlan> plan(new StepPlan(network, input));
  LOOM_TRY(plan->links_, Links::resolve(network, PlanKind::Steps));
  plan->list_cells(network);
  plan->settle_starts(network);
  LOOM_TRY_VOID(plan->infer(network));
  LOOM_TRY_VOID(plan->check_shapes(network));
  return plan;
}

void StepPlan::list_cells(const Network& network) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = network.cell(i);
    if (!cell.runs()) continue;
    const std::size_t slot = links_.slot_of(i);
    cells_[i].operation = slot != Links::kNone ? cell.layer.get() : cell.operation();
    if (slot != Links::kNone) cells_[i].link = links_.sources[slot], cells_[i].feed = cell.link->share.merge();
  }
}

// Visits what hangs on a cell whenever that cell is settled: settle(i) says whether i is now.
template <class Settle>
static void spread(std::span<const StepCell> cells, std::vector<std::size_t> front, Settle&& settle) {
  std::vector<std::pair<std::size_t, std::size_t>> fed;  // by source
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].link != StepCell::kNone) fed.emplace_back(cells[i].link, i);
  std::ranges::sort(fed);
  const auto offer = [&](std::size_t i) {
    if (i < cells.size() && settle(i)) front.push_back(i);
  };
  std::vector<std::size_t> first;
  std::swap(first, front);
  for (const std::size_t i : first) offer(i);
  while (!front.empty()) {
    const std::size_t i = front.back();
    front.pop_back();
    offer(i + 1);
    for (auto use = std::ranges::lower_bound(fed, std::pair{i, std::size_t{0}}); use != fed.end() && use->first == i;
         ++use)
      offer(use->second);
  }
}

// Settles which cells data ever reaches. The first one has the port, others their predecessor or, in its place, the
// cell that feeds them.
void StepPlan::settle_starts(const Network& network) {
  std::vector<std::size_t> front{0};
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].feed == Merge::Replace) front.push_back(i);
  spread(cells_, std::move(front), [&](std::size_t i) {
    StepCell& c = cells_[i];
    const bool ready = c.feed == Merge::Replace ? cells_[c.link].starts : i == 0 || cells_[i - 1].starts;
    const bool now = ready && !c.starts;
    c.starts |= now;
    return now;
  });
  constexpr std::size_t kMostWarnings = 32;
  for (std::size_t i = 0; i < cells_.size() && warnings_.size() < kMostWarnings; ++i)
    if (const StepCell& c = cells_[i]; !c.starts && c.feed == Merge::Replace)
      warnings_.push_back(fmt::format("{}: never starts: it waits for {}, which waits for it", network.place_text(i),
                                      network.place_text(c.link)));
}

Result<void> StepPlan::infer(const Network& network) {
  std::vector<std::uint8_t> known(cells_.size());
  std::optional<Error> error;
  const auto make = [&](std::size_t i, const Shape& input) {
    StepCell& c = cells_[i];
    c.input = input;
    auto output = c.operation == nullptr ? Result<Shape>(input) : c.operation->wired_shape(&links_.wiring, input);
    if (!output) {
      if (!error) error = std::move(output.error().under(network.steps(i)));
      return false;
    }
    c.output = *output;
    known[i] = 1;
    return true;
  };
  const auto before = [&](std::size_t i) { return i == 0 ? &input_ : known[i - 1] ? &cells_[i - 1].output : nullptr; };
  const auto settle = [&](std::size_t i) {
    const StepCell& c = cells_[i];
    if (known[i] || !c.starts || error) return false;
    const Shape* const source = before(i);
    const Shape* const fed = c.link != StepCell::kNone && known[c.link] ? &cells_[c.link].output : nullptr;
    switch (c.feed) {
      case Merge::Replace: return fed != nullptr && make(i, *fed);
      case Merge::Concat: {
        if (source == nullptr || fed == nullptr) return false;
        const auto both = source->with_cols(source->cols() + fed->cols());
        return both ? make(i, *both) : false;
      }
      default: return source != nullptr && make(i, *source);
    }
  };
  spread(cells_, {0}, settle);
  // The cells left depend on rings: a width that an operation declares opens them, in flat order.
  for (std::size_t i = 0; i < cells_.size() && !error; ++i) {
    const StepCell& c = cells_[i];
    if (known[i] || !c.starts || c.feed != Merge::Concat || before(i) == nullptr) continue;
    const auto width = c.operation == nullptr ? std::nullopt : DeclaredWidth::of(*c.operation);
    if (!width || *width <= before(i)->cols())
      return fail_at(
          network.steps(i), Code::ShapeMismatch,
          "{} feeds it in a ring, and its operation declares no input width beyond the {} of its predecessor",
          network.place_text(c.link), before(i)->cols());
    const Shape declared = *before(i)->with_cols(*width);
    const auto open = [&](std::size_t cell) { return cell == i && !known[i] ? make(i, declared) : settle(cell); };
    spread(cells_, {i}, open);
  }
  if (error) return tl::make_unexpected(*std::move(error));
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    StepCell& c = cells_[i];
    if (c.starts && !known[i])
      return fail_at(network.steps(i), Code::ShapeMismatch,
                     "its shape follows from nothing; give the ring a cell with a declared width");
    if (!c.starts) c.input = c.output = input_;  // never read
  }
  return {};
}

Result<void> StepPlan::check_shapes(const Network& network) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    StepCell& c = cells_[i];
    c.source = i == 0 ? input_ : cells_[i - 1].output;
    if (!c.starts) continue;
    // A feed that never starts counts as zeros of the shape that fits.
    if (c.link != StepCell::kNone && cells_[c.link].starts)
      if (auto fits = fed_shape(network.cell(i), links_.wiring, c.source, cells_[c.link].output); !fits)
        return under(network.steps(i), std::move(fits).error());
    if (c.link != StepCell::kNone && cells_[c.link].starts && c.feed == Merge::Concat &&
        c.input.cols() != c.source.cols() + cells_[c.link].output.cols())
      return fail_at(network.steps(i), Code::ShapeMismatch, "{} and {} columns come together, its operation reads {}",
                     c.source.cols(), cells_[c.link].output.cols(), c.input.cols());
    c.cost = c.operation == nullptr ? c.output.elements() : cost_of(links_.wiring, *c.operation, c.input, c.output);
  }
  return {};
}

}  // namespace loom
