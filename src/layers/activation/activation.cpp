#include "layers/activation/activation.h"

#include "layers/activation_fields.h"
#include "layers/tween.h"

namespace loom {

void ActivationLayer::fields(FieldVisitor& visit) { visit_activation(visit, fn_); }

void ActivationLayer::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  activate(exec, fn_, x, y);
  if (pass.keeps()) pass.tape->push(x);
}

void ActivationLayer::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ConstView x = pass.tape->pop();
  if (dx.data != nullptr) through_activation(exec, pass, fn_, x, dy, dx);
}

}  // namespace loom
