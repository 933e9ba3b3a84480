#pragma once
// Objects of the handles of graphs and encoders.

#include "capi/objects.h"
#include "capi/tensors.h"
#include "graph/plan.h"
#include "lm/encoder.h"

namespace loom::capi {

struct GraphObject : Object {
  static constexpr Kind kKind = Kind::Graph;
  explicit GraphObject(std::shared_ptr<const graph::Program> given, std::shared_ptr<ThreadPool> shared = {},
                       int workers = 0)
      : program(std::move(given)), pool(std::move(shared)), threads(workers) {}
  const std::shared_ptr<const graph::Program> program;
  // Of sessions that name no workers.
  const std::shared_ptr<ThreadPool> pool;
  const int threads;
};

struct EncoderObject : Object {
  static constexpr Kind kKind = Kind::Encoder;
  EncoderObject(TextEncoder given, std::string from, EncoderOptions by)
      : encoder(std::move(given)), folder(std::move(from)), options(std::move(by)) {}
  TextEncoder encoder;
  const std::string folder;
  const EncoderOptions options;
  // Results of the last call.
  Result<Receipt> receipt = fail(Code::InvalidState, "the encoder has embedded no texts so far");
  std::vector<float> vectors;
  std::vector<std::uint64_t> tokens;
  Extents shape;
};

}  // namespace loom::capi
