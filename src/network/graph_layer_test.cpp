// The kind `graph` (engine 3.18): graphs of operations in cells of a network, beside other kinds.

#include "layers/graph/graph_layer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "core/json.h"
#include "network/spec/clone.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "network/mesh/step_mesh.h"
#include "support/divided.h"
#include "support/gpu.h"
#include "support/network.h"
#include "support/null_device.h"

namespace loom::graph_layer_test {
namespace {

using test::read;
using test::seeded;

// y = sigmoid(x W + b) * x W + b, which no chain of kinds says in one layer.
std::string gated(int in, int out, const std::string& more = "") {
  return fmt::format(R"({{"type":"graph"{},"graph":{{"opset":17,
    "inputs":[{{"name":"x","type":"float32","shape":[-1,{}]}}],"outputs":["y"],
    "constants":[{{"name":"w","type":"float32","shape":[{},{}]}},{{"name":"b","type":"float32","shape":[{}]}}],
    "nodes":[{{"op":"MatMul","inputs":["x","w"],"outputs":["m"]}},{{"op":"Add","inputs":["m","b"],"outputs":["s"]}},
             {{"op":"Sigmoid","inputs":["s"],"outputs":["g"]}},{{"op":"Mul","inputs":["g","s"],"outputs":["y"]}}]}}}})",
                     more, in, in, out, out);
}
std::string dense(int in, int out, const std::string& more = "") {
  return fmt::format(R"({{"type":"dense","input_height":{},"output_height":{},"bias":true{}}})", in, out, more);
}
std::string list_of(std::initializer_list<std::string> layers, const std::string& more = "") {
  std::string list;
  for (const std::string& l : layers) list += (list.empty() ? "" : ",") + l;
  return R"({"seed":7,)" + more + R"("layers":[)" + list + "]}";
}
// One node between "x" and "y", with constants.
std::string one_node(const std::string& node, const std::string& constants = "", const std::string& shape = "",
                     const std::string& more = "") {
  return fmt::format(R"({{"type":"graph"{},"graph":{{"inputs":[{{"name":"x","type":"float32"{}}}],"outputs":["y"],
    "constants":[{}],"nodes":[{}]}}}})",
                     more, shape.empty() ? "" : R"(,"shape":)" + shape, constants, node);
}

std::vector<float> output_of(const Network& network, const std::vector<float>& x, const Shape& shape,
                             const NetworkSessionOptions& options = {.threads = 1}) {
  const auto session = NetworkSession::create(network, shape, options);
  EXPECT_TRUE(session) << session.error().text();
  if (!session) return {};
  const auto y = (*session)->forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>();
}

Network prepared(const std::string& spec, const Shape& shape) {
  Network network = read(spec);
  const auto plan = ForwardPlan::create(network, shape);
  EXPECT_TRUE(plan) << plan.error().text();
  return network;
}

TEST(Graph, a_graph_in_a_cell_gives_what_its_operations_say) {  // L-170
  const Shape shape = Shape::of({3, 5});
  const Network network = prepared(list_of({gated(5, 4)}), shape);
  std::vector<float> w, b, x = seeded<float>("x", 15);
  network.visit_weights([&](const std::string& path, const Weight& weight, const Layer&) {
    std::vector<float>& to = path == "layers.0.w" ? w : b;
    to.resize(weight.elements());
    weight.decode(0, to.size(), to.data());
    EXPECT_TRUE(weight.is_frozen()) << path;
  });
  ASSERT_EQ(w.size(), 20u);
  ASSERT_EQ(b.size(), 4u);
  const std::vector<float> y = output_of(network, x, shape);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t o = 0; o < 4; ++o) {
      double s = static_cast<double>(b[o]);
      for (std::size_t i = 0; i < 5; ++i) s += static_cast<double>(x[r * 5 + i]) * static_cast<double>(w[i * 4 + o]);
      EXPECT_NEAR(y[r * 4 + o], s / (1 + std::exp(-s)), 1e-6);
    }
}

// Every target and number of threads, on a tensor that threads divide.
TEST(Graph, the_same_bits_on_every_target_and_by_any_number_of_threads) {  // L-170, N-01
  const Shape shape = Shape::of({160, 257});
  const Network network = prepared(list_of({gated(257, 300)}), shape);
  const std::vector<float> x = seeded<float>("wide", shape.elements());
  const std::vector<float> once = output_of(network, x, shape);
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3}) {
      const test::ExpectDivided divided(threads);
      EXPECT_EQ(output_of(network, x, shape, {.threads = threads, .isa = isa}), once) << name(isa) << " " << threads;
    }
}

