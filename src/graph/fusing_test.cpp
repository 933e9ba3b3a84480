// Fused plans beside plans of the same graph whose values in between are outputs too, so that nothing is fused.

#include "graph/fusing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/philox.h"
#include "graph/runner.h"

namespace loom::graph {
namespace {

Value tensor(const Dims& dims, std::uint64_t seed, float size = 2) {
  Value v = Value::create(Type::f32, dims).value();
  const RandomStream random{.seed = seed};
  for (std::size_t i = 0; i < v.elements(); ++i) v.as<float>()[i] = size * (2 * random.uniform(i) - 1);
  v.constant = true;
  return v;
}
Value number(float x) {
  Value v = tensor({}, 1);
  *v.as<float>() = x;
  return v;
}
Value whole(const std::vector<std::int64_t>& list, Dims dims) {
  Value v = Value::create(Type::i64, std::move(dims)).value();
  std::copy(list.begin(), list.end(), v.as<std::int64_t>());
  v.constant = true;
  return v;
}

Attribute integers(const std::vector<std::int64_t>& list) {
  Attribute a;
  a.kind = Attribute::Kind::integers, a.integers = list;
  return a;
}
Attribute integer(std::int64_t x) {
  Attribute a;
  a.integer = x;
  return a;
}

struct Graph {
  Model model;
  void input(const std::string& name, Type type = Type::f32) { model.body.inputs.push_back({name, type, false, {}}); }
  void constant(const std::string& name, Value value) { model.body.constants.emplace_back(name, std::move(value)); }
  Node& node(const std::string& op, std::vector<std::string> inputs, const std::string& output) {
    model.body.nodes.push_back({op, "", output, std::move(inputs), {output}, {}});
    return model.body.nodes.back();
  }
};

using Inputs = std::vector<std::pair<std::string, Value>>;

// Output `name`, with every target and one and two threads, which agree.
std::vector<float> run(const Graph& graph, const Inputs& inputs, const std::vector<std::string>& outputs) {
  std::vector<float> first;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2}) {
      Model model = graph.model;
      model.body.outputs = outputs;
      const auto program = Program::create(std::move(model));
      EXPECT_TRUE(program) << program.error().message;
      auto runner = Runner::create(*program, {.threads = threads, .isa = isa}).value();
      for (int again = 0; again < 2; ++again) {
        const auto got = runner->run(inputs);
        EXPECT_TRUE(got) << got.error().message;
        if (!got) return {};
        const Value& y = got->front();
        const std::vector<float> values(y.as<float>(), y.as<float>() + y.elements());
        if (first.empty()) first = values;
        EXPECT_EQ(0, std::memcmp(first.data(), values.data(), 4 * first.size()))
            << name(isa) << ", threads " << threads;
      }
    }
  return first;
}
// The last node's output alone, and with those of all nodes, which are then computed one by one.
std::vector<float> fused(const Graph& graph, const Inputs& inputs) {
  return run(graph, inputs, {graph.model.body.nodes.back().outputs[0]});
}
std::vector<float> unfused(const Graph& graph, const Inputs& inputs) {
  std::vector<std::string> outputs;
  for (auto node = graph.model.body.nodes.rbegin(); node != graph.model.body.nodes.rend(); ++node)
    outputs.push_back(node->outputs[0]);
  return run(graph, inputs, outputs);
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float bound) {
  ASSERT_EQ(a.size(), b.size());
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]) / std::max(1.0f, std::abs(b[i])));
  EXPECT_LE(worst, bound);
}

TEST(Fusing, a_chain_of_elements_keeps_its_bits) {  // F-42
  Graph g;
  g.input("x");
  g.constant("scale", tensor({24, 1, 1}, 2)), g.constant("shift", tensor({1, 24, 1, 1}, 3));
  g.constant("three", number(3)), g.constant("zero", number(0)), g.constant("six", number(6));
  g.constant("two", number(2));
  g.node("Mul", {"scale", "x"}, "a");
  g.node("Add", {"a", "three"}, "b");
  g.node("Clip", {"b", "zero", "six"}, "c");
  g.node("Mul", {"a", "c"}, "d");
  g.node("Div", {"d", "six"}, "e");
  g.node("Pow", {"e", "two"}, "f");
  g.node("Sub", {"f", "x"}, "g");
  g.node("Erf", {"g"}, "h");
  g.node("Sigmoid", {"h"}, "i");
  g.node("Max", {"i", "shift"}, "j");
  for (const Dims& dims : {Dims{2, 24, 40, 33}, Dims{1, 24, 3, 5}}) {
    const Inputs inputs{{"x", tensor(dims, 7)}};
    EXPECT_EQ(fused(g, inputs), unfused(g, inputs));
  }
}

