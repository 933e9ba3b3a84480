// Graphs as networks (engine 3.18): real models in a cell give the bits of their runner, files hold them, and a spec
// names the file of one.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/json.h"
#include "core/philox.h"
#include "io/network_file.h"
#include "io/network_tensors.h"
#include "io/onnx/graph_file.h"
#include "io/onnx/onnx_cases_test.h"
#include "graph/runner.h"
#include "network/session/network_session.h"
#include "support/divided.h"
#include "support/files.h"

namespace loom::graph_network_test {
namespace {

const std::string kPictures = test::data_path("onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
                  kBytes = test::data_path("onnx/magika_v3_3.onnx"), kIds = test::data_path("onnx/minilm_int8.onnx");

std::filesystem::path new_folder() {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "graph_network";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<float> drawn(const Shape& shape, std::uint64_t whole) {
  const RandomStream stream{11, RandomDomain::Noise, 0, random_site("graph")};
  std::vector<float> x(shape.elements());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = whole != 0 ? static_cast<float>(stream.below(i, whole)) : 2 * stream.uniform(i) - 1;
  return x;
}

std::vector<float> output_of(Network& network, const std::vector<float>& x, const Shape& shape, int threads = 1) {
  const auto session = NetworkSession::create(network, shape, {.threads = threads});
  EXPECT_TRUE(session) << session.error().text();
  const auto y = (*session)->forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>();
}

std::vector<float> run_of(const std::string& path, const std::vector<float>& x, const Shape& shape) {
  const auto program = graph::Program::create(onnx_cases::read_onnx(path).value()).value();
  graph::Value value =
      graph::Value::create(program->inputs()[0].type, {shape.extents().begin(), shape.extents().end()}).value();
  for (std::size_t i = 0; i < x.size(); ++i)
    graph::with_store(graph::store_of(value.type), [&]<class T>(T) { value.as<T>()[i] = static_cast<T>(x[i]); });
  const auto runner = graph::Runner::create(program, {.threads = 1}).value();
  const auto y = runner->run({{program->inputs()[0].name, value}});
  EXPECT_TRUE(y) << y.error().text();
  return y ? std::vector<float>((*y)[0].as<float>(), (*y)[0].as<float>() + (*y)[0].elements()) : std::vector<float>();
}

TEST(GraphNetwork, real_models_give_the_bits_of_their_runner_and_come_back_from_every_file) {  // L-170, L-173, F-04
  const struct {
    std::string path;
    Shape shape;
    std::uint64_t whole;
    std::size_t least_weights;
  } rows[] = {{kPictures, Shape::of({2, 3, 48, 96}), 0, 100'000}, {kBytes, Shape::of({3, 2048}), 257, 700'000}};
  const std::filesystem::path folder = new_folder();
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    auto loaded = load_network(row.path);
    ASSERT_TRUE(loaded) << loaded.error().text();
    Network& network = loaded->network;
    std::size_t weights = 0;
    network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
      weights += w.elements();
      EXPECT_TRUE(w.is_frozen());
    });
    EXPECT_GT(weights, row.least_weights);
    const std::vector<float> x = drawn(row.shape, row.whole), y = output_of(network, x, row.shape);
    EXPECT_EQ(y, run_of(row.path, x, row.shape));
    {
      const test::ExpectDivided divided(2);
      EXPECT_EQ(output_of(network, x, row.shape, 2), y);
    }
    const auto bytes = network_to_entity(network);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto again = network_from_entity(*bytes);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(output_of(again->network, x, row.shape), y);
    EXPECT_TRUE(network_to_entity(again->network).value() == *bytes) << "save(load(f)) = f";
    const std::string text = network_to_checkpoint(network).value();
    auto checkpoint = network_from_json(text);
    ASSERT_TRUE(checkpoint) << checkpoint.error().text();
    EXPECT_EQ(output_of(checkpoint->network, x, row.shape), y);
    EXPECT_TRUE(network_to_checkpoint(checkpoint->network).value() == text);
    const std::string tensors = (folder / "n.safetensors").string();
    ASSERT_TRUE(save_network_tensors(tensors, network));
    auto read = network_from_tensors(SafetensorsFile::open(tensors).value());
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(output_of(read->network, x, row.shape), y);
  }
}

TEST(GraphNetwork, a_spec_names_a_graph_in_its_folder) {  // L-171
  const std::filesystem::path folder = new_folder();
  test::write_all((folder / "m.onnx").string(), test::read_all(kPictures));
  const auto load = [&](const std::string& layer, const char* more = "") {
    test::write_all((folder / "net.json").string(), R"({"input_shape":[3,48,96],"layers":[)" + layer + more + "]}");
    return load_network((folder / "net.json").string());
  };
  const std::string named = R"({"type":"graph","graph":"m.onnx","output":"reshape2_0.tmp_0"})";
  auto features = load(named, R"(,{"type":"dense","input_height":200,"output_height":2})");
  ASSERT_TRUE(features) << features.error().text();
  const Shape shape = Shape::of({2, 3, 48, 96});
  EXPECT_EQ(output_of(features->network, drawn(shape, 0), shape).size(), 4u);
  EXPECT_EQ(features->plans.shape_after(0), Shape::of({1, 200}));
  // The written network does not depend on the file.
  ASSERT_TRUE(save_network((folder / "net.entity").string(), features->network));
  std::filesystem::remove(folder / "m.onnx");
  auto saved = load_network((folder / "net.entity").string());
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(output_of(saved->network, drawn(shape, 0), shape), output_of(features->network, drawn(shape, 0), shape));
  const std::pair<const char*, Code> refused[] = {{"m.onnx", Code::NotFound},
                                                  {"../m.onnx", Code::OutOfRange},
                                                  {"/etc/passwd", Code::OutOfRange},
                                                  {"net.json", Code::CorruptData}};
  for (const auto& [name, code] : refused) {
    const auto made = load(fmt::format(R"({{"type":"graph","graph":"{}"}})", name));
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, code) << made.error().text();
    EXPECT_NE(made.error().text().find("/layers/0/graph"), std::string::npos) << made.error().text();
  }
}