TEST(Graph, sessions_share_a_graph_and_its_plans) {  // L-170
  const Shape shape = Shape::of({4, 5});
  const Network network = prepared(list_of({gated(5, 4)}), shape);
  const std::vector<float> x = seeded<float>("x", 20), once = output_of(network, x, shape);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
      for (std::size_t n = 0; n < 60; ++n) {  // more shapes than a layer keeps plans for
        const std::size_t rows = 1 + (n + static_cast<std::size_t>(t)) % 4 + 10 * (n % 5);
        std::vector<float> some;
        while (some.size() < rows * 5) some.insert(some.end(), x.begin(), x.end());
        const auto y = session->forward({some.data(), Shape::of({rows, 5})});
        if (!y || !std::equal(y->as(), y->as() + 4, once.begin())) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Graph, a_fixed_first_axis_runs_sample_by_sample) {  // L-170
  // The softmax over all numbers of a call shows that samples do not meet.
  const std::string spec = list_of({one_node(R"({"op":"Softmax","inputs":["x"],"outputs":["y"]})", "", "[1,4]")});
  const Shape one = Shape::of({1, 4}), three = Shape::of({3, 4});
  const std::vector<float> x = seeded<float>("x", 12);
  const std::vector<float> all = output_of(prepared(spec, three), x, three);
  for (std::size_t r = 0; r < 3; ++r) {
    const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(4 * r),
                                 x.begin() + static_cast<std::ptrdiff_t>(4 * r + 4));
    const std::vector<float> alone = output_of(prepared(spec, one), row, one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + static_cast<std::ptrdiff_t>(4 * r)));
  }
}

TEST(Graph, tensors_keep_the_types_of_the_graph_whatever_the_network_computes_in) {  // L-171
  // ids -> rows of a table, as a float; in f64 the table is still f32
  const std::string ids = R"({"type":"graph","graph":{"inputs":[{"name":"i","type":"int64","shape":[-1,-1]}],
    "outputs":["y"],"constants":[{"name":"t","type":"float32","shape":[7,3]}],
    "nodes":[{"op":"Gather","inputs":["t","i"],"outputs":["y"]}]}})";
  const Shape shape = Shape::of({1, 3});
  const Network narrow = prepared(list_of({ids}), shape);
  const std::vector<float> y = output_of(narrow, {6, 0, 6.75f}, shape);
  ASSERT_EQ(y.size(), 9u);
  EXPECT_TRUE(std::equal(y.begin(), y.begin() + 3, y.begin() + 6)) << "cut towards zero";
  const Network wide = prepared(list_of({ids}, R"("activations":"float64",)"), shape);
  const auto session = NetworkSession::create(wide, shape, {.threads = 1}).value();
  const double x[] = {6, 0, 6.75};
  const auto z = session->forward({x, shape, Element::f64});
  ASSERT_TRUE(z) << z.error().text();
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(z->as<double>()[i], static_cast<double>(y[i]));
  // a whole number comes out
  const Network argmax = prepared(
      list_of({one_node(
          R"({"op":"ArgMax","inputs":["x"],"outputs":["y"],"attributes":{"axis":{"i":1},"keepdims":{"i":0}}})")}),
      Shape::of({2, 3}));
  EXPECT_EQ(output_of(argmax, {1, 5, 2, 9, 0, 0}, Shape::of({2, 3})), (std::vector<float>{1, 0}));
}

TEST(Graph, other_inputs_are_fixed_and_an_output_is_chosen) {  // L-171
  const auto spec = [](const std::string& keys) {
    return R"({"type":"graph",)" + keys + R"("graph":{"inputs":[{"name":"a","type":"float32","shape":[-1,2]},
      {"name":"b","type":"float32","shape":[-1,2]},{"name":"n","type":"int64","shape":[]}],"outputs":["p","q"],"nodes":[
      {"op":"Cast","inputs":["n"],"outputs":["f"],"attributes":{"to":{"i":1}}},
      {"op":"Mul","inputs":["a","b"],"outputs":["p"]},{"op":"Add","inputs":["p","f"],"outputs":["q"]}]}})";
  };
  const Shape shape = Shape::of({2, 2});
  const std::vector<float> x{1, 2, 3, 4};
  EXPECT_EQ(output_of(prepared(list_of({spec(R"("input":"a","output":"q","fixed":{"b":2,"n":5},)")}), shape), x, shape),
            (std::vector<float>{7, 9, 11, 13}));
  EXPECT_EQ(output_of(prepared(list_of({spec(R"("output":"p","fixed":{"a":[[1,0]],"n":5},)")}), shape), x, shape),
            (std::vector<float>{1, 0, 3, 0}));
  const std::pair<std::string, std::string> refused[] = {
      {"", "/layers/0/input: the graph has 3 inputs, \"a\", \"b\", \"n\""},
      {R"("input":"a","output":"q",)", "/layers/0/fixed: the graph's inputs \"b\", \"n\" have no values beside \"a\""},
      {R"("input":"a","output":"a","fixed":{"b":2,"n":5},)", "/layers/0/output: \"a\", one of"},
      {R"("input":"a","fixed":{"b":2,"n":5},)", "/layers/0/output: \"\", one of \"p\", \"q\" expected"},
      {R"("fixed":{"b":2,"n":5,"z":1},"output":"q",)", "/layers/0/fixed/z: the graph has no input of this name"},
      {R"("fixed":[1],"output":"q",)", "/layers/0/fixed: expected an object of values, got [1]"},
      {R"("input":"z","fixed":{"b":2,"n":5},"output":"q",)", "/layers/0/input: \"z\", one of \"a\" expected"},
      {R"("input":"a","fixed":{"b":"x","n":5},"output":"q",)", "/fixed/b: expected a number"}};
  for (const auto& [keys, message] : refused) {
    auto made = network_from_json(list_of({spec(keys)}, R"("input_shape":[2],)"));
    ASSERT_FALSE(made) << keys;
    EXPECT_NE(made.error().text().find(message), std::string::npos) << made.error().text();
  }
}

