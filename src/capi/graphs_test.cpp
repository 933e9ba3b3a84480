// Graphs in loom.h: the answers of `loom run`, on memory of the caller.

#include <gtest/gtest.h>
#include <loom/loom.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "capi/capi_test.h"
#include "core/json.h"
#include "host/graph_run.h"
#include "io/onnx/graph_file.h"
#include "support/files.h"

namespace loom::capi_graphs_test {
namespace {

using test::sized;
using test::take;

loom_graph opened(const std::string& path) {
  loom_graph graph = 0;
  EXPECT_EQ(loom_graph_open(path.c_str(), nullptr, &graph), LOOM_OK) << loom_last_error();
  return graph;
}
loom_graph_session session_of(loom_graph graph, int threads = 1, loom_threads shared = 0) {
  auto options = sized<loom_compute_options>();
  options.thread_count = shared == 0 ? threads : 0, options.threads = shared;
  loom_graph_session session = 0;
  EXPECT_EQ(loom_graph_session_create(graph, &options, &session), LOOM_OK) << loom_last_error();
  return session;
}

// A tensor of a host.
struct Tensor {
  loom_element element;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};
template <class T>
Tensor tensor(loom_element element, std::vector<std::uint64_t> shape, const std::vector<T>& values) {
  return {element, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}
using Tensors = std::map<std::string, Tensor>;

loom_status bind(loom_graph_session session, const char* name, const Tensor& t) {
  loom_tensor given = test::tensor_of(t.bytes.data(), t.bytes.size(), t.shape.data(), t.shape.size());
  given.element = t.element;
  return loom_graph_session_bind(session, name, &given);
}
std::string hash_of(loom_graph_session session, const Tensors& inputs) {
  for (const auto& [name, t] : inputs) EXPECT_EQ(bind(session, name.c_str(), t), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_graph_session_run(session, 0), LOOM_OK) << loom_last_error();
  loom_blob hash = 0;
  EXPECT_EQ(loom_graph_session_hash(session, &hash), LOOM_OK) << loom_last_error();
  return take(hash);
}
Tensor output(loom_graph_session session, const char* name = nullptr) {
  Tensor out{};
  auto y = test::sized<loom_tensor>();
  EXPECT_EQ(loom_graph_session_output(session, name, &y), LOOM_OK) << loom_last_error();
  const std::size_t size = y.data_size;
  out.element = y.element;
  out.bytes.assign(static_cast<const char*>(y.data), size), out.shape.assign(y.shape, y.shape + y.shape_count);
  std::string copied(size, '?');
  EXPECT_EQ(loom_graph_session_copy_output(session, name, reinterpret_cast<std::uint8_t*>(copied.data()), size),
            LOOM_OK)
      << loom_last_error();
  EXPECT_EQ(copied, out.bytes);
  return out;
}

// Hash that `loom run` prints for the same tensors.
std::string hash_of_run(const std::string& path, const Tensors& inputs) {
  const test::TempFolder folder;
  GraphRunOptions options;
  options.runner.threads = 1;
  for (const auto& [name, t] : inputs) {
    const std::string file = folder / (name + ".npy");
    const auto value = graph::value_from_bytes(static_cast<graph::Type>(t.element), {t.shape.begin(), t.shape.end()},
                                               test::bytes_of(t.bytes));
    EXPECT_TRUE(value && write_value_npy(file, *value));
    options.inputs.push_back(name + "=" + file);
  }
  const auto result = run_graph_file(path, options);
  EXPECT_TRUE(result) << result.error().text();
  return result ? to_hex(result->digest) : "";
}

std::vector<float> wave(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int>(i * 7919 % 201) - 100) / 250.0f;
  return out;
}

struct Case {
  std::string path;
  Tensors inputs;
};
Case silero() {
  return {test::data_path("vad/silero_vad.onnx"),
          {{"input", tensor(LOOM_ELEMENT_FLOAT32, {1, 576}, wave(576))},
           {"state", tensor(LOOM_ELEMENT_FLOAT32, {2, 1, 128}, std::vector<float>(256))},
           {"sr", tensor<std::int64_t>(LOOM_ELEMENT_INT64, {}, {16000})}}};
}
Case minilm() {
  constexpr std::size_t kTexts = 4, kSteps = 48;  // enough that threads divide its products
  std::vector<std::int64_t> ids, ones(kTexts * kSteps, 1), zeros(kTexts * kSteps, 0);
  for (std::size_t i = 0; i < kTexts * kSteps; ++i) ids.push_back(static_cast<std::int64_t>(1000 + i * 7919 % 20000));
  return {test::data_path("onnx/minilm_int8.onnx"),
          {{"input_ids", tensor(LOOM_ELEMENT_INT64, {kTexts, kSteps}, ids)},
           {"attention_mask", tensor(LOOM_ELEMENT_INT64, {kTexts, kSteps}, ones)},
           {"token_type_ids", tensor(LOOM_ELEMENT_INT64, {kTexts, kSteps}, zeros)}}};
}

TEST(CapiGraphs, real_models_give_the_hash_of_loom_run_however_they_come) {  // F-42
  loom_threads shared = 0;
  ASSERT_EQ(loom_threads_create(2, &shared), LOOM_OK);
  for (const Case& c : {silero(), minilm()}) {
    SCOPED_TRACE(c.path);
    const std::string expected = hash_of_run(c.path, c.inputs);
    ASSERT_EQ(expected.size(), 64u);
    const test::TempFolder folder;
    const std::string entity = folder / "graph.entity", bytes = test::read_all(c.path);
    ASSERT_TRUE(convert_onnx(c.path, entity));
    loom_graph from_memory = 0;
    ASSERT_EQ(loom_graph_from_memory(bytes.data(), bytes.size(), nullptr, &from_memory), LOOM_OK) << loom_last_error();
    const std::string packed = test::read_all(entity);
    loom_graph packed_graph = 0;
    ASSERT_EQ(loom_graph_from_memory(packed.data(), packed.size(), nullptr, &packed_graph), LOOM_OK)
        << loom_last_error();
    bool alone = true;
    for (const loom_graph graph : {opened(c.path), opened(entity), from_memory, packed_graph}) {
      const loom_graph_session session = alone ? session_of(graph, 1) : session_of(graph, 0, shared);
      ASSERT_EQ(loom_release(graph), LOOM_OK);  // its session keeps it
      EXPECT_EQ(hash_of(session, c.inputs), expected);
      EXPECT_EQ(hash_of(session, c.inputs), expected);  // and again
      EXPECT_EQ(loom_release(session), LOOM_OK);
      alone = !alone;
    }
  }
  EXPECT_EQ(loom_release(shared), LOOM_OK);
}

TEST(CapiGraphs, a_graph_says_what_goes_in_and_what_comes_out) {  // F-42
  const loom_graph graph = opened(silero().path);
  loom_blob blob = 0;
  ASSERT_EQ(loom_graph_info(graph, &blob), LOOM_OK);
  const Json info = parse_json(take(blob)).value();
  EXPECT_EQ(info["inputs"][0].dump(), R"({"name":"input","type":"float32","shape":["?","?"]})");
  EXPECT_EQ(info["inputs"][2].dump(), R"({"name":"sr","type":"int64","shape":[]})");
  EXPECT_EQ(info["outputs"][0].dump(), R"({"name":"output","type":"float32","shape":["?",1]})");
  EXPECT_EQ(info["outputs"][1]["name"], "stateN");
  EXPECT_EQ(info["operations"]["LSTM"], 4);
  EXPECT_EQ(loom_release(graph), LOOM_OK);
}

// A host that keeps one buffer: bound once, filled again for every run, read back into its own memory.
TEST(CapiGraphs, bound_memory_is_read_by_every_run) {  // F-42
  const Case c = silero();
  const loom_graph graph = opened(c.path);
  const loom_graph_session session = session_of(graph), other = session_of(graph);
  Tensors inputs = c.inputs;
  ASSERT_EQ(hash_of(session, inputs), hash_of_run(c.path, inputs));
  const std::string voice = output(session, "output").bytes;
  const Tensor state = output(session, "stateN");
  EXPECT_EQ(state.shape, (std::vector<std::uint64_t>{2, 1, 128}));
  inputs["state"].bytes.replace(0, state.bytes.size(), state.bytes);  // in place: what is bound is this memory
  ASSERT_EQ(loom_graph_session_run(session, 0), LOOM_OK) << loom_last_error();
  EXPECT_NE(output(session, "output").bytes, voice);
  Tensors again = inputs;
  EXPECT_EQ(hash_of(other, again), hash_of_run(c.path, inputs));
  for (const loom_handle handle : {session, other, graph}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

TEST(CapiGraphs, what_is_wrong_is_named_and_leaves_the_session_usable) {  // F-42
  const Case c = silero();
  const loom_graph graph = opened(c.path);
  const loom_graph_session session = session_of(graph);
  loom_blob hash = 0;
  auto y = test::sized<loom_tensor>();
  const auto ask = [&](const char* name) { return loom_graph_session_output(session, name, &y); };
  EXPECT_EQ(ask("output"), LOOM_INVALID_STATE);
  EXPECT_EQ(loom_graph_session_hash(session, &hash), LOOM_INVALID_STATE);
  EXPECT_EQ(loom_graph_session_run(session, 0), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "nothing is bound to the input \"input\"");
  for (const char* const name : {static_cast<const char*>(nullptr), "sound"})
    EXPECT_EQ(bind(session, name, c.inputs.at("input")), LOOM_INVALID_ARGUMENT) << loom_last_error();
  Tensor wrong = c.inputs.at("input");
  wrong.shape = {1, 577};
  EXPECT_EQ(bind(session, "input", wrong), LOOM_SHAPE_MISMATCH) << loom_last_error();
  wrong.shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  EXPECT_EQ(bind(session, "input", wrong), LOOM_SIZE_OVERFLOW) << loom_last_error();
  wrong.shape = {1, 576};
  for (const loom_element none : {LOOM_ELEMENT_NONE, 8, 17 + 1, 23, -1}) {
    wrong.element = none;
    EXPECT_EQ(bind(session, "input", wrong), LOOM_INVALID_ARGUMENT) << none;
  }
  const std::string expected = hash_of(session, c.inputs);
  wrong = tensor(LOOM_ELEMENT_FLOAT64, {1, 576}, std::vector<double>(576));
  ASSERT_EQ(bind(session, "input", wrong), LOOM_OK);
  EXPECT_EQ(loom_graph_session_run(session, 0), LOOM_INVALID_ARGUMENT) << loom_last_error();
  wrong = tensor(LOOM_ELEMENT_FLOAT32, {2, 1, 64}, std::vector<float>(128));
  ASSERT_EQ(bind(session, "state", wrong), LOOM_OK);
  EXPECT_NE(loom_graph_session_run(session, 0), LOOM_OK);
  ASSERT_EQ(loom_graph_session_unbind(session), LOOM_OK);
  EXPECT_EQ(loom_graph_session_run(session, 0), LOOM_INVALID_ARGUMENT);

  loom_cancel cancel = 0;
  ASSERT_EQ(loom_cancel_create(&cancel), LOOM_OK);
  ASSERT_EQ(loom_cancel_set(cancel, 1), LOOM_OK);
  for (const auto& [name, t] : c.inputs) ASSERT_EQ(bind(session, name.c_str(), t), LOOM_OK);
  EXPECT_EQ(loom_graph_session_run(session, cancel), LOOM_CANCELLED);
  EXPECT_EQ(hash_of(session, c.inputs), expected);
  EXPECT_EQ(ask(nullptr), LOOM_INVALID_ARGUMENT);
  EXPECT_STREQ(loom_last_error(), "the graph has 2 outputs: expected the name of one");
  std::uint8_t small[3];
  EXPECT_EQ(loom_graph_session_copy_output(session, "output", small, 3), LOOM_SHAPE_MISMATCH);

  auto options = sized<loom_graph_options>();
  options.max_bytes = 4096;
  loom_graph little = 0;
  ASSERT_EQ(loom_graph_open(c.path.c_str(), &options, &little), LOOM_OK);
  const loom_graph_session narrow = session_of(little);
  for (const auto& [name, t] : c.inputs) ASSERT_EQ(bind(narrow, name.c_str(), t), LOOM_OK);
  EXPECT_EQ(loom_graph_session_run(narrow, 0), LOOM_SIZE_OVERFLOW) << loom_last_error();
  loom_graph none = 0;
  EXPECT_EQ(loom_graph_open("nowhere.onnx", nullptr, &none), LOOM_NOT_FOUND);
  EXPECT_EQ(loom_graph_from_memory("nothing", 7, nullptr, &none), LOOM_CORRUPT_DATA);
  for (const loom_handle handle : {narrow, little, cancel, session, graph}) EXPECT_EQ(loom_release(handle), LOOM_OK);
}

// ---- a message by hand: y = Cast(x) ----

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
std::string cast_to(loom_element element) {
  const std::string attribute = part(5, part(1, "to") + whole(3, static_cast<std::uint64_t>(element)) + whole(20, 2));
  const std::string node = part(1, part(1, "x") + part(2, "y") + part(4, "Cast") + attribute);
  return part(7, node + part(11, part(1, "x")) + part(12, part(1, "y"))) + part(8, whole(2, 17));
}

TEST(CapiGraphs, tensors_of_every_type_go_in_and_come_out_as_they_lie) {  // F-42
  const std::map<loom_element, Tensor> tensors = {
      {LOOM_ELEMENT_FLOAT32, tensor<float>(LOOM_ELEMENT_FLOAT32, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_FLOAT64, tensor<double>(LOOM_ELEMENT_FLOAT64, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_FLOAT16, tensor<std::uint16_t>(LOOM_ELEMENT_FLOAT16, {2, 2}, {0, 0x3c00, 0x4000, 0x4200})},
      {LOOM_ELEMENT_BFLOAT16, tensor<std::uint16_t>(LOOM_ELEMENT_BFLOAT16, {2, 2}, {0, 0x3f80, 0x4000, 0x4040})},
      {LOOM_ELEMENT_INT8, tensor<std::int8_t>(LOOM_ELEMENT_INT8, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_UINT8, tensor<std::uint8_t>(LOOM_ELEMENT_UINT8, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_INT16, tensor<std::int16_t>(LOOM_ELEMENT_INT16, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_UINT16, tensor<std::uint16_t>(LOOM_ELEMENT_UINT16, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_INT32, tensor<std::int32_t>(LOOM_ELEMENT_INT32, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_UINT32, tensor<std::uint32_t>(LOOM_ELEMENT_UINT32, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_INT64, tensor<std::int64_t>(LOOM_ELEMENT_INT64, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_UINT64, tensor<std::uint64_t>(LOOM_ELEMENT_UINT64, {2, 2}, {0, 1, 2, 3})},
      {LOOM_ELEMENT_BOOL, tensor<std::uint8_t>(LOOM_ELEMENT_BOOL, {2, 2}, {0, 1, 1, 1})}};
  for (const auto& [to, expected] : tensors) {
    const std::string bytes = cast_to(to);
    loom_graph graph = 0;
    ASSERT_EQ(loom_graph_from_memory(bytes.data(), bytes.size(), nullptr, &graph), LOOM_OK) << loom_last_error();
    const loom_graph_session session = session_of(graph);
    for (const auto& [from, given] : tensors) {
      if (from == LOOM_ELEMENT_BOOL && to != from) continue;  // 3 is no bool
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      std::string shifted = "?" + given.bytes;  // memory that is not aligned
      for (const char* const data : {given.bytes.data(), static_cast<const char*>(shifted.data()) + 1}) {
        loom_tensor x = test::tensor_of(data, given.bytes.size(), given.shape.data(), given.shape.size());
        x.element = given.element;
        ASSERT_EQ(loom_graph_session_bind(session, nullptr, &x), LOOM_OK) << loom_last_error();
        ASSERT_EQ(loom_graph_session_run(session, 0), LOOM_OK) << loom_last_error();
        const Tensor got = output(session);
        EXPECT_EQ(got.element, to);
        EXPECT_EQ(got.shape, expected.shape);
        EXPECT_EQ(got.bytes, expected.bytes);
      }
    }
    EXPECT_EQ(loom_release(session), LOOM_OK);
    EXPECT_EQ(loom_release(graph), LOOM_OK);
  }
}

}  // namespace
}  // namespace loom::capi_graphs_test
