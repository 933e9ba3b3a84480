#include "layers/activation/activation.h"

#include "layers/activation_fields.h"
#include "layers/tween.h"

namespace loom {

constinit const LayerKind ActivationLayer::kKind{.id = 28,
                                                 .name = "activation",
                                                 .help = "y = act(x)",
                                                 .shapes = "any shape -> the same shape",
                                                 .make = make_layer<ActivationLayer>};

void ActivationLayer::fields(FieldVisitor& visit) { visit_activation(visit, fn_); }

void ActivationLayer::forward(const Run& run, const ConstView& x, const View& y) const {
  activate(run, fn_, x, y);
  run.save(x);
}

void ActivationLayer::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ConstView x = run.saved();
  if (dx.data != nullptr) activate_backward(run, fn_, x, dy, dx);
}

void ActivationLayer::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ConstView x = run.saved();
  if (d.data != nullptr) target_before_activation(run, rules, fn_, x, e, d);
}

}  // namespace loom