// A feature extractor: it returns the output of a node in the middle, without the weights of later nodes.
TEST(Graph, a_value_inside_comes_out_and_the_rest_of_the_graph_goes) {  // L-171
  std::string spec = gated(5, 4);
  spec.replace(spec.find(R"("nodes":[)"), 9, R"("nodes":[{"op":"MatMul","inputs":["y","v"],"outputs":["z"]},)");
  EXPECT_FALSE(network_from_json(list_of({spec}))) << "before y there is none";
  spec = gated(5, 4, R"(,"output":"m")");
  const Network network = prepared(list_of({spec}), Shape::of({3, 5}));
  std::vector<std::string> weights;
  network.visit_weights([&](const std::string& path, const Weight&, const Layer&) { weights.push_back(path); });
  EXPECT_EQ(weights, std::vector<std::string>{"layers.0.w"});
  EXPECT_EQ(network_to_json(network)["layers"][0]["graph"]["nodes"].size(), 4u) << "the spec keeps them";
}

// L-172
TEST(Graph, CellsAfterAGraphLearnAndThoseBeforeItDo) {
  const Shape shape = Shape::of({6, 5});
  const std::vector<float> x = seeded<float>("x", 30), dy = seeded<float>("dy", 18);
  const NetworkSessionOptions learns{.threads = 1, .backward = true, .input_gradient = false};
  const auto gradient = [&](const Network& network, const std::vector<float>& input, const Shape& in,
                            std::string_view path) {
    const auto session = NetworkSession::create(network, in, learns);
    EXPECT_TRUE(session) << session.error().text();
    const auto y = (*session)->forward({input.data(), in});
    EXPECT_TRUE(y) << y.error().text();
    const auto dx = (*session)->backward({dy.data(), y->shape});
    EXPECT_TRUE(dx) << dx.error().text();
    std::vector<float> g;
    network.visit_weights([&](const std::string& place, const Weight& w, const Layer&) {
      const auto* from = static_cast<const float*>((*session)->gradients().of(w));
      EXPECT_EQ(from == nullptr, w.is_frozen()) << place;
      if (place == path && from != nullptr) g.assign(from, from + w.elements());
    });
    return g;
  };
  // The head's gradient is that of a network of the head alone, fed with what the graph gives.
  const Network both = prepared(list_of({gated(5, 4), dense(4, 3)}), shape),
                front = prepared(list_of({gated(5, 4)}), shape);
  Network head = prepared(list_of({R"({"type":"reshape"})", dense(4, 3)}), Shape::of({6, 4}));
  const auto g = gradient(both, x, shape, "layers.1.weight");
  ASSERT_EQ(g.size(), 12u);
  EXPECT_EQ(g, gradient(head, output_of(front, x, shape), Shape::of({6, 4}), "layers.1.weight"));
  // A layer without weights may precede the graph.
  const Network reshaped = prepared(list_of({R"({"type":"reshape","shape":[5]})", gated(5, 4), dense(4, 3)}), shape);
  EXPECT_EQ(gradient(reshaped, x, shape, "layers.2.weight").size(), 12u);
  // A layer that learns may precede it too: the gradient passes through the graph, whose weights do not change.
  const Network before = prepared(list_of({dense(5, 5), gated(5, 4), dense(4, 3)}), shape);
  const auto through = gradient(before, x, shape, "layers.0.weight");
  EXPECT_TRUE(std::ranges::any_of(through, [](float v) { return v != 0; }));
  before.visit_weights([](const std::string& path, Weight& w, const Layer&) {
    if (path.starts_with("layers.0.")) w.freeze(true);
  });
  EXPECT_EQ(gradient(before, x, shape, "layers.2.weight").size(), 12u);
  // There is a gradient of the input too, and one inside a container.
  EXPECT_TRUE(NetworkSession::create(both, shape, {.threads = 1, .backward = true}).value()->prepare(shape));
  const Network inside = prepared(
      list_of({R"({"type":"sequential","sequential_layers":[)" + dense(5, 5) + "," + gated(5, 3) + "]}"}), shape);
  EXPECT_EQ(gradient(inside, x, shape, "layers.0.sequential_layers.0.weight").size(), 25u);
  // Not through an operation that carries none, which is said before the first step.
  const Network sorted =
      prepared(list_of({dense(5, 5), one_node(R"({"op":"CumSum","name":"c","inputs":["x","a"],"outputs":["y"]})",
                                              R"({"name":"a","type":"int64","shape":[],"values":[1]})", "[-1,5]")}),
               shape);
  const auto refused = NetworkSession::create(sorted, shape, learns).value()->prepare(shape);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unsupported);
  EXPECT_EQ(refused.error().text(), "/layers/1: no gradient passes through CumSum \"c\"");
}

constexpr const char* kAll = R"(,"train_weights":["*"])";

