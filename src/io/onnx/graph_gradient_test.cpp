// Backward through networks that PyTorch exported (tests/golden/onnx/gradients.json, tools/golden/graph_gradients.py),
// and files of what was trained.

#include <cmath>

#include "io/network_file.h"
#include "io/onnx/onnx.h"
#include "layers/golden_test.h"
#include "network/spec/clone.h"

namespace loom::graph_gradient_test {
namespace {

Network network_of(const Json& golden, const std::string& keys = R"(,"train_weights":["*"])") {
  const auto bytes = base64_decode(*as_string(golden["onnx"])).value();
  auto made = network_from_json(R"({"layers":[{"type":"graph","graph":"model.onnx")" + keys + "}]}",
                                {.read_graph = [&](const std::string&) { return parse_onnx(bytes); }});
  EXPECT_TRUE(made) << made.error().text();
  return std::move(made->network);
}

struct Passed {
  std::vector<float> y, dx;
  std::map<std::string, std::vector<float>> grads;
};

Passed pass(Network& network, const Json& golden, int threads = 1) {
  const GoldenTensor x = golden_tensor(golden["x"]), dy = golden_tensor(golden["dy"]);
  const std::vector<float> in(x.values.begin(), x.values.end()), out(dy.values.begin(), dy.values.end());
  const auto session =
      NetworkSession::create(network, x.shape, {.threads = threads, .backward = true, .batches = true}).value();
  const auto y = session->forward({in.data(), x.shape});
  EXPECT_TRUE(y) << y.error().text();
  if (!y) return {};
  Passed passed;
  passed.y.assign(y->as(), y->as() + y->shape.elements());
  const auto dx = session->backward({out.data(), y->shape});
  EXPECT_TRUE(dx) << dx.error().text();
  if (!dx) return passed;
  passed.dx.assign(dx->as(), dx->as() + dx->shape.elements());
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    const auto* const g = static_cast<const float*>(session->gradients().of(w));
    if (g != nullptr) passed.grads[w.name()].assign(g, g + w.elements());
  });
  return passed;
}

void expect_near(const std::vector<float>& got, const GoldenTensor& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.values.size()) << what;
  double largest = 0;
  for (const double v : expected.values) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), expected.values[i], 1e-5 * largest) << what << " " << i;
}

Json goldens() { return golden_file(test::source_path("tests/golden/onnx/gradients.json")); }

TEST(GraphGradients, MatchPyTorch) {
  const Json file = goldens();
  for (const Json& golden : file["cases"]) {
    SCOPED_TRACE(*as_string(golden["name"]));
    Network network = network_of(golden);
    const Passed passed = pass(network, golden);
    expect_near(passed.y, golden_tensor(golden["y"]), "y");
    expect_near(passed.dx, golden_tensor(golden["dx"]), "dx");
    std::size_t compared = 0;
    for (const auto& [name, tensor] : golden["grads"].items()) {
      ASSERT_TRUE(passed.grads.contains(name)) << name;
      expect_near(passed.grads.at(name), golden_tensor(tensor), name);
      ++compared;
    }
    EXPECT_EQ(compared, passed.grads.size()) << "a gradient of what is no parameter";
    for (const int threads : {2, 7}) {
      const Passed again = pass(network, golden, threads);
      EXPECT_EQ(again.dx, passed.dx) << threads;
      EXPECT_EQ(again.grads, passed.grads) << threads;
    }
  }
}

// Weights that are left frozen take no part; the gradients of the others are the same.
TEST(GraphGradients, SomeWeightsAreTrained) {
  const Json file = goldens();
  const Json& golden = file["cases"][0];
  Network whole = network_of(golden), part = network_of(golden, R"(,"train_weights":["head.weight","head.bias"])"),
          frozen = network_of(golden, "");
  const Passed all = pass(whole, golden), head = pass(part, golden);
  ASSERT_EQ(head.grads.size(), 2u);
  for (const auto& [name, g] : head.grads) EXPECT_EQ(g, all.grads.at(name)) << name;
  EXPECT_EQ(head.dx, all.dx);
  EXPECT_TRUE(pass(frozen, golden).grads.empty());
}

TEST(GraphGradients, TrainedGraphsComeBackFromFilesAndCopies) {
  const Json file = goldens();
  for (const Json& golden : file["cases"]) {
    Network network = network_of(golden);
    const Passed first = pass(network, golden);
    network.visit_weights([&](const std::string&, Weight& w, const Layer&) {
      if (w.is_frozen()) return;
      std::vector<float> values(w.elements());
      w.decode(0, values.size(), values.data());
      const std::vector<float>& g = first.grads.at(w.name());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.1f * g[i];
      EXPECT_TRUE(w.set(std::span<const float>(values)));
    });
    const Passed moved = pass(network, golden);
    EXPECT_NE(moved.y, first.y);
    auto again = network_from_entity(network_to_entity(network).value());
    ASSERT_TRUE(again) << again.error().text();
    auto copy = clone_network(network);
    ASSERT_TRUE(copy) << copy.error().text();
    for (Network* const other : {&again->network, &*copy}) {
      const Passed same = pass(*other, golden);
      EXPECT_EQ(same.y, moved.y);
      EXPECT_EQ(same.grads, moved.grads);
    }
  }
}

}  // namespace
}  // namespace loom::graph_gradient_test
