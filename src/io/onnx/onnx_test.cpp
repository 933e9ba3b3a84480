// ONNX files: real models against onnxruntime (tests/golden/onnx/models.json, tools/golden/onnx_models.py), external
// data, and files that are cut, changed or false.

#include "io/onnx/onnx.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/json.h"
#include "io/hostile_test.h"
#include "io/network_file.h"
#include "io/onnx/onnx_cases_test.h"
#include "io/onnx/graph_file.h"
#include "io/onnx/wire.h"
#include "graph/runner.h"
#include "ops/all.h"
#include "support/gpu.h"
#include "support/paths.h"

namespace loom::onnx_test {
namespace {

using graph::Type;
using graph::Value;
using Bytes = std::span<const std::byte>;

// ---- messages by hand ----

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
std::string whole(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string part(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& attributes = "") {
  std::string out;
  for (const std::string& input : inputs) out += part(1, input);
  return part(1, out + part(2, output) + part(4, op) + attributes);
}
std::string tensor(const std::string& name, int type, const std::vector<std::size_t>& dims, const std::string& rest) {
  std::string out;
  for (const std::size_t d : dims) out += whole(1, d);
  return out + whole(2, static_cast<std::uint64_t>(type)) + part(8, name) + rest;
}
std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::string model(const std::string& body, int opset = 17) {
  return part(7, body) + part(8, whole(2, static_cast<std::uint64_t>(opset)));
}
std::string input(const std::string& name) { return part(11, part(1, name)); }
std::string output(const std::string& name) { return part(12, part(1, name)); }
Bytes bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

Value numbers(const std::vector<float>& values, const graph::Dims& dims) {
  Value value = Value::create(Type::f32, dims).value();
  std::ranges::copy(values, value.as<float>());
  return value;
}

Result<std::vector<Value>> run(graph::Model parsed, std::vector<std::pair<std::string, Value>> inputs, int threads = 1,
                               std::optional<Isa> isa = {}) {
  LOOM_TRY(const auto program, graph::Program::create(std::move(parsed), {std::uint64_t{1} << 31}));
  graph::RunnerOptions options;
  options.threads = threads, options.isa = isa;
  LOOM_TRY(const auto runner, graph::Runner::create(program, options));
  return runner->run(std::move(inputs));
}
Result<std::vector<Value>> run(const std::string& file, std::vector<std::pair<std::string, Value>> inputs) {
  LOOM_TRY(graph::Model parsed, parse_onnx(bytes_of_text(file)));
  return run(std::move(parsed), std::move(inputs));
}

// ---- real models ----

Value value_by_rule(const Json& info) {
  const graph::Dims dims = info["shape"].get<graph::Dims>();
  Value value = Value::create(graph::type_from_name(info["type"].get<std::string>()), dims).value();
  for (std::size_t i = 0; i < value.elements(); ++i) {
    const double x =
        static_cast<double>(i * 7919 % info["modulus"].get<std::size_t>()) / info["divisor"].get<double>() +
        info["offset"].get<double>();
    if (value.type == Type::f32)
      value.as<float>()[i] = static_cast<float>(x);
    else
      value.as<std::int64_t>()[i] = static_cast<std::int64_t>(x);
  }
  return value;
}

void expect_as_golden(const Json& golden, const Value& got) {
  EXPECT_EQ(got.dims, golden["shape"].get<graph::Dims>());
  const std::size_t every = golden["every"].get<std::size_t>();
  const Json& values = golden["values"];
  ASSERT_EQ(values.size(), (got.elements() + every - 1) / every);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    worst = std::max(worst, std::abs(got.number(i * every) - values[i].get<double>()));
  EXPECT_LE(worst, 1e-4) << golden["name"];
}

// Equal bits on every target, whatever the threads.
TEST(OnnxModels, real_models_answer_as_onnxruntime_does) {  // F-42
  const auto file = read_text_file(test::source_path("tests/golden/onnx/models.json"));
  ASSERT_TRUE(file);
  const Json golden = parse_json(*file).value();
  ASSERT_EQ(golden["cases"].size(), 10u);
  for (const Json& c : golden["cases"]) {
    const std::string path = data_path(c["model"].get<std::string>());
    SCOPED_TRACE(path);
    std::vector<std::pair<std::string, Value>> inputs;
    for (const Json& info : c["inputs"]) inputs.emplace_back(info["name"].get<std::string>(), value_by_rule(info));
    std::vector<std::vector<std::byte>> first;
    for (const Isa isa : usable_isas()) {
      auto parsed = onnx_cases::read_onnx(path);
      ASSERT_TRUE(parsed) << parsed.error().text();
      const auto outputs = run(std::move(*parsed), inputs, first.empty() ? 1 : 3, isa);
      ASSERT_TRUE(outputs) << outputs.error().text();
      std::vector<std::vector<std::byte>> bits;
      for (const Value& value : *outputs) bits.push_back(graph::bytes_of_value(value).value());
      if (first.empty()) {
        ASSERT_EQ(outputs->size(), c["outputs"].size());
        for (std::size_t i = 0; i < outputs->size(); ++i) expect_as_golden(c["outputs"][i], (*outputs)[i]);
        first = bits;
      }
      EXPECT_EQ(first, bits);
    }
  }
}

// The bits of the CPU on a card, without a copy to the host in the middle.
TEST(GpuOnnxModels, real_models_have_the_bits_of_the_cpu) {  // F-42
  LOOM_NEEDS_GPU_DEVICE(device);
  const Json golden = parse_json(read_text_file(test::source_path("tests/golden/onnx/models.json")).value()).value();
  for (const Json& c : golden["cases"]) {
    const std::string path = data_path(c["model"].get<std::string>());
    SCOPED_TRACE(path);
    std::vector<std::pair<std::string, Value>> inputs;
    for (const Json& info : c["inputs"]) inputs.emplace_back(info["name"].get<std::string>(), value_by_rule(info));
    std::vector<std::vector<std::byte>> wanted;
    const std::uint64_t before = device->counters().dispatches, trips = device->host_calls().calls;
    for (Device* const where : {static_cast<Device*>(nullptr), static_cast<Device*>(device)}) {
      const auto program =
          graph::Program::create(onnx_cases::read_onnx(path).value(), {std::uint64_t{1} << 31}).value();
      graph::RunnerOptions options;
      options.threads = where == nullptr ? 1 : 3, options.device = where;
      const auto runner = graph::Runner::create(program, options).value();
      const auto outputs = runner->run(inputs);
      ASSERT_TRUE(outputs) << outputs.error().text();
      std::vector<std::vector<std::byte>> bits;
      for (const Value& value : *outputs) bits.push_back(graph::bytes_of_value(value).value());
      if (wanted.empty()) wanted = bits;
      EXPECT_TRUE(wanted == bits);
    }
    EXPECT_GT(device->counters().dispatches, before);
    EXPECT_EQ(device->host_calls().calls, trips) << "each of their operations has a form";
    if (std::getenv("LOOM_GPU_FIGURES") != nullptr)
      std::printf("%s: %llu dispatches, %llu trips\n", path.c_str(),
                  static_cast<unsigned long long>(device->counters().dispatches - before),
                  static_cast<unsigned long long>(device->host_calls().calls - trips));
  }
}

// ---- what the planner does ----

TEST(Onnx, names_every_missing_operation_at_once) {  // F-42
  const auto result = run(model(node("Strange", {"x"}, "a") + node("Odd", {"a"}, "y") + input("x") + output("y")), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::Unsupported);
  EXPECT_EQ(result.error().message, "operations that Loom lacks: Odd, Strange");
}

TEST(Onnx, a_runner_plans_anew_for_other_shapes) {  // F-42
  const std::string file = model(node("Relu", {"x"}, "r") + node("Add", {"r", "r"}, "y") + input("x") + output("y"));
  const auto program = graph::Program::create(parse_onnx(bytes_of_text(file)).value()).value();
  const auto runner = graph::Runner::create(program, {.threads = 1}).value();
  for (const std::size_t n : {3u, 1u, 4u}) {
    const auto y = runner->run({{"x", numbers(std::vector<float>(n, 2.0f), {n})}});
    ASSERT_TRUE(y) << y.error().text();
    EXPECT_EQ((*y)[0].dims, graph::Dims{n});
    EXPECT_EQ((*y)[0].number(n - 1), 4.0);
  }
  EXPECT_EQ(runner->run({{"z", numbers({1}, {1})}}).error().code, Code::InvalidArgument);
  EXPECT_EQ(runner->run({}).error().code, Code::InvalidArgument);
}

// The shape that Reshape takes is known when the run is planned. The caller writes the next one into the same memory.
TEST(Onnx, inputs_are_read_where_they_lie_and_only_while_a_run_lasts) {  // F-42
  const std::string file = model(node("Reshape", {"x", "s"}, "y") + input("x") + input("s") + output("y"));
  const auto program = graph::Program::create(parse_onnx(bytes_of_text(file)).value()).value();
  const auto runner = graph::Runner::create(program, {.threads = 1}).value();
  float x[6] = {1, 2, 3, 4, 5, 6};
  std::int64_t shape[2] = {0, 0};
  const auto run_with = [&](std::int64_t rows, std::int64_t cols) {
    shape[0] = rows, shape[1] = cols;
    return runner->run({{"x", Value{.type = Type::f32, .dims = {6}, .data = x}},
                        {"s", Value{.type = Type::i64, .dims = {2}, .data = shape}}});
  };
  for (const std::size_t rows : {2u, 2u, 3u, 6u, 1u}) {
    x[5] += 1;
    const auto y = run_with(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(6 / rows));
    ASSERT_TRUE(y) << y.error().text();
    EXPECT_EQ((*y)[0].dims, (graph::Dims{rows, 6 / rows}));
    EXPECT_EQ((*y)[0].number(5), static_cast<double>(x[5]));
  }
}

TEST(Onnx, a_file_says_what_its_outputs_are) {  // F-42
  const auto parsed = onnx_cases::read_onnx(data_path("vad/silero_vad.onnx"));
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_EQ(parsed->body.output_infos.size(), 2u);
  EXPECT_EQ(parsed->body.output_infos[0].name, "output");
  EXPECT_EQ(parsed->body.output_infos[0].type, Type::f32);
  EXPECT_EQ(parsed->body.output_infos[0].dims, (std::vector<std::int64_t>{-1, 1}));
}

TEST(Onnx, external_data_stays_in_the_folder) {  // F-02
  const std::string folder = ::testing::TempDir() + "onnx_external/";
  std::filesystem::create_directories(folder);
  const auto with_place = [&](const std::string& location, const std::string& length) {
    const auto entry = [](const std::string& key, const std::string& value) {
      return part(13, part(1, key) + part(2, value));
    };
    return model(
        part(5, tensor("w", 1, {2},
                       entry("location", location) + entry("offset", "4") + entry("length", length) + whole(14, 1))) +
        node("Identity", {"w"}, "y") + output("y"));
  };
  ASSERT_TRUE(write_file_atomically(folder + "w.bin", bytes_of_text(floats({1, 2, 3}))));
  const auto good = parse_onnx(bytes_of_text(with_place("w.bin", "8")), {folder});
  ASSERT_TRUE(good) << good.error().text();
  EXPECT_EQ(good->body.constants[0].second.number(1), 3.0);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("w.bin", "8"))).error().code, Code::Unsupported);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("../w.bin", "8")), {folder}).error().code, Code::OutOfRange);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("/etc/passwd", "8")), {folder}).error().code, Code::OutOfRange);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("w.bin", "9")), {folder}).error().code, Code::CorruptData);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("w.bin", "18446744073709551615")), {folder}).error().code,
            Code::CorruptData);
  EXPECT_EQ(parse_onnx(bytes_of_text(with_place("w.bin", "x")), {folder}).error().code, Code::CorruptData);
  const auto dotted = parse_onnx(bytes_of_text(with_place("./w.bin", "8")), {folder});
  ASSERT_TRUE(dotted) << dotted.error().text();
  EXPECT_EQ(dotted->body.constants[0].second.number(1), 3.0);
  const auto strange = parse_onnx(
      bytes_of_text(
          model(part(5, tensor("w", 1, {2}, part(13, part(1, "shard") + part(2, "1")) + whole(14, 1))) + output("w"))),
      {folder});
  EXPECT_NE(strange.error().text().find("shard"), std::string::npos);
}