// Gradients of a network after passes over parts of a batch.
std::map<std::string, std::vector<float>> learned(const Network& network, const std::vector<float>& x,
                                                  const Shape& sample, const std::vector<float>& dy,
                                                  const std::vector<std::size_t>& parts, int threads = 1) {
  const NetworkSessionOptions options{.threads = threads, .backward = true, .input_gradient = false, .batches = true};
  const auto session = NetworkSession::create(network, Network::with_batch(sample, 1), options).value();
  std::size_t first = 0, outputs = 0;
  for (const std::size_t part : parts) {
    std::vector<std::size_t> extents{part};
    extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
    const auto y = session->forward({x.data() + first * sample.elements(), Shape::create(extents).value()});
    EXPECT_TRUE(y) << y.error().text();
    if (!y) return {};
    outputs = y->shape.elements() / part;
    const auto dx = session->backward({dy.data() + first * outputs, y->shape});
    EXPECT_TRUE(dx) << dx.error().text();
    first += part;
  }
  std::map<std::string, std::vector<float>> out;
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    const auto* from = static_cast<const float*>(session->gradients().of(w));
    if (from != nullptr) out[path].assign(from, from + w.elements());
  });
  return out;
}

// x W + b: what a dense layer of the same numbers learns, in its bits.
TEST(Graph, TrainedWeightsGetTheGradientsOfADenseLayer) {
  const std::string product = R"({"type":"graph","train_weights":["w","b"],"graph":{"opset":17,
    "inputs":[{"name":"x","type":"float32","shape":[-1,5]}],"outputs":["y"],
    "constants":[{"name":"w","type":"float32","shape":[4,5]},{"name":"b","type":"float32","shape":[4]}],
    "nodes":[{"op":"Gemm","inputs":["x","w","b"],"outputs":["y"],"attributes":{"transB":{"i":1}}}]}})";
  const std::vector<float> x = seeded<float>("x", 40 * 5), dy = seeded<float>("dy", 40 * 4);
  const Shape sample = Shape::of({5});
  Network graph = prepared(list_of({product}), Shape::of({40, 5})),
          kinds = prepared(list_of({dense(5, 4)}), Shape::of({40, 5}));
  const auto g = learned(graph, x, sample, dy, {40}), d = learned(kinds, x, sample, dy, {40});
  ASSERT_EQ(g.size(), 2u);
  EXPECT_EQ(g.at("layers.0.w"), d.at("layers.0.weight"));
  EXPECT_EQ(g.at("layers.0.b"), d.at("layers.0.bias"));
}

// A convolution, a norm, a pool and a head, over 40 samples.
std::string small_cnn(const std::string& more) {
  return R"({"type":"graph")" + more + R"(,"graph":{"opset":17,
    "inputs":[{"name":"x","type":"float32","shape":[-1,2,8,8]}],"outputs":["y"],
    "constants":[{"name":"k","type":"float32","shape":[6,2,3,3]},{"name":"kb","type":"float32","shape":[6]},
      {"name":"g","type":"float32","shape":[6]},{"name":"h","type":"float32","shape":[6]},
      {"name":"m","type":"float32","shape":[6]},{"name":"v","type":"float32","shape":[6],"values":[1,2,1,1,3,1]},
      {"name":"w","type":"float32","shape":[96,3]},{"name":"s","type":"int64","shape":[2],"values":[0,-1]}],
    "nodes":[{"op":"Conv","inputs":["x","k","kb"],"outputs":["c"],"attributes":{"pads":{"ints":[1,1,1,1]}}},
      {"op":"BatchNormalization","inputs":["c","g","h","m","v"],"outputs":["n"]},
      {"op":"Relu","inputs":["n"],"outputs":["r"]},
      {"op":"MaxPool","inputs":["r"],"outputs":["p"],"attributes":{"kernel_shape":{"ints":[2,2]},"strides":{"ints":[2,2]}}},
      {"op":"Reshape","inputs":["p","s"],"outputs":["f"]},{"op":"MatMul","inputs":["f","w"],"outputs":["y"]}]}})";
}

TEST(Graph, GradientsHaveTheSameBitsByAnyThreadsTargetsAndParts) {
  const Shape sample = Shape::of({2, 8, 8});
  const Network network = prepared(list_of({small_cnn(kAll)}), Shape::of({40, 2, 8, 8}));
  network.visit_weights([](const std::string& path, Weight& w, const Layer&) {
    EXPECT_TRUE(w.set(std::span<const float>(seeded<float>(path, w.elements()))));
  });
  const std::vector<float> x = seeded<float>("x", 40 * 128), dy = seeded<float>("dy", 40 * 3);
  const auto once = learned(network, x, sample, dy, {40});
  ASSERT_EQ(once.size(), 5u) << "the statistics of the norm have no gradient";
  for (const auto& [path, g] : once) EXPECT_TRUE(std::ranges::any_of(g, [](float v) { return v != 0; })) << path;
  for (const int threads : {2, 7}) EXPECT_EQ(learned(network, x, sample, dy, {40}, threads), once) << threads;
  EXPECT_EQ(learned(network, x, sample, dy, {16, 24}), once);
  EXPECT_EQ(learned(network, x, sample, dy, {32, 8}, 2), once);
}

