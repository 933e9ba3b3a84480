// Gradients of operations against central differences, all in f64; what a graph of gradients refuses.

#include "graph/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/json.h"
#include "core/philox.h"
#include "graph/graph_json.h"
#include "graph/runner.h"

namespace loom::graph {
namespace {

// One operation over inputs x0, x1, .. whose gradients are compared.
struct GradientCase {
  std::string op;
  std::vector<Dims> inputs;
  std::string attributes = "";  // members of the JSON object
  std::string constants = "";   // JSON objects
  std::string arguments = "";   // names in order; empty: the inputs
  double low = -2, high = 2;
  int opset = 17;
  std::vector<std::string> outputs = {"y"};
};

std::string ints(const std::string& name, const std::vector<int>& values) {
  return fmt::format(R"({{"name":"{}","type":"int64","shape":[{}],"values":[{}]}})", name, values.size(),
                     fmt::join(values, ","));
}

const std::vector<GradientCase>& cases() {
  static const std::vector<GradientCase> kCases = [] {
    std::vector<GradientCase> all;
    for (const char* const op : {"Abs",
                                 "Neg",
                                 "Sin",
                                 "Cos",
                                 "Atan",
                                 "Sinh",
                                 "Cosh",
                                 "Asinh",
                                 "Tanh",
                                 "Sigmoid",
                                 "Erf",
                                 "Relu",
                                 "LeakyRelu",
                                 "Elu",
                                 "Celu",
                                 "Selu",
                                 "Softplus",
                                 "Softsign",
                                 "HardSigmoid",
                                 "HardSwish",
                                 "Mish",
                                 "Exp",
                                 "Identity",
                                 "Dropout",
                                 "Shrink",
                                 "ThresholdedRelu",
                                 "GlobalAveragePool",
                                 "GlobalMaxPool"})
      all.push_back({op, {{2, 3, 4}}});
    all.push_back({"Gelu", {{3, 4}}, "", "", "", -2, 2, 20});
    all.push_back({"Gelu", {{3, 4}}, R"("approximate":{"s":"tanh"})", "", "", -2, 2, 20});
    all.push_back({"Swish", {{3, 4}}, R"("alpha":{"f":1.5})", "", "", -2, 2, 24});
    for (const char* const op : {"Sqrt", "Log", "Reciprocal"}) all.push_back({op, {{3, 4}}, "", "", "", 0.5, 2});
    for (const char* const op : {"Asin", "Acos", "Atanh", "Tan"}) all.push_back({op, {{3, 4}}, "", "", "", -0.8, 0.8});
    all.push_back({"Acosh", {{3, 4}}, "", "", "", 1.2, 3});
    all.push_back({"Clip",
                   {{3, 4}},
                   "",
                   R"({"name":"c0","type":"float64","shape":[],"values":[-1]},)"
                   R"({"name":"c1","type":"float64","shape":[],"values":[0.5]})",
                   "x0 c0 c1"});
    all.push_back({"Cast", {{3, 4}}, R"("to":{"i":11})"});
    all.push_back({"CastLike", {{3, 4}}, "", R"({"name":"c0","type":"float64","shape":[1],"values":[1]})", "x0 c0"});
    for (const char* const op : {"Add", "Sub", "Mul", "Div"}) {
      all.push_back({op, {{2, 3, 4}, {2, 3, 4}}, "", "", "", 0.5, 2});
      all.push_back({op, {{2, 3, 4}, {4}}, "", "", "", 0.5, 2});
      all.push_back({op, {{3, 1}, {2, 1, 4}}, "", "", "", 0.5, 2});
      all.push_back({op, {{2, 3, 4}, {}}, "", "", "", 0.5, 2});
      all.push_back({op, {{1, 3, 1}, {2, 3, 4}}, "", "", "", 0.5, 2});
    }
    all.push_back({"Pow", {{2, 3}, {3}}, "", "", "", 0.5, 2});
    all.push_back({"Pow", {{2, 3}}, "", R"({"name":"c0","type":"float64","shape":[],"values":[2]})", "x0 c0"});
    all.push_back({"Pow", {{2, 3}}, "", R"({"name":"c0","type":"float64","shape":[],"values":[3]})", "x0 c0"});
    all.push_back({"PRelu", {{2, 3, 4}, {3, 1}}});
    for (const char* const op : {"Sum", "Mean", "Max", "Min"}) all.push_back({op, {{2, 3}, {3}, {2, 1}}});
    for (const char* const op : {"Reshape", "Expand"})
      all.push_back(
          {op, {{3, 1, 4}}, "", ints("c0", op[0] == 'R' ? std::vector{2, 6} : std::vector{3, 2, 4}), "x0 c0"});
    all.push_back({"Flatten", {{2, 3, 4}}, R"("axis":{"i":2})"});
    all.push_back({"Squeeze", {{2, 1, 4}}, "", ints("c0", {1}), "x0 c0"});
    all.push_back({"Unsqueeze", {{2, 4}}, "", ints("c0", {1}), "x0 c0"});
    all.push_back({"Transpose", {{2, 3, 4}}, R"("perm":{"ints":[2,0,1]})"});
    all.push_back({"Tile", {{2, 3}}, "", ints("c0", {2, 3}), "x0 c0"});
    all.push_back({"Concat", {{2, 3}, {2, 1}, {2, 2}}, R"("axis":{"i":1})"});
    all.push_back(
        {"Split", {{2, 6}}, R"("axis":{"i":1})", ints("c0", {1, 2, 3}), "x0 c0", -2, 2, 17, {"y", "y1", "y2"}});
    all.push_back({"Slice",
                   {{4, 5}},
                   "",
                   ints("c0", {3, 1}) + "," + ints("c1", {0, 5}) + "," + ints("c2", {0, 1}) + "," + ints("c3", {-2, 2}),
                   "x0 c0 c1 c2 c3"});
    for (const char* const mode : {"constant", "edge", "reflect"})
      all.push_back({"Pad",
                     {{3, 4}},
                     fmt::format(R"("mode":{{"s":"{}"}})", mode),
                     ints("c0", {1, 2, 0, 1}) + R"(,{"name":"c1","type":"float64","shape":[],"values":[3]})",
                     "x0 c0 c1"});
    all.push_back({"Trilu", {{4, 4}}, R"("upper":{"i":0})"});
    all.push_back({"DepthToSpace", {{1, 8, 2, 3}}, R"("blocksize":{"i":2})"});
    all.push_back({"SpaceToDepth", {{1, 2, 4, 6}}, R"("blocksize":{"i":2})"});
    all.push_back({"CenterCropPad", {{5, 2}}, "", ints("c0", {3, 4}), "x0 c0", -2, 2, 18});
    all.push_back({"Gather", {{4, 3}}, "", ints("c0", {2, 0, 2, -1}), "x0 c0"});
    all.push_back({"GatherElements",
                   {{3, 3}},
                   R"("axis":{"i":1})",
                   R"({"name":"c0","type":"int64","shape":[3,2],"values":[2,2,0,1,1,0]})",
                   "x0 c0"});
    all.push_back(
        {"GatherND", {{3, 3, 2}}, "", R"({"name":"c0","type":"int64","shape":[3,2],"values":[0,0,2,1,0,0]})", "x0 c0"});
    all.push_back({"ReverseSequence", {{4, 2}}, "", ints("c0", {3, 2}), "x0 c0"});
    all.push_back(
        {"Where", {{2, 3}, {3}}, "", R"({"name":"c0","type":"bool","shape":[2,1],"values":[1,0]})", "c0 x0 x1"});
    all.push_back({"MatMul", {{3, 4}, {4, 5}}});
    all.push_back({"MatMul", {{2, 3, 4}, {4, 5}}});
    all.push_back({"MatMul", {{2, 1, 3, 4}, {2, 4, 5}}});
    all.push_back({"MatMul", {{4}, {2, 4, 3}}});
    all.push_back({"MatMul", {{2, 3, 4}, {4}}});
    for (const int turned : {0, 1, 2, 3})
      all.push_back({"Gemm",
                     {turned % 2 ? Dims{4, 3} : Dims{3, 4}, turned / 2 ? Dims{5, 4} : Dims{4, 5}, {5}},
                     fmt::format(R"("transA":{{"i":{}}},"transB":{{"i":{}}},"alpha":{{"f":0.5}},"beta":{{"f":2}})",
                                 turned % 2, turned / 2)});
    all.push_back({"Gemm", {{3, 4}, {4, 5}, {3, 1}}});
    all.push_back({"Conv",
                   {{2, 4, 7, 6}, {6, 2, 3, 3}, {6}},
                   R"("group":{"i":2},"pads":{"ints":[1,0,1,2]},"strides":{"ints":[2,1]},"dilations":{"ints":[1,2]})"});
    all.push_back({"Conv", {{2, 3, 9}, {4, 3, 3}}});
    all.push_back({"Einsum", {{2, 3, 4}, {2, 4, 5}}, R"("equation":{"s":"bij,bjk->bik"})"});
    all.push_back({"Einsum", {{3, 3}, {2, 3}, {4}}, R"("equation":{"s":"ii,...i,j->...j"})"});
    all.push_back(
        {"ConvTranspose",
         {{2, 4, 3, 4}, {4, 3, 3, 2}, {6}},
         R"("group":{"i":2},"pads":{"ints":[1,0,0,1]},"strides":{"ints":[2,2]},"output_padding":{"ints":[1,0]})"});
    for (const char* const op : {"MaxPool", "AveragePool"})
      all.push_back(
          {op, {{2, 2, 5, 6}}, R"("kernel_shape":{"ints":[3,2]},"strides":{"ints":[2,1]},"pads":{"ints":[1,0,1,0]})"});
    for (const char* const op : {"LayerNormalization", "RMSNormalization"})
      all.push_back({op, {{3, 2, 5}, {5}}, "", "", "", -2, 2, 23});
    all.push_back({"LayerNormalization", {{3, 4}, {4}, {4}}});
    all.push_back({"InstanceNormalization", {{2, 3, 4}, {3}, {3}}});
    all.push_back({"GroupNormalization", {{2, 4, 3}, {4}, {4}}, R"("num_groups":{"i":2})", "", "", -2, 2, 21});
    all.push_back({"BatchNormalization",
                   {{2, 3, 4}, {3}, {3}},
                   "",
                   R"({"name":"c0","type":"float64","shape":[3],"values":[0.1,-0.2,0.3]},)"
                   R"({"name":"c1","type":"float64","shape":[3],"values":[1.5,0.7,1]})",
                   "x0 x1 x2 c0 c1"});
    for (const char* const op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
                                 "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
      const double low = std::string_view(op) == "ReduceLogSum" ? 0.5 : -2;
      all.push_back({op, {{2, 3, 4}}, R"("keepdims":{"i":0})", ints("c0", {0, -1}), "x0 c0", low, 2, 18});
      all.push_back({op, {{2, 3}}, "", "", "", low, 2, 18});
    }
    for (const char* const op : {"Softmax", "LogSoftmax"}) {
      all.push_back({op, {{3, 4}}});
      all.push_back({op, {{2, 3, 4}}, R"("axis":{"i":1})"});
    }
    return all;
  }();
  return kCases;
}

Model model_of(const GradientCase& c) {
  std::vector<std::string> inputs, arguments, outputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(fmt::format(R"({{"name":"x{}","type":"float64","shape":[{}]}})", i, fmt::join(c.inputs[i], ",")));
    if (c.arguments.empty()) arguments.push_back(fmt::format("\"x{}\"", i));
  }
  for (std::size_t at = 0; !c.arguments.empty() && at <= c.arguments.size();) {
    const std::size_t end = std::min(c.arguments.find(' ', at), c.arguments.size());
    arguments.push_back("\"" + c.arguments.substr(at, end - at) + "\"");
    at = end + 1;
  }
  for (const std::string& name : c.outputs) outputs.push_back("\"" + name + "\"");
  // Several outputs are joined, the first of them twice, so that one without a gradient is seen too.
  const std::string join =
      c.outputs.size() == 1
          ? ""
          : R"(,{"op":"Concat","inputs":["y","y2","y"],"outputs":["z"],"attributes":{"axis":{"i":1}}})";
  const std::string text =
      fmt::format(R"({{"opset":{},"inputs":[{}],"outputs":["{}"],"constants":[{}],"nodes":[{{"op":"{}","name":"it",)"
                  R"("inputs":[{}],"outputs":[{}],"attributes":{{{}}}}}{}]}})",
                  c.opset, fmt::join(inputs, ","), join.empty() ? "y" : "z", c.constants, c.op,
                  fmt::join(arguments, ","), fmt::join(outputs, ","), c.attributes, join);
  const auto json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  auto model = graph_from_json(json);
  EXPECT_TRUE(model) << model.error().text() << "\n" << text;
  return *std::move(model);
}

Value random_value(const Dims& dims, double low, double high, std::uint32_t seed) {
  Value value = *Value::create(Type::f64, dims);
  for (std::size_t i = 0; i < value.elements(); ++i) {
    const auto words = philox4x32(7, {static_cast<std::uint32_t>(i), seed, 0, 0});
    value.as<double>()[i] = low + (high - low) * (static_cast<double>(words[0] >> 8) + 0.5) / 16777216.0;
  }
  return value;
}

using Inputs = std::vector<std::pair<std::string, Value>>;

std::vector<Value> run_program(const std::shared_ptr<const Program>& program, const Inputs& inputs, int threads = 1) {
  auto runner = Runner::create(program, {.threads = threads});
  EXPECT_TRUE(runner) << runner.error().text();
  auto outputs = (*runner)->run(inputs);
  EXPECT_TRUE(outputs) << outputs.error().text();
  return outputs ? *std::move(outputs) : std::vector<Value>();
}

class EveryGradient : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryGradient, MatchesCentralDifferences) {
  const GradientCase& c = cases()[GetParam()];
  SCOPED_TRACE(c.op + " " + c.attributes);
  const Model model = model_of(c);
  Inputs inputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    inputs.emplace_back(names.back(), random_value(c.inputs[i], c.low, c.high, static_cast<std::uint32_t>(i + 1)));
  }
  const auto forward = Program::create(model);
  ASSERT_TRUE(forward) << forward.error().text();
  const auto y = run_program(*forward, inputs);
  ASSERT_EQ(y.size(), 1u);
  const Value dy = random_value(y[0].dims, -1, 1, 99);
  const auto loss = [&] {
    const Value now = run_program(*forward, inputs)[0];
    double sum = 0;
    for (std::size_t i = 0; i < now.elements(); ++i) sum += now.as<double>()[i] * dy.as<double>()[i];
    return sum;
  };
  auto made = gradient_model(model, names);
  ASSERT_TRUE(made) << made.error().text();
  const auto backward = Program::create(made->model, {.has_gradients = true});
  ASSERT_TRUE(backward) << backward.error().text();
  Inputs given = inputs;
  given.emplace_back((*backward)->inputs().back().name, dy);
  const auto gradients = run_program(*backward, given);
  ASSERT_EQ(gradients.size(), names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    ASSERT_EQ(gradients[k].dims, c.inputs[k]);
    for (std::size_t i = 0; i < gradients[k].elements(); ++i) {
      double& x = inputs[k].second.as<double>()[i];
      const double kept = x, step = 1e-5;
      x = kept + step;
      const double above = loss();
      x = kept - step;
      const double below = loss();
      x = kept;
      const double expected = (above - below) / (2 * step);
      EXPECT_NEAR(gradients[k].as<double>()[i], expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << names[k] << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, EveryGradient, testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& info) { return fmt::format("{}_{}", cases()[info.param].op, info.param); });

TEST(Gradients, EveryOperationWithOneHasACase) {
  for (const GradientRow* const row : gradient_rows())
    EXPECT_TRUE(std::ranges::any_of(cases(), [&](const GradientCase& c) { return c.op == row->op; }))
        << row->op << ": add it to cases()";
}

Result<Model> read_model(const std::string& text) { return graph_from_json(Json::parse(text)); }

TEST(Gradients, OperationsThatCarryNoneAreNamedInOneError) {
  const Model model = *read_model(R"({"opset":17,"inputs":[{"name":"x","type":"float64","shape":[2,4]}],
    "outputs":["y"],"nodes":[{"op":"CumSum","name":"c","inputs":["x","a"],"outputs":["c"]},
    {"op":"Relu","inputs":["c"],"outputs":["r"]},{"op":"LpNormalization","inputs":["r"],"outputs":["n"]},
    {"op":"ArgMax","inputs":["x"],"outputs":["i"]},{"op":"Add","inputs":["n","x"],"outputs":["y"]}],
    "constants":[{"name":"a","type":"int64","shape":[],"values":[1]}]})");
  const std::string x[] = {"x"};
  const auto made = gradient_model(model, x);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_EQ(made.error().message, "no gradient passes through CumSum \"c\", LpNormalization \"n\"");
}