// The cache of huggingface_hub: a repository with its models in a folder of their own.
TEST(Onnx, external_data_is_a_blob_of_the_hubs_cache_at_any_depth) {  // F-02
  namespace fs = std::filesystem;
  const std::string hub = ::testing::TempDir() + "onnx_hub/";
  fs::remove_all(hub);
  fs::create_directories(hub + "blobs"), fs::create_directories(hub + "snapshots/abc/onnx");
  const std::string entry = part(13, part(1, "location") + part(2, "m.onnx_data")) + whole(14, 1);
  const std::string file = model(part(5, tensor("w", 1, {2}, entry)) + node("Identity", {"w"}, "y") + output("y"));
  ASSERT_TRUE(write_file_atomically(hub + "blobs/1", bytes_of_text(floats({11, 22}))));
  ASSERT_TRUE(write_file_atomically(hub + "blobs/2", bytes_of_text(file)));
  fs::create_symlink("../../../blobs/1", hub + "snapshots/abc/onnx/m.onnx_data");
  fs::create_symlink("../../../blobs/2", hub + "snapshots/abc/onnx/m.onnx");
  const auto read = onnx_cases::read_onnx(hub + "snapshots/abc/onnx/m.onnx");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->body.constants[0].second.number(1), 22.0);
  ASSERT_TRUE(write_file_atomically(hub + "secret", bytes_of_text(floats({1, 2}))));
  fs::remove(hub + "snapshots/abc/onnx/m.onnx_data");
  fs::create_symlink("../../../secret", hub + "snapshots/abc/onnx/m.onnx_data");
  EXPECT_EQ(onnx_cases::read_onnx(hub + "snapshots/abc/onnx/m.onnx").error().code, Code::OutOfRange);
}

