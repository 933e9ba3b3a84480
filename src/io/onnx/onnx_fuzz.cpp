// Any bytes as an ONNX file: a graph that runs on small inputs, or an Error.

#include <cstdint>

#include "io/onnx/onnx.h"
#include "graph/runner.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom;
  auto model = parse_onnx({reinterpret_cast<const std::byte*>(data), size});
  if (!model) return 0;
  static const std::shared_ptr<ThreadPool> pool = ThreadPool::create(1).value();
  const auto program = graph::Program::create(std::move(*model), {std::uint64_t{1} << 24});
  if (!program) return 0;
  graph::RunnerOptions options;
  options.pool = pool;
  const auto runner = graph::Runner::create(*program, options);
  if (!runner) return 0;
  std::vector<std::pair<std::string, graph::Value>> inputs;
  for (const graph::InputInfo& info : (*program)->inputs()) {
    graph::Dims dims;
    for (const std::int64_t d : info.dims) dims.push_back(d < 0 || d > 16 ? 2 : static_cast<std::size_t>(d));
    if (dims.size() > 6) return 0;
    auto value = graph::Value::create(info.type == graph::Type::none ? graph::Type::f32 : info.type, dims);
    if (!value) return 0;
    inputs.emplace_back(info.name, std::move(*value));
  }
  const auto outputs = (*runner)->run(std::move(inputs));
  if (!outputs) return 0;
  for (const graph::Value& value : *outputs) LOOM_ASSERT(value.data != nullptr);
  return 0;
}
