#include "layers/share/share.h"

#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Share::kKind{.id = -1,
                                       .name = "link",
                                       .help = "another cell's operation with that cell's weights",
                                       .shapes = "as in the other cell",
                                       .make = make_layer<Share>,
                                       .inside = Inside::Wrapped};

void visit_running(Layer& layer, const std::function<void(Layer&)>& visit) {
  visit(layer);
  if (const Share* share = layer_as<Share>(layer); share != nullptr && share->target() != nullptr)
    visit_running(*share->target(), visit);
  layer.visit_children([&](const std::string&, Layer& child) {
    if (!child.common.is_disabled) visit_running(child, visit);
  });
}
namespace {

constexpr std::string_view kUnresolved = "link: its target is not at hand; Network::prepare() resolves links";

}  // namespace

void Share::fields(FieldVisitor& visit) {
  constexpr SizeRange range{0, 65535};
  visit({"target_z", "Address of the other cell: z"}, address_[0], range);
  visit({"target_y", "y"}, address_[1], range);
  visit({"target_x", "x"}, address_[2], range);
  visit({"target_l", "l"}, address_[3], range);
  visit.choice({"link_mode", "share: runs its operation; feed: reads its output; auto: share, in a step mesh feed"},
               mode_, {"auto", "share", "feed"});
  visit.choice({"link_merge", "feed: its output replaces the input, is added to it, or stands behind it (concat)"},
               merge_, {"replace", "add", "concat"});
}

Result<Shape> Share::output_shape(const Shape& input) const {
  if (!resolved_) return fail(Code::InvalidState, "{}", kUnresolved);
  return target_ == nullptr ? Result<Shape>(input) : target_->output_shape(input);
}

Run Share::shifted(const Run& run) const {
  Run use = run;
  if (state_shift_ != 0) use.states = run.states.from(state_shift_);
  return use;
}

void Share::forward(const Run& run, const ConstView& x, const View& y) const {
  if (!resolved_) return run.fail({Code::InvalidState, std::string(kUnresolved)});
  target_ == nullptr ? copy(run, x, y) : run_forward(*target_, shifted(run), x, y);
}

void Share::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  if (!resolved_) return run.fail({Code::InvalidState, std::string(kUnresolved)});
  if (target_ != nullptr) return run_backward(*target_, shifted(run), dy, dx, rules);
  if (dx.data != nullptr) copy(run, dy, dx);
}

}  // namespace loom