// An initialiser that is an input too is a default.
TEST(Onnx, a_run_may_give_another_value_for_a_constant_that_is_an_input) {  // F-42
  const std::string file = model(part(5, tensor("w", 1, {2}, part(9, floats({1, 2})))) + node("Mul", {"w", "w"}, "v") +
                                 node("Add", {"x", "v"}, "y") + input("x") + input("w") + output("y"));
  const auto program = graph::Program::create(parse_onnx(bytes_of_text(file)).value()).value();
  ASSERT_EQ(program->inputs().size(), 1u);
  ASSERT_EQ(program->defaults().size(), 1u);
  const auto runner = graph::Runner::create(program, {.threads = 1}).value();
  const Value x = numbers({10, 20}, {2});
  const auto last_of = [&](std::vector<std::pair<std::string, Value>> inputs) {
    const auto y = runner->run(std::move(inputs));
    EXPECT_TRUE(y) << y.error().text();
    return y ? (*y)[0].number((*y)[0].elements() - 1) : 0.0;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(last_of({{"x", x}}), 24.0);
    EXPECT_EQ(last_of({{"x", x}, {"w", numbers({3, 4}, {2})}}), 36.0);
    EXPECT_EQ(last_of({{"x", x}, {"w", numbers({3, 5}, {2})}}), 45.0);
    EXPECT_EQ(last_of({{"x", x}, {"w", numbers({1}, {1})}}), 21.0) << "of another shape";
  }
  EXPECT_EQ(runner->run({{"w", x}}).error().code, Code::InvalidArgument) << "x is missing";
}