TEST(Gradients, AnOutputThatNoGradientReachesIsRefused) {
  const Model model = *read_model(R"({"inputs":[{"name":"x","type":"float64","shape":[2,4]}],"outputs":["y"],
    "nodes":[{"op":"ArgMax","name":"top","inputs":["x"],"outputs":["y"]}]})");
  const std::string x[] = {"x"};
  const auto made = gradient_model(model, x);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "no gradient reaches its weights or its input from \"y\": it ends at ArgMax \"top\"");
}

// A value that several operations read gets the sum of their gradients; what another path cuts off counts for nothing.
TEST(Gradients, GradientsOfAValueAreAdded) {
  const Model model = *read_model(R"({"inputs":[{"name":"x","type":"float64","shape":[2]}],"outputs":["y"],
    "nodes":[{"op":"Mul","inputs":["x","x"],"outputs":["s"]},{"op":"Floor","inputs":["x"],"outputs":["f"]},
    {"op":"Add","inputs":["s","x"],"outputs":["t"]},{"op":"Mul","inputs":["t","f"],"outputs":["y"]}]})");
  const std::string x[] = {"x"};
  const auto made = gradient_model(model, x);
  ASSERT_TRUE(made) << made.error().text();
  const auto program = Program::create(made->model, {.has_gradients = true});
  ASSERT_TRUE(program);
  Value in = *Value::create(Type::f64, {2}), dy = *Value::create(Type::f64, {2});
  in.as<double>()[0] = 1.5, in.as<double>()[1] = 3.25, dy.as<double>()[0] = 1, dy.as<double>()[1] = 2;
  const auto g = run_program(*program, {{"x", in}, {(*program)->inputs().back().name, dy}});
  ASSERT_EQ(g.size(), 1u);
  EXPECT_EQ(g[0].as<double>()[0], (2 * 1.5 + 1) * 1);
  EXPECT_EQ(g[0].as<double>()[1], (2 * 3.25 + 1) * 3 * 2);
}

TEST(Gradients, AFileCannotHoldTheNodesOfAGradient) {
  const auto model = read_model(R"({"inputs":[{"name":"x","type":"float32","shape":[2]}],"outputs":["y"],
    "nodes":[{"op":"gradient of Relu","domain":"loom.gradient","inputs":["x","x","x"],"outputs":["y"]}]})");
  ASSERT_TRUE(model);
  const auto checked = check_model(*model);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "operations that Loom lacks: loom.gradient.gradient of Relu");
}

}  // namespace
}  // namespace loom::graph
