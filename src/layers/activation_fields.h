#pragma once
// How kinds with an activation list it among their fields.

#include "layers/fields.h"

namespace loom {

inline void visit_activation(FieldVisitor& visit, ActivationFn& fn) {
  visit("activation", fn.kind);
  visit("leaky_slope", fn.leaky_slope);
  visit("elu_alpha", fn.elu_alpha);
  visit("ste", fn.ste);
}

}  // namespace loom