// numpy.logaddexp.reduce of each row (numpy 2.4); the largest element is subtracted first where exp() would overflow.
TEST(Onnx, the_logarithm_of_a_sum_of_exponentials_does_not_overflow) {  // F-42
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const struct {
    std::vector<float> row;
    double sum;
  } rows[] = {{{1000, 1000}, 1000.6931471805599},
              {{-1000, -1000}, -999.3068528194401},
              {{89, 0}, 89.0},
              {{-kInf, -1000}, -1000.0},
              {{-kInf, -kInf}, -kInf},
              {{kInf, 0}, kInf},
              {{-3e38f, -3e38f}, -3.0e38},
              {{3e38f, -3e38f}, 3.0e38},
              {{1, 2}, 2.313261687518223}};
  const std::string axes = part(5, tensor("a", 7, {1}, part(9, std::string("\1\0\0\0\0\0\0\0", 8))));
  const std::string file = model(axes + node("ReduceLogSumExp", {"x", "a"}, "y") + input("x") + output("y"), 18);
  for (const auto& row : rows) {
    const auto y = run(file, {{"x", numbers(row.row, {1, 2})}});
    ASSERT_TRUE(y) << y.error().text();
    if (std::isinf(row.sum))
      EXPECT_EQ((*y)[0].number(0), row.sum);
    else
      EXPECT_NEAR((*y)[0].number(0), row.sum, 1e-6 * std::abs(row.sum)) << row.row[0] << " " << row.row[1];
  }
}