TEST(Graph, TheNamesOfTrainedWeightsAreChecked) {
  const auto refused = [&](const std::string& spec) {
    const auto made = network_from_json(list_of({spec}));
    return made ? std::string("taken") : made.error().text();
  };
  EXPECT_EQ(refused(gated(5, 4, R"(,"train_weights":["w","v"])")),
            "/layers/0/train_weights/1: the graph has no weight \"v\"; nearest: *, w, b");
  EXPECT_EQ(refused(gated(5, 4, R"(,"train_weights":["w","*"])")),
            "/layers/0/train_weights/1: the graph has no weight \"*\"; nearest: *, w, b");
  EXPECT_EQ(refused(small_cnn(R"(,"train_weights":["m"])")),
            "/layers/0/train_weights: no gradient reaches its weights or its input from \"y\"");
  EXPECT_EQ(
      refused(one_node(
          R"({"op":"Mul","inputs":["x","w"],"outputs":["t"]},{"op":"CumSum","name":"c","inputs":["t","a"],"outputs":["l"]},
                             {"op":"LpNormalization","name":"n","inputs":["l"],"outputs":["y"]})",
          R"({"name":"w","type":"float32","shape":[5]},{"name":"a","type":"int64","shape":[],"values":[1]})", "[-1,5]",
          kAll)),
      "/layers/0/train_weights: no gradient passes through CumSum \"c\", LpNormalization \"n\"");
  Network network = read(list_of({gated(5, 4, R"(,"train_weights":["b"])")}));
  network.visit_weights([](const std::string& path, const Weight& w, const Layer&) {
    EXPECT_EQ(w.is_frozen(), path != "layers.0.b") << path;
  });
}

// Plans are not those of the values that the weights had before.
TEST(Graph, GradientsFollowTheWeights) {
  const Shape sample = Shape::of({5});
  const std::vector<float> x = seeded<float>("x", 30), dy = seeded<float>("dy", 24);
  Network network = prepared(list_of({gated(5, 4, kAll)}), Shape::of({6, 5}));
  const auto before = learned(network, x, sample, dy, {6});
  network.visit_weights([](const std::string& path, Weight& w, const Layer&) {
    if (!path.ends_with(".w")) return;
    EXPECT_TRUE(w.set(std::vector<float>(20, 0.5f)));
  });
  const auto after = learned(network, x, sample, dy, {6});
  EXPECT_NE(after.at("layers.0.w"), before.at("layers.0.w"));
  // dL/db of y = s sigmoid(s), s = x W + b
  std::vector<double> expected(4, 0);
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t o = 0; o < 4; ++o) {
      float b = 0;
      network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
        if (path.ends_with(".b")) w.decode(o, 1, &b);
      });
      double s = static_cast<double>(b);
      for (std::size_t i = 0; i < 5; ++i) s += 0.5 * static_cast<double>(x[r * 5 + i]);
      const double g = 1 / (1 + std::exp(-s));
      expected[o] += static_cast<double>(dy[r * 4 + o]) * (g + s * g * (1 - g));
    }
  for (std::size_t o = 0; o < 4; ++o) EXPECT_NEAR(after.at("layers.0.b")[o], expected[o], 1e-5);
}

TEST(Graph, a_device_that_hides_values_runs_none) {  // L-172
  const Network network = prepared(list_of({dense(5, 5), gated(5, 4)}), Shape::of({2, 5}));
  test::NullDevice device;
  const auto session = NetworkSession::create(network, Shape::of({2, 5}), {.threads = 1, .device = &device});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().text(),
            "/layers/1: graph runs on the CPU and on graphics cards: its operations look at values");
}

// ---- on a graphics card ----

// Returns the outputs of two calls, and with `learns` also the gradients of the weights.
std::vector<float> bits_on(Device* device, const Network& network, const std::vector<float>& x, const Shape& shape,
                           int threads, bool learns) {
  const auto session = NetworkSession::create(
      network, shape, {.threads = threads, .backward = learns, .input_gradient = false, .device = device});
  EXPECT_TRUE(session) << session.error().text();
  const auto placed = [&](std::span<const float> values) {
    Memory memory = Memory::create(device, values.size() * sizeof(float)).value();
    memory.write(0, std::as_bytes(values));
    return memory;
  };
  std::vector<float> all;
  const auto add = [&](const void* data, std::size_t n) {
    all.resize(all.size() + n);
    const auto to = std::as_writable_bytes(std::span(all).last(n));
    const auto* const from = static_cast<const std::byte*>(data);
    device != nullptr ? device->read(from, to) : void(std::copy_n(from, to.size(), to.data()));
  };
  const Memory input = placed(x);
  for (int call = 0; call < 2; ++call) {
    const auto y = (*session)->forward({input.data(), shape});
    EXPECT_TRUE(y) << y.error().text();
    if (!y) return all;
    add(y->data, y->shape.elements());
    if (!learns) continue;
    const Memory dy = placed(seeded<float>("dy", y->shape.elements()));
    const auto dx = (*session)->backward({dy.data(), y->shape});
    EXPECT_TRUE(dx) << dx.error().text();
    network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
      if (const void* const g = (*session)->gradients().of(w)) add(g, w.elements());
    });
  }
  if (device != nullptr) {
    const auto checked = device->check();
    EXPECT_TRUE(checked) << checked.error().text();
  }
  return all;
}

