// ONNX's own node cases, models and all (tests/golden/onnx/nodes.bin, tools/golden/onnx_nodes.py). nodes.tsv counts by
// operation what passes and says why the rest does not.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

#include "io/hostile_test.h"
#include "io/onnx/onnx_cases_test.h"
#include "support/gpu.h"
#include "support/paths.h"

namespace loom::onnx_nodes_test {
namespace {

using graph::Value;
using onnx_cases::Bytes;
using onnx_cases::Change;
using onnx_cases::next_case;
using onnx_cases::NodeCase;
using onnx_cases::part;
using onnx_cases::run_case;

constexpr std::size_t kLeastCases = 1160, kLeastGraphs = 380;

std::string setting(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

// Returns how many cases the file has. Failures count where no report is asked for.
std::size_t run_cases(const std::string& path, bool is_report) {
  const std::string report = setting("LOOM_ONNX_REPORT");
  const auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << file.error().text();
  if (!file) return 0;
  std::ofstream lines;
  if (!report.empty()) lines.open(report);
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(2).value();
  ByteReader reader((*file)->bytes());
  EXPECT_TRUE(part(reader));
  std::size_t cases = 0;
  while (reader.left() != 0) {
    const auto c = next_case(reader);
    EXPECT_TRUE(c) << c.error().text();
    if (!c) return cases;
    ++cases;
    const auto done = run_case(*c, pool);
    EXPECT_TRUE(done || is_report) << c->name << ": " << done.error().text();
    if (lines) lines << (done ? "pass " : "fail ") << c->name << (done ? "" : " " + done.error().text()) << "\n";
  }
  return cases;
}

TEST(OnnxNodeCases, every_case_kept_passes) {  // F-42
  const std::string other = setting("LOOM_ONNX_CASES");
  const std::string path = other.empty() ? test::source_path("tests/golden/onnx/nodes.bin") : other;
  EXPECT_GE(run_cases(path, !other.empty()), kLeastCases);
}

// Random graphs of every operation and its attributes (tools/compare_onnxruntime.py --golden).
TEST(OnnxNodeCases, graphs_answer_as_onnxruntime_does) {  // F-42
  EXPECT_GE(run_cases(test::source_path("tests/golden/onnx/graphs.bin"), false), kLeastGraphs);
}

// Every input of f32 goes through an operation that a card can run, so that the next one finds it on the device.
void send_to_device(graph::Model& model) {
  std::vector<graph::Node> nodes;
  for (const graph::InputInfo& info : model.body.inputs) {
    if (info.type != graph::Type::f32) continue;
    for (graph::Node& node : model.body.nodes)
      for (std::string& name : node.inputs)
        if (name == info.name) name += " there";
    graph::Node negative;
    negative.op = "Neg", negative.inputs = {info.name}, negative.outputs = {info.name + " there"};
    nodes.push_back(std::move(negative));
  }
  model.body.nodes.insert(model.body.nodes.begin(), nodes.begin(), nodes.end());
}

Result<std::vector<Value>> outputs_of(const NodeCase& c, const std::shared_ptr<ThreadPool>& pool, Device* device,
                                      bool are_on_device) {
  LOOM_TRY(graph::Model model, parse_onnx(c.model));
  std::vector<std::pair<std::string, Value>> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    LOOM_TRY(auto tensor, parse_onnx_tensor(c.inputs[i]));
    inputs.emplace_back(model.body.inputs[i].name, std::move(tensor.second));
  }
  if (are_on_device) send_to_device(model);
  LOOM_TRY(const auto program, graph::Program::create(std::move(model), {std::uint64_t{1} << 32}));
  graph::RunnerOptions options;
  options.pool = pool, options.device = device;
  LOOM_TRY(const auto runner, graph::Runner::create(program, options));
  if (device != nullptr) LOOM_TRY_VOID(runner->run(inputs));
  return runner->run(inputs);
}

// The bits of the CPU, for the second run too, which takes the memory of the first; with inputs on the host, and with
// some on the device.
TEST(GpuOnnxNodeCases, cases_have_the_bits_of_the_cpu) {  // F-42
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto file = MappedFile::open(test::source_path("tests/golden/onnx/nodes.bin"));
  ASSERT_TRUE(file) << file.error().text();
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(2).value();
  ByteReader reader((*file)->bytes());
  ASSERT_TRUE(part(reader));
  std::size_t compared = 0, recorded = 0;
  while (reader.left() != 0) {
    const NodeCase c = next_case(reader).value();
    for (const bool are_on_device : {false, true}) {
      const auto wanted = outputs_of(c, pool, nullptr, are_on_device);
      if (!wanted && are_on_device) continue;  // a number that decides a shape
      ASSERT_TRUE(wanted) << c.name << ": " << wanted.error().text();
      const std::uint64_t before = device->counters().dispatches;
      const auto got = outputs_of(c, pool, device, are_on_device);
      ASSERT_TRUE(got) << c.name << ": " << got.error().text();
      recorded += device->counters().dispatches != before;
      ASSERT_EQ(wanted->size(), got->size()) << c.name;
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        const Value &a = (*wanted)[i], &b = (*got)[i];
        ASSERT_TRUE(a.type == b.type && a.dims == b.dims) << c.name;
        EXPECT_TRUE(a.bytes() == 0 || std::memcmp(a.data, b.data, a.bytes()) == 0) << c.name << " output " << i;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 2 * kLeastCases - 50);
  EXPECT_GE(recorded, 850u);  // the others look at whole numbers, or have no form
  if (std::getenv("LOOM_GPU_FIGURES") == nullptr) return;
  std::printf("%zu of %zu with work there; computed here: %s\n", recorded, compared,
              fmt::format("{}", fmt::join(device->host_calls().names, " ")).c_str());
}

// Every case with bytes of its model changed: an answer or an error, within the memory that was allowed.
TEST(OnnxNodeCases, changed_models_end_with_an_answer_or_an_error) {  // F-01
  const auto file = MappedFile::open(test::source_path("tests/golden/onnx/nodes.bin"));
  ASSERT_TRUE(file);
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(1).value();
  ByteReader reader((*file)->bytes());
  ASSERT_TRUE(part(reader));
  const std::string rounds = setting("LOOM_ONNX_ROUNDS");
  const std::uint64_t most = rounds.empty() ? 3 : std::strtoull(rounds.c_str(), nullptr, 10);
  std::size_t ran = 0;
  for (std::uint64_t n = 0; reader.left() != 0; ++n) {
    const NodeCase c = next_case(reader).value();
    for (std::uint64_t round = 0; round < most; ++round) {
      std::vector<std::byte> bytes(c.model.begin(), c.model.end());
      for (std::uint64_t k = 0; k <= round % 3; ++k) {
        const std::uint64_t random = splitmix(round * 7919 + 17, n * 8 + k);
        bytes[random % bytes.size()] = static_cast<std::byte>(random >> 40);
      }
      NodeCase changed = c;
      changed.model = bytes;
      const auto done = run_case(changed, pool, std::uint64_t{1} << 24);
      ran += done.has_value();
    }
  }
  EXPECT_GT(ran, 0u);
}

// Numbers that settings and indices are changed to.
constexpr std::int64_t kEdges[] = {0,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   3,
                                   7,
                                   100,
                                   std::int64_t{1} << 31,
                                   -(std::int64_t{1} << 31),
                                   std::int64_t{1} << 40,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
std::int64_t edge(std::uint64_t random) { return kEdges[random % std::size(kEdges)]; }

void change_attribute(graph::Attribute& a, std::uint64_t random) {
  a.integer = edge(random), a.number = static_cast<double>(edge(random >> 8));
  if (!a.integers.empty()) a.integers[(random >> 16) % a.integers.size()] = edge(random >> 24);
  if (!a.numbers.empty()) a.numbers[(random >> 16) % a.numbers.size()] = static_cast<double>(edge(random >> 24));
  if ((random >> 32) % 8 == 0) a.integers.push_back(edge(random >> 40));
  if ((random >> 32) % 8 == 1 && !a.integers.empty()) a.integers.pop_back();
}

void change_value(Value& value, std::uint64_t random) {
  const auto i = static_cast<std::size_t>(random >> 8);
  Value fresh = Value::create(value.type, value.dims).value();
  if (value.bytes() != 0) std::memcpy(fresh.data, value.data, value.bytes());
  fresh.constant = value.constant;
  const std::uint64_t how = random % 4;
  if (how == 0 && fresh.elements() != 0 && graph::store_of(fresh.type) == graph::Store::i64)
    fresh.as<std::int64_t>()[i % fresh.elements()] = graph::wrapped(fresh.type, edge(random >> 40));
  else if (how == 0 && fresh.elements() != 0 && fresh.type == graph::Type::f32)
    fresh.as<float>()[i % fresh.elements()] = static_cast<float>(edge(random >> 40));
  else if (how == 1 && !fresh.dims.empty())
    fresh.dims.erase(fresh.dims.begin() + static_cast<std::ptrdiff_t>(i % fresh.dims.size()));
  else if (how == 2 && !fresh.dims.empty())
    fresh.dims[i % fresh.dims.size()] /= 2;
  else
    fresh = Value::create((random >> 40) % 2 == 0 ? graph::Type::i64 : graph::Type::f64, fresh.dims).value();
  value = fresh;
}

// One thing of a valid graph changed: a setting, an input that is left out, a tensor's numbers, shape or type.
void change_graph(graph::Model& model, std::vector<std::pair<std::string, Value>>& inputs, std::uint64_t random) {
  for (graph::InputInfo& info : model.body.inputs) info.type = graph::Type::none, info.has_shape = false;
  graph::Node& node = model.body.nodes[random % model.body.nodes.size()];
  const std::uint64_t next = splitmix(random, 1);
  const std::size_t what = (random >> 32) % 4;
  if (what == 0 && !node.attributes.empty())
    change_attribute(node.attributes[next % node.attributes.size()].second, splitmix(random, 2));
  else if (what == 1 && !node.inputs.empty())
    node.inputs[next % node.inputs.size()] = node.inputs[(next >> 16) % node.inputs.size()];
  else if (what == 2 && !model.body.constants.empty())
    change_value(model.body.constants[next % model.body.constants.size()].second, splitmix(random, 2));
  else if (!inputs.empty())
    change_value(inputs[next % inputs.size()].second, splitmix(random, 2));
}

TEST(OnnxNodeCases, changed_graphs_end_with_an_answer_or_an_error) {  // F-01
  const auto file = MappedFile::open(test::source_path("tests/golden/onnx/nodes.bin"));
  ASSERT_TRUE(file);
  const std::shared_ptr<ThreadPool> pool = ThreadPool::create(1).value();
  ByteReader reader((*file)->bytes());
  ASSERT_TRUE(part(reader));
  const std::string rounds = setting("LOOM_ONNX_ROUNDS"), traced = setting("LOOM_ONNX_TRACE");
  const std::uint64_t most = rounds.empty() ? 10 : std::strtoull(rounds.c_str(), nullptr, 10);
  for (std::uint64_t n = 0; reader.left() != 0; ++n) {
    const NodeCase c = next_case(reader).value();
    for (std::uint64_t round = 0; round < most; ++round) {
      if (!traced.empty()) std::ofstream(traced) << c.name << " round " << round << "\n";
      const Change change = [&](graph::Model& model, std::vector<std::pair<std::string, Value>>& inputs) {
        change_graph(model, inputs, splitmix(round * 104729 + 3, n));
      };
      static_cast<void>(run_case(c, pool, std::uint64_t{1} << 24, change));
    }
  }
}

}  // namespace
}  // namespace loom::onnx_nodes_test
