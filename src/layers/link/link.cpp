#include "layers/link/link.h"

#include "ops/elementwise/elementwise.h"
#include "ops/slices/slices.h"

namespace loom {

void visit_running(Layer& layer, const std::function<void(Layer&)>& visit) {
  visit(layer);
  if (const Link* link = layer.as_link(); link != nullptr && link->target() != nullptr) visit_running(*link->target(), visit);
  layer.visit_children([&](const std::string&, Layer& child) {
    if (!child.common.is_disabled) visit_running(child, visit);
  });
}
namespace {

void unresolved(const Exec& exec) {
  if (!exec.status) exec.status = Error{Code::InvalidState, "link: its target is not at hand; Network::prepare() resolves links"};
}

// a and b side by side on the last axis.
void concat(const Exec& exec, const ConstTensor& a, const ConstTensor& b, const Tensor& y) {
  move_slices(exec, {a.rows, a.cols}, a, {0, a.cols}, y, {0, y.cols});
  move_slices(exec, {b.rows, b.cols}, b, {0, b.cols}, y, {a.cols, y.cols});
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
  Shape merged = target;
  if (merge_ == Merge::Add && !(input == target))
    return fail(Code::ShapeMismatch, "link: the target's output has shape {}, the input it is added to {}", target.text(), input.text());
  if (merge_ == Merge::Concat) {
    if (input.rank() != target.rank() || !(*input.with_cols(1) == *target.with_cols(1)))
      return fail(Code::ShapeMismatch, "link: the target's output has shape {}, the input it is put behind {}", target.text(), input.text());
    LOOM_TRY(merged, input.with_cols(input.cols() + target.cols()));
  }
  return own_ ? own_->output_shape(merged) : Result<Shape>(merged);
}

Pass Link::shifted(const Pass& pass) const {
  Pass use = pass;
  const auto behind = [&](auto& span, std::size_t slots) { span = span.subspan(std::min(slots, span.size())); };
  behind(use.rope_tables, state_shift_);
  behind(use.recurrent, state_shift_);
  behind(use.metas, state_shift_);
  behind(use.caches, state_shift_ * pass.runs.size());
  return use;
}

void Link::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  if (!feeds()) {
    if (!resolved_) return unresolved(exec);
    if (target_ == nullptr) return copy(exec, x, y);
    return state_shift_ == 0 ? run_forward(*target_, exec, pass, x, y) : run_forward(*target_, exec, shifted(pass), x, y);
  }
  if (!source_.prepared || source_.slot >= pass.cells.size() || pass.cells[source_.slot].data == nullptr) return unresolved(exec);
  const ArenaScope scope(exec.arena, pass.keeps());
  const ConstView& fed = pass.cells[source_.slot];
  ConstView in = fed;
  if (merge_ == Merge::Add) {
    const View sum = exec.arena.view(x.shape, x.element);
    add(exec, x, fed, sum);
    in = sum;
  } else if (merge_ == Merge::Concat) {
    const View both = exec.arena.view(*x.shape.with_cols(x.shape.cols() + fed.shape.cols()), x.element);
    concat(exec, x, fed, both);
    in = both;
  }
  own_ ? run_forward(*own_, exec, pass, in, y) : copy(exec, in, y);
  if (!pass.keeps()) return;
  pass.tape->push(x);
  pass.tape->push(in);
}

void Link::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  if (!feeds()) {
    if (!resolved_) return unresolved(exec);
    if (target_ != nullptr) return state_shift_ == 0 ? run_backward(*target_, exec, pass, dy, dx) : run_backward(*target_, exec, shifted(pass), dy, dx);
    if (dx.data != nullptr) copy(exec, dy, dx);
    return;
  }
  if (source_.slot >= pass.d_cells.size()) return unresolved(exec);
  const ArenaScope scope(exec.arena);
  const ConstView in = pass.tape->pop(), x = pass.tape->pop();
  const View& to = pass.d_cells[source_.slot];
  ConstView din = dy;
  if (own_) {
    const View inner = exec.arena.view(in.shape, dy.element);
    run_backward(*own_, exec, pass, dy, inner);
    din = inner;
  }
  if (merge_ == Merge::Concat) {
    const std::size_t mine = x.shape.cols(), all = in.shape.cols();
    if (dx.data != nullptr) move_slices(exec, {x.shape.rows(), mine}, din, {0, all}, dx, {0, mine});
    add_slices(exec, {x.shape.rows(), all - mine}, din, {mine, all}, to, {0, all - mine});
    return;
  }
  add(exec, to, din, to);
  if (dx.data == nullptr) return;
  merge_ == Merge::Add ? copy(exec, din, dx) : fill_zero(exec, dx);
}

}  // namespace loom