TEST(GpuGraph, cells_have_the_bits_of_the_cpu_and_those_behind_them_learn) {  // L-170
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    const char* name;
    std::string spec;
    Shape shape;
    std::string_view here;  // the operation that the host computes: the card has none
    bool learns = true;
  };
  const std::string ids = R"({"type":"graph","graph":{"opset":17,"inputs":[{"name":"x","type":"int64"}],"outputs":["y"],
    "constants":[{"name":"table","type":"float32","shape":[5,4]}],
    "nodes":[{"op":"Gather","inputs":["table","x"],"outputs":["y"]}]}})";
  const std::string one_by_one = one_node(R"({"op":"ReduceMean","inputs":["x"],"outputs":["y"],
    "attributes":{"axes":{"ints":[1]},"keepdims":{"i":1}}})",
                                          "", "[1,6,70]");
  const std::string of_old =
      R"({"type":"graph","graph":{"opset":9,"inputs":[{"name":"x","type":"float32"}],"outputs":["y"],
    "constants":[],"nodes":[)";
  const std::string nothing = of_old + R"({"op":"Slice","inputs":["x"],"outputs":["e"],
    "attributes":{"starts":{"ints":[0]},"ends":{"ints":[0]},"axes":{"ints":[0]}}},
    {"op":"Concat","inputs":["e","e"],"outputs":["ee"],"attributes":{"axis":{"i":1}}},
    {"op":"Concat","inputs":["x","x"],"outputs":["xx"],"attributes":{"axis":{"i":1}}},
    {"op":"Concat","inputs":["ee","xx"],"outputs":["y"],"attributes":{"axis":{"i":0}}}]}})";
  const std::string below_zero = of_old + R"({"op":"Pad","inputs":["x"],"outputs":["p"],
    "attributes":{"pads":{"ints":[0,1,0,2]},"value":{"f":-0.0}}},
    {"op":"Reciprocal","inputs":["p"],"outputs":["y"]}]}})";
  const Case cases[] = {
      {"nothing beside nothing", list_of({nothing}), Shape::of({3, 5}), "", false},
      {"padded with -0", list_of({below_zero}), Shape::of({3, 5}), "", false},
      {"before and behind", list_of({R"({"type":"reshape","shape":[257]})", gated(257, 300), dense(300, 3)}),
       Shape::of({160, 257}), ""},
      {"alone", list_of({gated(5, 4)}), Shape::of({3, 5}), "", false},
      {"trained", list_of({dense(5, 5), gated(5, 4, kAll), dense(4, 3)}), Shape::of({40, 5}), "gradient of MatMul"},
      {"computed here", list_of({one_node(R"({"op":"Floor","inputs":["x"],"outputs":["y"]})"), dense(7, 3)}),
       Shape::of({4, 7}), "Floor"},
      {"sample by sample", list_of({one_by_one, R"({"type":"flatten"})", dense(70, 3)}), Shape::of({3, 6, 70}), ""},
      {"ids", list_of({ids, R"({"type":"flatten"})", dense(12, 2)}), Shape::of({6, 3}), ""},
      {"whole numbers come out",
       list_of({one_node(R"({"op":"Cast","inputs":["x"],"outputs":["y"],
       "attributes":{"to":{"i":7}}})"),
                dense(9, 2)}),
       Shape::of({5, 9}), "Cast"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Network network = prepared(c.spec, c.shape);
    std::vector<float> x = seeded<float>("x", c.shape.elements());
    for (float& v : x) v = 2 * (v + 1);  // ids from 0 to 4
    const std::vector<float> wanted = bits_on(nullptr, network, x, c.shape, 1, c.learns);
    for (const int threads : {1, 3}) {
      const std::uint64_t before = device->counters().dispatches;
      const std::vector<float> got = bits_on(device, network, x, c.shape, threads, c.learns);
      ASSERT_EQ(got.size(), wanted.size());
      EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0);
      EXPECT_GT(device->counters().dispatches, before);
    }
    const std::vector<std::string>& here = device->host_calls().names;
    EXPECT_TRUE(c.here.empty() || std::ranges::find(here, c.here) != here.end());
  }
  // New values of weights count in the next run on the card too.
  const Shape shape = Shape::of({4, 5});
  const Network network = prepared(list_of({gated(5, 4)}), shape);
  const std::vector<float> x = seeded<float>("x", 20), first = bits_on(device, network, x, shape, 1, false);
  network.visit_weights([](const std::string&, Weight& w, const Layer&) {
    EXPECT_TRUE(w.set(std::span<const float>(seeded<float>("other", w.elements()))));
  });
  const std::vector<float> other = bits_on(device, network, x, shape, 1, false);
  EXPECT_NE(other, first);
  EXPECT_EQ(other, bits_on(nullptr, network, x, shape, 1, false));
}

