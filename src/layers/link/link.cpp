#include "layers/link/link.h"

#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Link::kKind{.id = -1, .name = "link", .make = make_layer<Link>, .inside = Inside::Wrapped};

void visit_running(Layer& layer, const std::function<void(Layer&)>& visit) {
  visit(layer);
  if (const Link* link = layer_as<Link>(layer); link != nullptr && link->target() != nullptr) visit_running(*link->target(), visit);
  layer.visit_children([&](const std::string&, Layer& child) {
    if (!child.common.is_disabled) visit_running(child, visit);
  });
}
namespace {

void unresolved(const Exec& exec) {
  if (!exec.status) exec.status = Error{Code::InvalidState, "link: its target is not at hand; Network::prepare() resolves links"};
}

}  // namespace

void Link::fields(FieldVisitor& visit) {
  constexpr SizeRange range{0, 65535};
  visit("target_z", source_.address[0], range);
  visit("target_y", source_.address[1], range);
  visit("target_x", source_.address[2], range);
  visit("target_l", source_.address[3], range);
  visit.choice("link_mode", mode_, {"auto", "share", "feed"});
  visit.choice("link_merge", merge_, {"replace", "add", "concat"});
}

void Link::visit_children(const std::function<void(const std::string&, Layer&)>& visit) {
  if (own_) visit("", *own_);
}

const Layer& Link::last_operation() const {
  const Layer* operation = feeds() ? own_.get() : target_;
  return operation == nullptr ? *this : operation->last_operation();
}

Result<Shape> Link::output_shape(const Shape& input) const {
  if (feeds()) return fail(Code::InvalidState, "link: the shape of a feed link depends on its target; the network infers it");
  if (!resolved_) return fail(Code::InvalidState, "link: its target is not at hand; Network::prepare() resolves links");
  return target_ == nullptr ? Result<Shape>(input) : target_->output_shape(input);
}

Result<Shape> Link::fed_shape(const Shape& input, const Shape& target) const {
  LOOM_TRY(const Shape merged, merged_shape(merge_, input, target));
  return own_ ? own_->output_shape(merged) : Result<Shape>(merged);
}

Run Link::shifted(const Run& run) const {
  Run use = run;
  use.states = run.states.from(state_shift_, run.inputs.sequences.size());
  return use;
}

void Link::forward(const Run& run, const ConstView& x, const View& y) const {
  if (!feeds()) {
    if (!resolved_) return unresolved(run);
    if (target_ == nullptr) return copy(run, x, y);
    return state_shift_ == 0 ? run_forward(*target_, run, x, y) : run_forward(*target_, shifted(run), x, y);
  }
  if (!source_.prepared || source_.slot >= run.cells.outputs.size() || run.cells.outputs[source_.slot].data == nullptr) return unresolved(run);
  const ArenaScope scope(run.arena(), run.keeps());
  const ConstView& fed = run.cells.outputs[source_.slot];
  ConstView in = fed;
  if (merge_ != Merge::Replace) {
    const View both = run.view(*merged_shape(merge_, x.shape, fed.shape), x.element);  // checked at prepare()
    merge_inputs(run, merge_, x, fed, both);
    in = both;
  }
  own_ ? run_forward(*own_, run, in, y) : copy(run, in, y);
  run.save(x, in);
}

void Link::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  if (!feeds()) {
    if (!resolved_) return unresolved(run);
    if (target_ != nullptr) return state_shift_ == 0 ? run_backward(*target_, run, dy, dx, rules) : run_backward(*target_, shifted(run), dy, dx, rules);
    if (dx.data != nullptr) copy(run, dy, dx);
    return;
  }
  if (source_.slot >= run.cells.gradients.size()) return unresolved(run);
  const ArenaScope scope(run.arena());
  const auto [x, in] = run.saved<2>();
  const View& to = run.cells.gradients[source_.slot];
  ConstView din = dy;
  if (own_) {
    const View inner = run.view(in.shape, dy.element);
    run_backward(*own_, run, dy, inner, rules);
    din = inner;
  }
  if (merge_ == Merge::Replace && dx.data != nullptr) fill_zero(run, dx);
  const auto to_input = [&](const ConstTensor& d) {
    if (dx.data != nullptr) copy(run, d, dx);
  };
  split_gradient(run, merge_, din, x.shape.cols(), to_input, [&](const ConstTensor& d) { add(run, to, d, to); });
}

}  // namespace loom