// Names of choices that no operation knows would count as the default.
TEST(Onnx, texts_and_attributes_that_nothing_reads_are_refused_by_name) {  // F-02
  const auto text = [](const std::string& key, const std::string& value) {
    return part(5, part(1, key) + part(4, value) + whole(20, 3));
  };
  const auto error_of = [&](const std::string& op, const std::string& attribute, int opset = 17) {
    const auto y =
        run(parse_onnx(bytes_of_text(model(node(op, {"x"}, "y", attribute) + input("x") + output("y"), opset))).value(),
            {{"x", numbers({1, 2, 3, 4}, {1, 1, 2, 2})}});
    EXPECT_FALSE(y) << op;
    return y ? std::string() : y.error().text();
  };
  const std::string mode =
      error_of("SpaceToDepth", text("mode", "XYZ") + part(5, part(1, "blocksize") + whole(3, 2) + whole(20, 2)));
  EXPECT_NE(mode.find("expected one of DCR, CRD, got \"XYZ\""), std::string::npos) << mode;
  EXPECT_NE(error_of("Gelu", text("approximate", "tan"), 20).find("tan"), std::string::npos);
  // Gates: values that no activation reads, and an activation without the values that it reads.
  const auto gate_error = [&](const std::string& name, std::vector<float> alphas) {
    std::string attributes = part(5, part(1, "activations") + part(9, name) + whole(20, 8));
    if (!alphas.empty()) attributes += part(5, part(1, "activation_alpha") + part(7, floats(alphas)) + whole(20, 6));
    const std::string weight = part(5, tensor("w", 1, {1, 1, 1}, part(9, floats({1}))));
    const auto y = run(model(weight + node("RNN", {"x", "w", "w"}, "y", attributes) + input("x") + output("y")),
                       {{"x", numbers({1, 2}, {2, 1, 1})}});
    return y ? std::string() : y.error().text();
  };
  EXPECT_EQ(gate_error("LeakyRelu", {0.5f}), "");
  EXPECT_NE(gate_error("Tanh", {0.5f}).find("activation_alpha"), std::string::npos);
  EXPECT_NE(gate_error("ScaledTanh", {0.5f}).find("activation_beta"), std::string::npos);
  EXPECT_NE(gate_error("Strange", {}).find("Strange"), std::string::npos);
  const std::string bound = part(5, part(1, "max") + std::string("\x15\0\0\0\0", 5) + whole(20, 1));
  EXPECT_NE(error_of("Clip", bound, 11).find("\"max\" is an input from opset 11 on"), std::string::npos);
}

// ---- as an .entity ----

TEST(Onnx, an_entity_holds_the_graph_and_gives_its_bits) {  // F-42
  const std::string file = model(part(5, tensor("w", 1, {2, 2}, part(9, floats({1, 2, 3, 4})))) +
                                 node("MatMul", {"x", "w"}, "y") + input("x") + output("y"));
  const std::string path = ::testing::TempDir() + "graph.onnx", entity = ::testing::TempDir() + "graph.entity";
  ASSERT_TRUE(write_file_atomically(path, bytes_of_text(file)));
  ASSERT_TRUE(convert_onnx(path, entity));
  EXPECT_TRUE(holds(entity, FileKind::GraphEntity));
  EXPECT_EQ(parse_graph(bytes_of_file(entity)).value().body.nodes.size(), 1u);
  EXPECT_EQ(parse_graph(bytes_of_text(file)).value().body.nodes.size(), 1u);
  EXPECT_EQ(parse_graph(bytes_of_text("nothing")).error().code, Code::CorruptData);
  EXPECT_FALSE(holds(path, FileKind::GraphEntity));
  auto read = read_graph(entity);
  ASSERT_TRUE(read) << read.error().text();
  const auto y = run(std::move(*read), {{"x", numbers({1, 1}, {1, 2})}});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].number(1), 6.0);
  EXPECT_EQ(load_network(entity)->network.num_cells(), 1u) << "and it is a network of one cell";
  std::vector<std::byte> bytes = bytes_of_file(entity);
  bytes.back() ^= std::byte{1};
  ASSERT_TRUE(write_file_atomically(entity, bytes));
  EXPECT_EQ(read_graph(entity).error().code, Code::CorruptData);
}