TEST(Graph, new_values_of_weights_count_in_the_next_run) {  // L-173
  const Shape shape = Shape::of({3, 5});
  const Network network = prepared(list_of({gated(5, 4)}), shape);
  const std::vector<float> x = seeded<float>("x", 15);
  const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
  const auto run = [&] {
    const auto y = session->forward({x.data(), shape});
    EXPECT_TRUE(y) << y.error().text();
    return y ? std::vector<float>(y->as(), y->as() + 12) : std::vector<float>();
  };
  const std::vector<float> before = run();
  auto copy = clone_network(network);
  ASSERT_TRUE(copy) << copy.error().text();
  ASSERT_TRUE(copy->settle());
  const auto set = [&](const Network& to, float value) {
    to.visit_weights([&](const std::string&, Weight& w, const Layer&) {
      ASSERT_TRUE(w.set(std::span<const float>(std::vector<float>(w.elements(), value))));
    });
  };
  set(network, 0.5f);
  const std::vector<float> after = run();
  EXPECT_NE(after, before);
  set(network, 0.25f);  // may be stored at the old version's address
  EXPECT_NE(run(), after);
  EXPECT_EQ(output_of(*copy, x, shape), before) << "a copy shares no weights";
  // The type of a network's weights is not that of a graph's constants; float64 holds them as they are.
  for (const DType dtype : {DType::int8, DType::float64}) {
    ASSERT_TRUE(copy->morph_all(dtype));
    EXPECT_EQ(output_of(*copy, x, shape), before) << name(dtype);
  }
}

TEST(Graph, the_step_mesh_ticks_one_like_any_other_cell) {  // L-170
  const Shape shape = Shape::of({2, 5});
  const std::string spec = list_of({gated(5, 5), dense(5, 3)});
  Network network = read(spec);
  const auto mesh = StepMesh::create(network, shape, {.threads = 2});
  ASSERT_TRUE(mesh) << mesh.error().text();
  StepState state = (*mesh)->create_state().value();
  const std::vector<float> x = seeded<float>("x", 10);
  ASSERT_TRUE(state.set_input({x.data(), shape}));
  for (int tick = 0; tick < 3; ++tick) ASSERT_TRUE((*mesh)->step(state));
  const std::vector<float> y = output_of(prepared(spec, shape), x, shape);
  const ConstView out = state.output().value();
  EXPECT_TRUE(std::equal(y.begin(), y.end(), out.as()));
}

TEST(Graph, a_spec_is_written_as_it_was_read) {  // J-01
  const std::string listed_twice = R"({"type":"graph","graph":{"inputs":[{"name":"x"},{"name":"w"}],"outputs":["y"],
    "constants":[{"name":"w","type":"float32","shape":[5,2]}],"nodes":[{"op":"MatMul","inputs":["x","w"],"outputs":["y"]}]}})";
  for (const std::string& layer : {gated(5, 4), listed_twice,
                                   one_node(R"({"op":"If","inputs":["c"],"outputs":["y"],"attributes":{
           "then_branch":{"g":{"outputs":["t"],"nodes":[{"op":"Relu","inputs":["x"],"outputs":["t"]}]}},
           "else_branch":{"g":{"outputs":["e"],"nodes":[{"op":"Neg","inputs":["x"],"outputs":["e"]}]}}}})",
                                            R"({"name":"c","type":"bool","shape":[],"values":[1]},
                                 {"name":"d","type":"float64","shape":[2],"data":"AAAAAAAA8D8AAAAAAADwfw=="})")}) {
    const Network network = read(list_of({layer}));
    const std::string text = dump_canonical(network_to_json(network)).value();
    EXPECT_EQ(dump_canonical(network_to_json(read(text))).value(), text);
    const Shape shape = Shape::of({1, 5});
    EXPECT_EQ(output_of(prepared(text, shape), {1, -2, 3, -4, 5}, shape),
              output_of(prepared(list_of({layer}), shape), {1, -2, 3, -4, 5}, shape));
  }
}

