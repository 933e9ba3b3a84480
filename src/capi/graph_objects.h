#pragma once
// What the handles of graphs and encoders stand for.

#include "capi/objects.h"
#include "layers/graph/plan.h"
#include "lm/encoder.h"

namespace loom::capi {

struct GraphObject : Object {
  static constexpr Kind kKind = Kind::Graph;
  explicit GraphObject(std::shared_ptr<const graph::Program> given) : program(std::move(given)) {}
  const std::shared_ptr<const graph::Program> program;
};

struct EncoderObject : Object {
  static constexpr Kind kKind = Kind::Encoder;
  explicit EncoderObject(TextEncoder given) : encoder(std::move(given)) {}
  TextEncoder encoder;
  // Of the last call.
  std::vector<float> vectors;
  std::vector<std::uint64_t> tokens;
  std::array<std::uint64_t, 2> shape{};
};

}  // namespace loom::capi