TEST(GraphNetwork, ids_go_into_an_encoder_with_its_other_inputs_fixed) {  // L-171
  const auto alone = load_network(kIds);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().text().find("the graph has 3 inputs, \"input_ids\""), std::string::npos)
      << alone.error().text();
  const std::size_t slash = kIds.find_last_of('/');
  auto made = network_from_json(R"({"layers":[{"type":"graph","graph":"minilm_int8.onnx","input":"input_ids",
    "fixed":{"attention_mask":1,"token_type_ids":0}}]})",
                                {.read_graph = graphs_in(kIds.substr(0, slash))});
  ASSERT_TRUE(made) << made.error().text();
  const Shape shape = Shape::of({2, 7});
  const std::vector<float> y = output_of(made->network, drawn(shape, 30000), shape);
  EXPECT_EQ(y.size(), std::size_t{2 * 7 * 384});
  EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isfinite(v); }));
}

TEST(GraphNetwork, changed_files_end_with_an_answer_or_an_error) {  // F-01
  const std::string good = test::read_all(kPictures);
  const RandomStream stream{5, RandomDomain::Noise, 0, random_site("changes")};
  const Shape shape = Shape::of({1, 3, 48, 48});
  const std::vector<float> x = drawn(shape, 0);
  std::size_t ran = 0;
  for (std::uint32_t n = 0; n < 60; ++n) {
    std::string changed = good;
    for (std::uint32_t k = 0; k < 4; ++k)
      changed[stream.below(8 * n + 2 * k, static_cast<std::uint32_t>(changed.size()))] =
          static_cast<char>(stream.below(8 * n + 2 * k + 1, 256));
    if (n % 10 == 9) changed.resize(changed.size() / 2);
    auto loaded = load_network(ByteSource::memory("changed", test::bytes_of(changed)));
    if (!loaded) continue;
    const auto session = NetworkSession::create(loaded->network, shape, {.threads = 1});
    if (session && (*session)->forward({x.data(), shape})) ++ran;
  }
  EXPECT_GT(ran, 10u);  // most bytes are weights
}

}  // namespace
}  // namespace loom::graph_network_test