TEST(Graph, bad_graphs_are_refused_by_their_place) {  // F-01
  const std::string relu = R"({"op":"Relu","inputs":["x"],"outputs":["y"]})";
  const std::string loop =
      R"({"op":"Add","inputs":["x","b"],"outputs":["a"]},{"op":"Add","inputs":["a","x"],"outputs":["b"]},
                              {"op":"Relu","inputs":["b"],"outputs":["y"]})";
  const struct {
    std::string layer, message;
  } rows[] = {
      {R"({"type":"graph"})", "/layers/0/graph: is missing"},
      {R"({"type":"graph","graph":"x.onnx"})", "/layers/0/graph: names a file, \"x.onnx\""},
      {R"({"type":"graph","graph":3})", "/layers/0/graph: expected a graph as an object, got 3"},
      {R"({"type":"graph","graph":{"nodes":[],"outputs":["y"]}})", "/layers/0/graph: no node gives the output \"y\""},
      {one_node(loop), "/layers/0/graph: Add \"\" reads \"b\", which no node before it gives"},
      {one_node(R"({"op":"Frobnicate","inputs":["x"],"outputs":["y"]})"), "operations that Loom lacks: Frobnicate"},
      {one_node(relu, R"({"name":"w","type":"float33","shape":[2]})"),
       "/layers/0/graph/constants/0/type: no type of values is called \"float33\""},
      {one_node(R"({"op":"Reshape","inputs":["x","w"],"outputs":["y"]})", R"({"name":"w","type":"int64","shape":[2]})"),
       "only floats of 1 to 8 axes"},
      {one_node(relu, R"({"name":"w","type":"float32","shape":[4294967296,4294967296,4]})"),
       "/layers/0/graph/constants/0/shape"},
      {one_node(relu, R"({"name":"w","type":"float32","shape":[2],"values":[1]})"),
       "/layers/0/graph/constants/0/values: 1 numbers for the shape [2]"},
      {one_node(relu, R"({"name":"w","type":"float32","shape":[1],"values":[1e39]})"), "/values/0: 1e+39 is beyond"},
      {one_node(relu, R"({"name":"w","type":"uint8","shape":[1],"values":[256]})"), "256 is no number of type uint8"},
      {one_node(relu, R"({"name":"w","type":"float32","shape":[2],"data":"AAAA"})"), "/constants/0/data: 3 bytes"},
      {one_node(relu, R"({"name":"w","type":"float32","shape":[2]},{"name":"w","type":"float32","shape":[2]})"),
       "two constants are called \"w\""},
      {one_node(R"({"op":"Relu","inputs":["x"],"outputs":["y"],"attributes":{"a":1}})"),
       "/layers/0/graph/nodes/0/attributes/a: expected an attribute"},
      {one_node(R"({"op":"Relu","inputs":["x"],"outputs":["y"],"colour":1})"), "/nodes/0/colour: unknown key"},
      {one_node(R"({"op":"Softmax","name":"p","inputs":["x"],"outputs":["y"],"attributes":{"axes":{"i":1}}})"),
       "/layers/0/graph/nodes/0/attributes/axes: Softmax \"p\" knows no attribute \"axes\"; known: axis"},
      {one_node(R"({"op":"Relu","inputs":["x"],"outputs":["y"],"attributes":{"alpha":{"f":1}}})"),
       "Relu \"y\" knows no attribute \"alpha\"; known: none"},
      {one_node(R"({"op":"LeakyRelu","inputs":["x"],"outputs":["y"],"attributes":{"alpha":{"i":1}}})"),
       "/attributes/alpha: LeakyRelu \"y\": attribute \"alpha\": expected a float (f), got an integer (i)"},
      {one_node(R"({"op":"If","inputs":["x"],"outputs":["y"],"attributes":{"then_branch":{"g":{"outputs":["z"],
         "nodes":[{"op":"Transpose","inputs":["x"],"outputs":["z"],"attributes":{"perm":{"floats":[0]}}}]}}}})"),
       "/graph/nodes/0/attributes/then_branch/g/nodes/0/attributes/perm: Transpose \"z\": attribute \"perm\": expected "
       "a "
       "list of integers (ints), got a list of floats (floats)"},
      {one_node(relu + "," + relu),
       "/layers/0/graph/nodes/1/outputs: Relu \"y\" gives \"y\", which a node before it, an input or a constant gives"},
      {one_node(R"({"op":"Relu","inputs":["x"],"outputs":["x"]},)" + relu), "/nodes/0/outputs: Relu \"x\" gives \"x\""},
      {one_node(R"({"op":"Relu","inputs":["x"],"outputs":["w"]},)" + relu,
                R"({"name":"w","type":"float32","shape":[1],"values":[1]})"),
       "/nodes/0/outputs: Relu \"w\" gives \"w\""},
      // what only a shape shows
      {one_node(R"({"op":"MatMul","inputs":["x","w"],"outputs":["y"]})",
                R"({"name":"w","type":"float32","shape":[4,4]})"),
       "/layers/0: MatMul"},
      {one_node(relu, "", "[-1,4]"), "/layers/0: graph: an input [1, 3], \"x\" of the graph is [?, 4]"},
      {one_node(R"({"op":"Transpose","inputs":["x"],"outputs":["y"]})"), "the first axis is not that of the input"},
      {one_node(R"({"op":"ReduceSum","inputs":["x"],"outputs":["y"],"attributes":{"keepdims":{"i":0}}})"),
       "the first axis is not that of the input"},
      {one_node(R"({"op":"NonZero","inputs":["x"],"outputs":["y"]})"), "numbers that only a run knows"},
      // a shape that would follow from a weight
      {one_node(R"({"op":"Cast","inputs":["w"],"outputs":["s"],"attributes":{"to":{"i":7}}},
                   {"op":"Reshape","inputs":["x","s"],"outputs":["y"]})",
                R"({"name":"w","type":"float32","shape":[2]})"),
       "numbers that only a run knows"},
  };
  for (const auto& [layer, message] : rows) {
    const auto made = network_from_json(list_of({layer}, R"("input_shape":[3],)"));
    ASSERT_FALSE(made) << layer;
    EXPECT_NE(made.error().text().find(message), std::string::npos) << made.error().text();
  }
}

}  // namespace
}  // namespace loom::graph_layer_test