// A value that two chains read is computed by neither of them.
TEST(Fusing, values_that_others_read_stay) {  // F-42
  Graph g;
  g.input("x");
  g.constant("one", number(1));
  g.node("Exp", {"x"}, "a");
  g.node("Add", {"a", "one"}, "b");
  g.node("Relu", {"a"}, "c");
  g.node("Tanh", {"c"}, "d");
  g.node("Transpose", {"d"}, "e");
  g.node("Abs", {"b"}, "f");
  g.node("Transpose", {"f"}, "t");
  g.node("Mul", {"e", "t"}, "g");
  const Inputs inputs{{"x", tensor({31, 17}, 4)}};
  EXPECT_EQ(fused(g, inputs), unfused(g, inputs));
}

Graph convolution(bool turned, std::int64_t groups) {
  Graph g;
  g.input("x");
  g.constant("w", turned ? tensor({8, 12 / static_cast<std::size_t>(groups), 3, 3}, 2)
                         : tensor({12, 8 / static_cast<std::size_t>(groups), 3, 3}, 2));
  g.constant("bias", tensor({12}, 3)), g.constant("gamma", tensor({12}, 4)), g.constant("beta", tensor({12}, 5));
  g.constant("mean", tensor({12}, 6));
  Value variance = tensor({12}, 8);
  for (std::size_t i = 0; i < 12; ++i) variance.as<float>()[i] = std::abs(variance.as<float>()[i]) + 0.1f;
  g.constant("variance", variance), g.constant("half", number(0.5f)), g.constant("row", tensor({12, 1, 1}, 9));
  g.node(turned ? "ConvTranspose" : "Conv", {"x", "w", "bias"}, "a").attributes = {{"group", integer(groups)},
                                                                                   {"strides", integers({2, 1})}};
  g.node("BatchNormalization", {"a", "gamma", "beta", "mean", "variance"}, "b");
  g.node("Mul", {"half", "b"}, "c");
  g.node("Sub", {"c", "row"}, "d");
  g.node("Div", {"d", "gamma_like"}, "e");
  g.constant("gamma_like", tensor({1, 12, 1, 1}, 10));
  g.node("Relu", {"e"}, "f");
  return g;
}

TEST(Fusing, constants_by_channel_go_into_a_convolution) {  // F-42
  for (const bool turned : {false, true})
    for (const std::int64_t groups : {1, 2, 4}) {
      const Graph g = convolution(turned, groups);
      for (const Dims& dims : {Dims{2, 8, 21, 40}, Dims{1, 8, 3, 4}}) {
        const Inputs inputs{{"x", tensor(dims, 7)}};
        const auto got = fused(g, inputs), wanted = unfused(g, inputs);
        ASSERT_FALSE(got.empty());
        float largest = 1;
        for (const float v : wanted) largest = std::max(largest, std::abs(v));
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5f * largest) << i;
        EXPECT_NE(got, wanted) << "nothing was folded";
      }
    }
}

// Constants that are not one finite number for each channel are not fused.
TEST(Fusing, what_is_no_constant_by_channel_stays) {  // F-42
  for (const Value& other : {tensor({1, 12, 1, 38}, 4), tensor({38}, 5), number(__builtin_huge_valf())}) {
    Graph g;
    g.input("x");
    g.constant("w", tensor({12, 8, 3, 3}, 2)), g.constant("other", other);
    g.node("Conv", {"x", "w"}, "a");
    g.node("Mul", {"a", "other"}, "b");
    const Inputs inputs{{"x", tensor({1, 8, 9, 40}, 7)}};
    EXPECT_EQ(fused(g, inputs), unfused(g, inputs));
  }
}

TEST(Fusing, a_convolution_of_few_positions_keeps_its_bits) {  // F-42
  for (const Dims& dims : {Dims{1, 70, 1, 1}, Dims{3, 70, 2, 4}, Dims{2, 70, 7, 5}})
    for (const bool padded : {false, true}) {
      const std::size_t taps = padded ? 3 : 1;
      const Value w = tensor({37, 70, taps, taps}, 2), b = tensor({37}, 3);
      std::vector<float> results[2];
      for (const bool constant : {false, true}) {
        Graph g;
        g.input("x");
        Inputs inputs{{"x", tensor(dims, 7)}};
        if (constant) {
          g.constant("w", w), g.constant("b", b);
        } else {
          g.input("w"), g.input("b");
          inputs.emplace_back("w", w), inputs.emplace_back("b", b);
        }
        auto& node = g.node("Conv", {"x", "w", "b"}, "y");
        if (padded) node.attributes = {{"pads", integers({1, 1, 1, 1})}, {"strides", integers({2, 2})}};
        results[constant ? 1 : 0] = fused(g, inputs);
      }
      EXPECT_EQ(results[0], results[1]);
    }
}

