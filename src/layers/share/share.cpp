#include "layers/share/share.h"

#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Share::kKind{.id = -1,
                                       .name = "link",
                                       .help = "another cell's operation with that cell's weights",
                                       .shapes = "as in the other cell",
                                       .make = make_layer<Share>,
                                       .inside = Inside::Wrapped};

void visit_running(const Wiring& wiring, Layer& layer, const std::function<void(Layer&)>& visit) {
  visit(layer);
  if (const Share* share = layer_as<Share>(layer); share != nullptr && share->target_in(&wiring) != nullptr)
    visit_running(wiring, *share->target_in(&wiring), visit);
  layer.visit_children([&](const std::string&, Layer& child) {
    if (!child.common.is_disabled) visit_running(wiring, child, visit);
  });
}
namespace {

constexpr std::string_view kUnresolved = "link: its target is not at hand; a plan resolves links";

}  // namespace

void Share::fields(FieldVisitor& visit) {
  constexpr SizeRange range{0, 65535};
  visit({"target_z", "Address of the other cell: z"}, address_[0], range);
  visit({"target_y", "y"}, address_[1], range);
  visit({"target_x", "x"}, address_[2], range);
  visit({"target_l", "l"}, address_[3], range);
  visit.choice({"link_mode", "share: runs its operation; feed: reads its output; auto: share, in a step mesh feed"},
               mode_, {"auto", "share", "feed"});
  visit.choice({"link_merge", "feed: its output replaces the input, is added to it, or follows it (concat)"}, merge_,
               {"replace", "add", "concat"});
}

const Layer& Share::last_operation(const Wiring* wiring) const {
  const Layer* const target = target_in(wiring);
  return target == nullptr ? *this : target->last_operation(wiring);
}

Result<Shape> Share::wired_shape(const Wiring* wiring, const Shape& input) const {
  const ShareTarget* const target = wiring == nullptr ? nullptr : wiring->target_of(*this);
  if (target == nullptr) return fail(Code::InvalidState, "{}", kUnresolved);
  return target->operation == nullptr ? Result<Shape>(input) : target->operation->wired_shape(wiring, input);
}

namespace {

// The run of a target: its states are those of this use.
Run shifted(const Run& run, const ShareTarget& target) {
  Run use = run;
  if (target.state_shift != 0) use.states = run.states.from(target.state_shift);
  return use;
}

}  // namespace

void Share::forward(const Run& run, const ConstView& x, const View& y) const {
  const ShareTarget* const target = run.wiring == nullptr ? nullptr : run.wiring->target_of(*this);
  if (target == nullptr) return run.fail({Code::InvalidState, std::string(kUnresolved)});
  target->operation == nullptr ? copy(run, x, y) : run_forward(*target->operation, shifted(run, *target), x, y);
}

void Share::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  const ShareTarget* const target = run.wiring == nullptr ? nullptr : run.wiring->target_of(*this);
  if (target == nullptr) return run.fail({Code::InvalidState, std::string(kUnresolved)});
  if (target->operation != nullptr) return run_backward(*target->operation, shifted(run, *target), dy, dx, rules);
  if (dx.data != nullptr) copy(run, dy, dx);
}

}  // namespace loom
