#include "layers/halving/halving.h"

#include "layers/tween.h"
#include "ops/halve/halve.h"

namespace loom {

constinit const LayerKind Halving::kKind{.id = 33,
                                         .name = "halving",
                                         .help = "y = x / 2",
                                         .shapes = "any shape -> the same shape",
                                         .make = make_layer<Halving>};

void Halving::fields(FieldVisitor& /*visit*/) {}

void Halving::forward(const Run& run, const ConstView& x, const View& y) const { halve(run, x, y); }

void Halving::backward(const Run& run, const ConstView& dy, const View& dx) const {
  if (dx.data != nullptr) halve(run, dy, dx);
}

void Halving::target(const Run& run, const TweenRules& /*rules*/, const ConstView& e, const View& d) const {
  if (d.data != nullptr) halve(run, e, d);
}

}  // namespace loom
