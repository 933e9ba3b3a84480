#pragma once
// All kinds with an activation list it among their fields by this function.

#include "layers/fields.h"

namespace loom {

inline void visit_activation(FieldVisitor& visit, ActivationFn& fn) {
  visit({"activation", "Function applied to each element: linear, relu, silu, gelu, tanh, sigmoid and others"},
        fn.kind);
  visit({"leaky_slope", "leakyrelu: the slope below 0"}, fn.leaky_slope);
  visit({"elu_alpha", "elu: y = elu_alpha (exp(x) - 1) below 0"}, fn.elu_alpha);
  visit({"ste", "sign and step: backward takes their derivative as 1 where abs(x) < 1, else as 0"}, fn.ste);
}

}  // namespace loom