TEST(Onnx, an_attribute_that_would_not_count_is_an_error) {  // F-42
  const auto error = [](const std::string& attribute, const char* output_name = "y") {
    const auto y = run(model(input("x") + node("Softmax", {"x"}, output_name, part(5, attribute)) + output("y")),
                       {{"x", numbers({1, 2}, {1, 2})}});
    return y ? std::string() : y.error().text();
  };
  EXPECT_EQ(error(part(1, "axis") + whole(3, 1) + whole(20, 2)), "");
  EXPECT_EQ(error(part(1, "axis_w") + whole(3, 1) + whole(20, 2)),
            "/nodes/0/attributes/axis_w: Softmax \"y\" knows no attribute \"axis_w\"; known: axis");
  EXPECT_EQ(error(part(1, "axis") + part(4, "1") + whole(20, 3)),
            "/nodes/0/attributes/axis: Softmax \"y\": attribute \"axis\": expected an integer (i), got a text (s)");
  EXPECT_EQ(error(part(1, "axis") + whole(3, 1) + whole(20, 2), "x"),
            "/nodes/0/outputs: Softmax \"x\" gives \"x\", which a node before it, an input or a constant gives");
}

// ---- damage ----

TEST(Onnx, survives_damage) {  // F-01
  const std::string body =
      part(5, tensor("w", 1, {2, 2}, part(9, floats({1, 2, 3, 4})))) + node("MatMul", {"x", "w"}, "m") +
      node("Softmax", {"m"}, "y", part(5, part(1, "axis") + whole(3, 1) + whole(20, 2))) + input("x") + output("y");
  const std::string file = model(body);
  const auto good = bytes_of_text(file);
  expect_survives_damage({good.begin(), good.end()}, file.size(), 64, [](Bytes bytes) {
    auto parsed = parse_onnx(bytes);
    if (!parsed) return false;
    static_cast<void>(run(std::move(*parsed), {{"x", numbers({1, 2}, {1, 2})}}));
    return true;
  });
}

TEST(Onnx, refuses_what_lies_about_sizes) {  // F-01
  const auto code = [](const std::string& body) { return parse_onnx(bytes_of_text(model(body))).error().code; };
  EXPECT_EQ(code(part(5, tensor("w", 1, {std::size_t{1} << 40, std::size_t{1} << 40}, part(9, "")))),
            Code::SizeOverflow);
  EXPECT_EQ(code(part(5, tensor("w", 1, {std::size_t{1} << 40}, part(9, "abcd")))), Code::CorruptData);
  EXPECT_EQ(code(part(5, tensor("w", 8, {1}, ""))), Code::Unsupported);
  EXPECT_EQ(parse_onnx(bytes_of_text(model("", 6))).error().code, Code::Unsupported);
  std::string deep = node("Relu", {"x"}, "y");
  for (int i = 0; i < 20; ++i)
    deep = node("If", {"x"}, "y", part(5, part(1, "then_branch") + part(6, deep) + whole(20, 5)));
  EXPECT_EQ(code(deep), Code::NestingTooDeep);
  EXPECT_FALSE(parse_onnx(bytes_of_text(std::string(20, '\xff'))));
  EXPECT_FALSE(parse_onnx({}));
}

// Shapes of a graph are untrusted too: what does not fit is an error before memory is taken.
TEST(Onnx, refuses_graphs_that_grow_without_bound) {  // F-01
  const std::string shape =
      part(5, tensor("s", 7, {2}, part(7, varint(std::uint64_t{1} << 30) + varint(std::uint64_t{1} << 30))));
  const auto huge = run(model(shape + node("ConstantOfShape", {"s"}, "y") + output("y")), {});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, Code::SizeOverflow);
  // A loop that never ends, with nothing in it.
  const std::string truth = part(5, tensor("t", 9, {}, whole(5, 1)));
  const std::string endless = part(5, part(1, "body") + part(6, input("i") + input("c") + output("c")) + whole(20, 5));
  const auto loop = run(
      model(truth + part(1, part(1, "") + part(1, "t") + part(2, "y") + part(4, "Loop") + endless) + output("y")), {});
  ASSERT_FALSE(loop);
}

}  // namespace
}  // namespace loom::onnx_test
