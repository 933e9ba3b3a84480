#include "layers/sequential/sequential.h"

#include <algorithm>
#include <new>

#include "layers/residual/residual.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Sequential::kKind{.id = 17,
                                            .name = "sequential",
                                            .help = "layers one after another",
                                            .shapes = "input of the first layer -> output of the last one",
                                            .make = make_layer<Sequential>,
                                            .inside = Inside::Chain};

void Sequential::fields(FieldVisitor& visit) {
  visit({"residual", "Adds the input to the output, which has its shape: y = x + f(x)"}, residual_);
  visit({"sequential_layers|layers", "A list of layers, each of which reads what the one before gives"}, children_);
}

Result<void> Sequential::build() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const Residual* child = layer_as<Residual>(*children_[i]);
    if (child == nullptr) continue;
    const auto kind = child->from().kind;
    if ((kind == SkipFrom::Kind::Default || kind == SkipFrom::Kind::Previous) && i == 0)
      return fail(Code::InvalidConfig,
                  "sequential_layers.0: residual: no child stands before it; skip_from \"none\", \"external\" or an "
                  "address expected");
    if (kind == SkipFrom::Kind::Child && child->from().child >= i)
      return fail_at({"sequential_layers", std::to_string(i), "skip_from"}, Code::InvalidConfig,
                     "expected the index of an earlier child, got {}", child->from().child);
  }
  return {};
}

std::optional<std::size_t> Sequential::skip_of(std::size_t child) const {
  const Residual* residual = layer_as<Residual>(*children_[child]);
  if (residual == nullptr || residual->common.is_disabled) return std::nullopt;
  const SkipFrom& from = residual->from();
  if ((from.kind == SkipFrom::Kind::Default || from.kind == SkipFrom::Kind::Previous) && child > 0) return child - 1;
  if (from.kind == SkipFrom::Kind::Child && from.child < child) return from.child;
  return std::nullopt;
}

const Layer& Sequential::last_operation(const Wiring* wiring) const {
  if (residual_) return *this;
  for (std::size_t i = children_.size(); i-- > 0;)
    if (!children_[i]->common.is_disabled) return children_[i]->last_operation(wiring);
  return *this;
}

void Sequential::visit_children(const std::function<void(const std::string&, Layer&)>& visit) {
  for (std::size_t i = 0; i < children_.size(); ++i) visit(fmt::format("sequential_layers.{}", i), *children_[i]);
}

// Expects children that were checked before.
Shape Sequential::shape_before(const Wiring* wiring, const Shape& input, std::size_t child) const {
  Shape shape = input;
  for (std::size_t i = 0; i < child; ++i)
    if (!children_[i]->common.is_disabled) shape = *children_[i]->wired_shape(wiring, shape);
  return shape;
}

Result<Shape> Sequential::wired_shape(const Wiring* wiring, const Shape& input) const {
  Shape shape = input;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (children_[i]->common.is_disabled) continue;
    if (const auto source = skip_of(i)) {
      const Shape skip = shape_before(wiring, input, *source);
      if (!(skip == shape))
        return fail_at({"sequential_layers", std::to_string(i)}, Code::ShapeMismatch,
                       "residual: skip of shape {} (input of child {}), input of shape {}", skip.text(), *source,
                       shape.text());
      continue;
    }
    auto next = children_[i]->wired_shape(wiring, shape);
    if (!next) return under({"sequential_layers", std::to_string(i)}, std::move(next).error());
    shape = *next;
  }
  if (residual_ && !(shape == input))
    return fail(Code::ShapeMismatch, "residual sequential: {} in, {} out", input.text(), shape.text());
  return shape;
}

void Sequential::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  ConstView current = x;
  std::size_t left = 0;
  bool skips = false;
  for (std::size_t i = 0; i < children_.size(); ++i)
    left += !children_[i]->common.is_disabled, skips |= skip_of(i).has_value();
  if (left == 0) copy(run, x, y);
  // The input of every child, where a later one adds it.
  ConstView* const inputs = skips ? run.note<ConstView>(children_.size()) : nullptr;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const LayerPtr& child = children_[i];
    if (skips && !run.rehearsal()) new (inputs + i) ConstView(current);
    if (child->common.is_disabled || run.exec.status) continue;
    const auto source = skip_of(i);
    // The last child writes y itself, unless its output must be kept beside the sum with the residual.
    const bool last = --left == 0 && !(residual_ && !run.may_replace());
    // checked by the plan
    const View next =
        last ? y : run.view(source ? current.shape : *child->wired_shape(run.wiring, current.shape), x.element);
    if (source) {
      add(run, current, run.rehearsal() ? current : inputs[*source], next);
    } else {
      run_forward(*child, run, current, next);
      run.save(current);
    }
    current = next;
  }
  if (residual_) add(run, x, left == 0 && current.data != x.data ? current : ConstView(y), y);
}

void Sequential::backward(const Run& run, const ConstView& dy, const View& dx) const {
  take_back(run, dy, dx, nullptr);
}

void Sequential::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  take_back(run, e, d, &rules);
}

void Sequential::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  const ArenaScope scope(run.arena());
  const std::size_t n = children_.size();
  // The first child that runs writes dx itself, unless something is added to that gradient.
  std::size_t first = 0, lowest_source = n;
  while (first < n && children_[first]->common.is_disabled) ++first;
  for (std::size_t i = 0; i < n; ++i)
    if (const auto source = skip_of(i)) lowest_source = std::min(lowest_source, *source);
  const bool direct = !residual_ && lowest_source > first;
  View* const skipped = lowest_source < n ? run.note<View>(n) : nullptr;  // dy of every residual child
  ConstView gradient = dy;
  for (std::size_t i = n; i-- > 0 && !run.exec.status;) {
    if (skip_of(i)) {
      if (!run.rehearsal()) new (skipped + i) View{const_cast<void*>(gradient.data), gradient.shape, gradient.element};
    } else if (!children_[i]->common.is_disabled) {
      const ConstView input = run.saved();
      View next{nullptr, input.shape, dy.element};
      if (i == first && direct)
        next.data = dx.data;
      else if (i != first || dx.data != nullptr)
        next = run.view(input.shape, dy.element);
      run_backward(*children_[i], run, gradient, next, rules);
      gradient = next;
    }
    std::size_t consumers = 1;
    for (std::size_t j = n; j-- > i + 1 && lowest_source <= i;) {
      const auto source = skip_of(j);
      if (source != i || gradient.data == nullptr) continue;
      const View sum = run.view(gradient.shape, gradient.element);
      add(run, gradient, run.rehearsal() ? gradient : ConstView(skipped[j]), sum);
      gradient = sum, ++consumers;
    }
    gradient = mean_target(run, rules, gradient, consumers);
  }
  if (dx.data == nullptr || run.exec.status) return;
  if (residual_) {
    add(run, dy, gradient, dx);
    if (rules != nullptr) scale(run, dx, 0.5, dx);  // the mean of two paths
  } else if (gradient.data != dx.data)
    copy(run, gradient, dx);
}

}  // namespace loom