TEST(Fusing, a_row_added_to_a_product_keeps_its_bits) {  // F-42
  Graph g;
  g.input("x");
  g.constant("w", tensor({70, 90}, 2)), g.constant("row", tensor({1, 90}, 3));
  g.node("MatMul", {"x", "w"}, "a");
  g.node("Add", {"row", "a"}, "b");
  g.node("Relu", {"b"}, "c");
  const Inputs inputs{{"x", tensor({3, 40, 70}, 7)}};
  EXPECT_EQ(fused(g, inputs), unfused(g, inputs));
}

TEST(Fusing, an_lstm_of_constant_weights_agrees_with_one_of_given_weights) {  // F-42
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    const std::size_t d = std::string_view(direction) == "bidirectional" ? 2 : 1;
    const Inputs weights{{"w", tensor({d, 4 * 19, 11}, 2, 0.5f)},
                         {"r", tensor({d, 4 * 19, 19}, 3, 0.5f)},
                         {"b", tensor({d, 8 * 19}, 4, 0.5f)}};
    std::vector<float> results[2];
    for (const bool constant : {false, true}) {
      Graph g;
      g.input("x"), g.input("h"), g.input("c");
      Inputs inputs{{"x", tensor({6, 3, 11}, 7)}, {"h", tensor({d, 3, 19}, 8)}, {"c", tensor({d, 3, 19}, 9)}};
      for (const auto& [name, value] : weights) {
        if (constant)
          g.constant(name, value);
        else
          g.input(name), inputs.emplace_back(name, value);
      }
      Attribute text, units = integer(19);
      text.kind = Attribute::Kind::text, text.text = direction;
      g.node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, "y").attributes = {{"direction", text},
                                                                            {"hidden_size", units}};
      results[constant ? 1 : 0] = fused(g, inputs);
    }
    expect_near(results[1], results[0], 2e-6f);
  }
}

// A condition that only the shapes of a run know chooses between constants: none of them is one of the graph.
TEST(Fusing, constants_that_a_branch_chose_are_not_those_of_every_run) {  // F-42
  Graph g;
  g.input("x"), g.input("rows");
  const auto branch = [&](std::uint64_t seed) {
    auto body = std::make_shared<Body>();
    body->constants.emplace_back("weight", tensor({6, 5}, seed));
    body->outputs = {"weight"};
    Attribute a;
    a.kind = Attribute::Kind::body, a.body = body;
    return a;
  };
  g.constant("four", whole({4}, {1}));
  g.node("Shape", {"rows"}, "shape");
  g.node("Greater", {"shape", "four"}, "many");
  g.node("If", {"many"}, "w").attributes = {{"then_branch", branch(2)}, {"else_branch", branch(3)}};
  g.node("MatMul", {"x", "w"}, "y");
  Model model = g.model;
  model.body.outputs = {"y"};
  const auto program = Program::create(std::move(model)).value();
  auto runner = Runner::create(program, {.threads = 1}).value();
  const Value x = tensor({3, 6}, 7);
  for (const std::size_t rows : {3u, 9u, 3u}) {
    const auto got = runner->run({{"x", x}, {"rows", tensor({rows}, 1)}}).value();
    const Value w = tensor({6, 5}, rows > 4 ? 2 : 3);
    for (std::size_t i = 0; i < 15; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 6; ++k)
        sum += static_cast<double>(x.as<float>()[i / 5 * 6 + k]) * static_cast<double>(w.as<float>()[k * 5 + i % 5]);
      EXPECT_NEAR(got[0].as<float>()[i], sum, 1e-5) << rows << " rows, element " << i;
    }
  }
}

TEST(Fusing, every_order_of_axes_moves_every_element) {  // F-42
  const Dims dims{3, 1, 35, 2, 33};
  const Value x = tensor(dims, 7);
  const auto own = row_major_strides(dims);
  std::vector<std::int64_t> order{0, 1, 2, 3, 4};
  do {
    Graph g;
    g.input("x");
    g.node("Transpose", {"x"}, "y").attributes = {{"perm", integers(order)}};
    Model model = g.model;
    model.body.outputs = {"y"};
    auto runner = Runner::create(Program::create(std::move(model)).value(), {.threads = 2}).value();
    const auto got = runner->run({{"x", x}}).value();
    const auto strides = row_major_strides(got[0].dims);
    for (std::size_t i = 0; i < x.elements(); ++i) {
      std::size_t at = 0;
      for (std::size_t a = 0; a < 5; ++a) {
        ASSERT_EQ(got[0].dims[a], dims[static_cast<std::size_t>(order[a])]);
        at += i / strides[a] % got[0].dims[a] * own[static_cast<std::size_t>(order[a])];
      }
      ASSERT_EQ(got[0].as<float>()[i], x.as<float>()[at]) << i;
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace loom::graph
