#pragma once
// Reads cases of graphs with inputs and outputs (tests/golden/onnx/nodes.bin and graphs.bin) and runs them.

#include <cmath>
#include <functional>

#include "core/file.h"
#include "io/byte_reader.h"
#include "io/onnx/onnx.h"
#include "graph/runner.h"

namespace loom::onnx_cases {

using graph::Value;
using Bytes = std::span<const std::byte>;

struct NodeCase {
  std::string name;
  double rtol = 0, atol = 0;
  Bytes model;
  std::vector<Bytes> inputs, outputs;
};

// A file, whose tensors may be in other files of its folder.
inline Result<graph::Model> read_onnx(const std::string& path) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  return parse_onnx(file->bytes(), {path.substr(0, path.find_last_of('/') + 1)});
}

inline Result<Bytes> part(ByteReader& reader) {
  LOOM_TRY(const auto length, reader.number<std::uint32_t>("a length"));
  return reader.take(length, "a part");
}

inline Result<NodeCase> next_case(ByteReader& reader) {
  NodeCase c;
  LOOM_TRY(const Bytes name, part(reader));
  c.name = as_text(name);
  LOOM_TRY(c.rtol, reader.number<double>("a tolerance"));
  LOOM_TRY(c.atol, reader.number<double>("a tolerance"));
  LOOM_TRY(c.model, part(reader));
  for (auto* const list : {&c.inputs, &c.outputs}) {
    LOOM_TRY(const auto n, reader.number<std::uint32_t>("a count"));
    for (std::uint32_t i = 0; i < n; ++i) {
      LOOM_TRY(const Bytes tensor, part(reader));
      list->push_back(tensor);
    }
  }
  return c;
}

// As numpy.testing.assert_allclose(): `|got - wanted| <= atol + rtol |wanted|`.
inline Result<void> expect_close(const NodeCase& c, const Value& got, const Value& wanted) {
  if (got.type != wanted.type || got.dims != wanted.dims)
    return fail(Code::ShapeMismatch, "{} {}, expected {} {}", graph::name_of(got.type), graph::text_of(got.dims),
                graph::name_of(wanted.type), graph::text_of(wanted.dims));
  for (std::size_t i = 0; i < got.elements(); ++i) {
    const double a = got.number(i), b = wanted.number(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= c.atol + c.rtol * std::abs(b);
    if (!same) return fail(Code::InvalidArgument, "element {} is {}, expected {}", i, a, b);
  }
  return {};
}

// Changes the model or the inputs of a run.
using Change = std::function<void(graph::Model& model, std::vector<std::pair<std::string, Value>>& inputs)>;

inline Result<std::vector<Value>> answer_of(const NodeCase& c, const std::shared_ptr<ThreadPool>& pool,
                                            std::uint64_t max_bytes = std::uint64_t{1} << 32,
                                            const Change& change = {}) {
  LOOM_TRY(graph::Model model, parse_onnx(c.model));
  const auto infos = model.body.inputs;
  std::vector<std::pair<std::string, Value>> inputs;
  if (infos.size() < c.inputs.size()) return fail(Code::CorruptData, "{} inputs", infos.size());
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    LOOM_TRY(auto tensor, parse_onnx_tensor(c.inputs[i]));
    inputs.emplace_back(infos[i].name, std::move(tensor.second));
  }
  if (change) change(model, inputs);
  LOOM_TRY(const auto program, graph::Program::create(std::move(model), {max_bytes}));
  graph::RunnerOptions options;
  options.pool = pool;
  LOOM_TRY(const auto runner, graph::Runner::create(program, options));
  return runner->run(std::move(inputs));
}

inline Result<void> run_case(const NodeCase& c, const std::shared_ptr<ThreadPool>& pool,
                             std::uint64_t max_bytes = std::uint64_t{1} << 32, const Change& change = {}) {
  LOOM_TRY(const auto outputs, answer_of(c, pool, max_bytes, change));
  if (outputs.size() != c.outputs.size()) return fail(Code::ShapeMismatch, "{} outputs", outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    LOOM_TRY(const auto wanted, parse_onnx_tensor(c.outputs[i]));
    LOOM_TRY_VOID(expect_close(c, outputs[i], wanted.second));
  }
  return {};
}

}  // namespace loom::onnx_cases
