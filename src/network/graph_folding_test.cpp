// Constant folding while a network is prepared has a limited amount of work, whichever operations do it.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/json.h"
#include "graph/folding.h"
#include "graph/graph_json.h"
#include "graph/runner.h"
#include "network/graph_work.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::graph_layer_test {
namespace {

// A graph whose output is x + z, with z made by `nodes` of constants. `k` and `h` are zeros of these shapes.
Json folding_graph(const std::vector<std::int64_t>& k, const std::vector<std::int64_t>& h, const Json& nodes) {
  Json all = Json::array();
  const auto expanded = [&](const char* name, const char* sizes) {
    all.push_back({{"op", "Expand"}, {"inputs", {"half", sizes}}, {"outputs", {name}}});
  };
  expanded("k", "ks"), expanded("h", "hs");
  for (const Json& node : nodes) all.push_back(node);
  all.push_back(
      {{"op", "ReduceSum"}, {"inputs", {"z"}}, {"outputs", {"sum"}}, {"attributes", {{"keepdims", {{"i", 0}}}}}});
  all.push_back({{"op", "Add"}, {"inputs", {"x", "sum"}}, {"outputs", {"y"}}});
  const auto sizes = [](const char* name, const std::vector<std::int64_t>& values) {
    return Json{{"name", name}, {"type", "int64"}, {"shape", {values.size()}}, {"values", values}};
  };
  return {{"opset", 17},
          {"inputs", {{{"name", "x"}, {"type", "float32"}, {"shape", {-1, 2}}}}},
          {"outputs", {"y"}},
          {"constants",
           {sizes("ks", k),
            sizes("hs", h),
            {{"name", "half"}, {"type", "float32"}, {"shape", Json::array()}, {"values", {0.5}}}}},
          {"nodes", std::move(all)}};
}
Json node(const char* op, const Json& inputs, const char* output, const Json& attributes = Json::object()) {
  return {{"op", op}, {"inputs", inputs}, {"outputs", {output}}, {"attributes", attributes}};
}
Json network_of(const Json& graph, std::size_t layers = 1) {
  Json spec{{"input_shape", {2}}, {"layers", Json::array()}};
  for (std::size_t i = 0; i < layers; ++i) spec["layers"].push_back({{"type", "graph"}, {"graph", graph}});
  return spec;
}
Result<std::shared_ptr<const ForwardPlan>> planned(const Json& spec) {
  LOOM_TRY(SpecResult read, network_from_json(spec));
  return ForwardPlan::create(read.network, Shape::of({1, 2}));
}
Json ints(std::initializer_list<std::int64_t> values) { return {{"ints", Json(std::vector<std::int64_t>(values))}}; }

// A body that repeats `nodes` so often.
Json loop_of(std::int64_t times, const Json& nodes, const char* result) {
  Json inner = nodes;
  inner.push_back(node("Identity", {"go"}, "on"));
  inner.push_back(node("Identity", {result}, "next"));
  const Json body{{"inputs", {{{"name", "i"}}, {{"name", "go"}}, {{"name", "before"}}}},
                  {"outputs", {"on", "next"}},
                  {"nodes", inner}};
  const Json count{{"type", "int64"}, {"shape", Json::array()}, {"values", {times}}};
  return Json::array({{{"op", "Constant"},
                       {"inputs", Json::array()},
                       {"outputs", {"times"}},
                       {"attributes", {{"value", {{"t", count}}}}}},
                      {{"op", "Loop"},
                       {"inputs", {"times", "", "half"}},
                       {"outputs", {"z"}},
                       {"attributes", {{"body", {{"g", body}}}}}}});
}

struct Hostile {
  std::string what;
  Json graph;
};
std::vector<Hostile> hostile_graphs() {
  const auto one = [](const Json& n) { return Json::array({n}); };
  const Json equation{{"equation", {{"s", "ab,cd,ef,gh,ij,kl->"}}}};
  const Json kernel2{{"kernel_shape", ints({1024, 1024})}, {"pads", ints({512, 512, 511, 511})}};
  std::vector<Hostile> all{
      {"Einsum", folding_graph({20, 20}, {1}, one(node("Einsum", {"k", "k", "k", "k", "k", "k"}, "z", equation)))},
      {"Einsum of an ellipsis",
       folding_graph({512, 512}, {512, 512},
                     one(node("Einsum", {"k", "h"}, "z", {{"equation", {{"s", "a...,...b->..."}}}})))},
      {"MatMul", folding_graph({4096, 4096}, {1}, one(node("MatMul", {"k", "k"}, "z")))},
      {"Gemm", folding_graph({4096, 4096}, {1}, one(node("Gemm", {"k", "k"}, "z")))},
      {"Conv", folding_graph({1, 8, 512, 512}, {64, 8, 9, 9}, one(node("Conv", {"k", "h"}, "z")))},
      {"ConvTranspose", folding_graph({1, 8, 512, 512}, {8, 64, 9, 9}, one(node("ConvTranspose", {"k", "h"}, "z")))},
      {"MaxPool", folding_graph({1, 1, 1024, 1024}, {1}, one(node("MaxPool", {"k"}, "z", kernel2)))},
      {"LpPool", folding_graph({1, 1, 1024, 1024}, {1}, one(node("LpPool", {"k"}, "z", kernel2)))},
      {"LRN", folding_graph({1, 4096, 4096}, {1}, one(node("LRN", {"k"}, "z", {{"size", {{"i", 4095}}}})))},
      {"TopK",
       folding_graph({1 << 26}, {1},
                     Json::array({node("Constant", Json::array(), "n",
                                       {{"value", {{"t", {{"type", "int64"}, {"shape", {1}}, {"values", {9}}}}}}}),
                                  node("TopK", {"k", "n"}, "z")}))},
      {"Loop of MatMul", folding_graph({256, 256}, {1}, loop_of(100000, one(node("MatMul", {"k", "k"}, "p")), "p"))},
      {"Loop of ReduceMax", folding_graph({1 << 20}, {1}, loop_of(100000, one(node("ReduceMax", {"k"}, "p")), "p"))},
      {"Loop of Exp", folding_graph({1 << 16}, {1}, loop_of(1000000, one(node("Exp", {"k"}, "p")), "p"))}};
  // Stacks of products that hold nothing are walked while their shapes are found.
  all.push_back(
      {"Loop of empty products",
       folding_graph(
           {1 << 23, 1, 4}, {4, 0},
           loop_of(100000, Json::array({node("MatMul", {"k", "h"}, "p"), node("ReduceSum", {"p"}, "q")}), "q"))});
  return all;
}

TEST(GraphFolding, MoreWorkOnConstantsThanTheBudgetIsRefusedAtOnce) {
  for (const Hostile& hostile : hostile_graphs()) {
    SCOPED_TRACE(hostile.what);
    const auto begun = std::chrono::steady_clock::now();
    const auto done = planned(network_of(hostile.graph));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::LimitExceeded) << done.error().text();
    EXPECT_LT(took.count(), 60) << "a machine that others use too";
  }
}

// Counted from the JSON by the textbook: no plan works more on constants than its own account says.
TEST(GraphFolding, ThePlannerCountsAtLeastTheMultiplyAddsOfTheTextbook) {
  for (const Hostile& hostile : hostile_graphs()) {
    const double work = GraphWork::of(hostile.graph);
    const bool is_known = hostile.what.starts_with("MatMul") || hostile.what == "Einsum" || hostile.what == "Conv" ||
                          hostile.what == "Loop of MatMul";
    if (is_known) {
      EXPECT_GT(work, static_cast<double>(graph::FoldingBudget::kMostFolded)) << hostile.what;
    }
  }
  const auto einsum = [](const char* equation) {
    return node("Einsum", {"k", "h"}, "z", {{"equation", {{"s", equation}}}});
  };
  const Json conv{{"pads", ints({1, 2, 0, 1})}, {"strides", ints({2, 1})}, {"dilations", ints({1, 2})}};
  const std::vector<std::pair<double, Json>> graphs{
      {7 * 5 * 9, folding_graph({7, 5}, {5, 9}, Json::array({node("MatMul", {"k", "h"}, "z")}))},
      {3 * 4 * 7 * 5 * 9, folding_graph({3, 1, 7, 5}, {4, 5, 9}, Json::array({node("MatMul", {"k", "h"}, "z")}))},
      {6 * 5 * 4, folding_graph({6, 5}, {5, 4}, Json::array({einsum("ab,bc->ac")}))},
      {6 * 5 * 4, folding_graph({6, 5}, {4}, Json::array({einsum("ab,c->")}))},
      {6 * 5, folding_graph({6, 6}, {6, 5}, Json::array({einsum("aa,ab->b")}))},
      {2 * 3 * (5 * 6) * (4 * 3 * 2),
       folding_graph({2, 4, 10, 5}, {3, 4, 3, 2}, Json::array({node("Conv", {"k", "h"}, "z", conv)}))},
      {11 * (7 * 7 * 7), folding_graph({7, 7}, {1}, loop_of(11, Json::array({node("MatMul", {"k", "k"}, "p")}), "p"))}};
  for (const auto& [work, graph] : graphs) {
    SCOPED_TRACE(dump_json(graph["nodes"]));
    const graph::FoldingBudget budget;
    EXPECT_TRUE(planned(network_of(graph)));
    const double counted = GraphWork::of(graph);
    EXPECT_LE(counted, static_cast<double>(budget.spent()));
    EXPECT_EQ(counted, work);
  }
}

// The budget is one for all graphs of a network.
TEST(GraphFolding, GraphsOfOneNetworkShareABudget) {
  const Json graph = folding_graph({1024, 1024}, {1}, Json::array({node("MatMul", {"k", "k"}, "z")}));
  EXPECT_TRUE(planned(network_of(graph)));
  const auto many = planned(network_of(graph, 40));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::LimitExceeded) << many.error().text();
}

// Constants that a file holds may be worked on, as many as there are.
TEST(GraphFolding, BudgetGrowsWithTheConstants) {
  graph::FoldingBudget budget;
  EXPECT_TRUE(budget.spend(graph::FoldingBudget::kMostFolded));
  EXPECT_FALSE(budget.spend(1));
  budget.bring(10);
  EXPECT_TRUE(budget.spend(10 * graph::FoldingBudget::kFoldedPerElement));
  const auto over = budget.spend(1);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::LimitExceeded);
  graph::FoldingBudget inner;  // shares it
  EXPECT_FALSE(inner.spend(1));
}

TEST(GraphFolding, WorkOfEveryOperationIsKnown) {
  for (const auto rows : {graph::elementwise_rows(), graph::binary_rows(), graph::shape_rows(), graph::index_rows(),
                          graph::reduce_rows(), graph::linear_rows(), graph::spatial_rows(), graph::norm_rows(),
                          graph::recurrent_rows(), graph::quantize_rows(), graph::resize_rows(), graph::loss_rows(),
                          graph::attention_rows(), graph::sampling_rows(), graph::signal_rows()})
    for (const graph::OpRow& row : rows)
      EXPECT_TRUE(graph::has_known_work(row.name)) << row.name << ": add it to src/graph/folding.cpp";
}

// Operations on an input of a call are that call's work: they have no budget, but the call can be cancelled in the
// middle of an operation.
TEST(GraphFolding, LongOperationsOfACallAreCancelled) {
  const auto f32 = [](std::vector<std::size_t> dims) { return graph::Value::create(graph::Type::f32, dims).value(); };
  struct Long {
    const char* nodes;
    std::vector<std::size_t> dims;
  };
  const Long cases[] = {
      {R"([{"op":"Einsum","inputs":["x","x","x","x","x","x"],"outputs":["y"],"attributes":{"equation":{"s":"ab,cd,ef,gh,ij,kl->"}}}])",
       {20, 20}},
      {R"([{"op":"Cast","inputs":["x"],"outputs":["w"],"attributes":{"to":{"i":7}}},{"op":"MatMul","inputs":["w","w"],"outputs":["y"]}])",
       {6000, 6000}},
      {R"([{"op":"MatMul","inputs":["x","x"],"outputs":["y"]}])", {16000, 16000}},
      {R"([{"op":"Conv","inputs":["x","x"],"outputs":["y"],"attributes":{"pads":{"ints":[100,100,100,100]}}}])",
       {16, 16, 200, 200}},
      {R"([{"op":"ConvTranspose","inputs":["x","x"],"outputs":["y"]}])", {16, 16, 200, 200}},
      {R"([{"op":"MaxPool","inputs":["x"],"outputs":["y"],"attributes":{"kernel_shape":{"ints":[512,512]},"pads":{"ints":[256,256,255,255]}}}])",
       {1, 64, 1024, 1024}},
      {R"([{"op":"LpPool","inputs":["x"],"outputs":["y"],"attributes":{"kernel_shape":{"ints":[512,512]},"pads":{"ints":[256,256,255,255]}}}])",
       {1, 1, 1024, 1024}}};
  for (const Long& c : cases) {
    SCOPED_TRACE(c.nodes);
    const std::string text =
        fmt::format(R"({{"opset":18,"inputs":[{{"name":"x","type":"float32"}}],"outputs":["y"],"nodes":{}}})", c.nodes);
    auto model = graph::graph_from_json(parse_json(text).value());
    ASSERT_TRUE(model) << model.error().text();
    auto program = graph::Program::create(std::move(*model));
    ASSERT_TRUE(program) << program.error().text();
    const auto runner = graph::Runner::create(*program, {.threads = 1}).value();
    std::atomic<bool> cancel{false};
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      cancel = true;
    });
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::pair<std::string, graph::Value>> inputs;
    inputs.emplace_back("x", f32(c.dims));
    const auto ran = runner->run(std::move(inputs), &cancel);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    canceller.join();
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, Code::Cancelled) << ran.error().text();
    EXPECT_LT(took.count(), 30) << "a machine that others use too";
  }
}

// A product in parts has the bits of one at once.
TEST(GraphFolding, LargeProductsInPartsHaveTheirBits) {
  const std::size_t m = 2200, k = 700, n = 700;  // above 2^30 multiply-adds; rows alone are below
  const std::string text =
      R"({"opset":17,"inputs":[{"name":"a","type":"float32"},{"name":"b","type":"float32"}],"outputs":["y"],)"
      R"("nodes":[{"op":"MatMul","inputs":["a","b"],"outputs":["y"]}]})";
  auto model = graph::graph_from_json(parse_json(text).value());
  ASSERT_TRUE(model) << model.error().text();
  const auto program = graph::Program::create(std::move(*model)).value();
  const auto runner = graph::Runner::create(program, {.threads = 2}).value();
  const auto run = [&](std::size_t first, std::size_t rows) {
    auto a = graph::Value::create(graph::Type::f32, {rows, k}).value(),
         b = graph::Value::create(graph::Type::f32, {k, n}).value();
    for (std::size_t i = 0; i < rows * k; ++i)
      a.as<float>()[i] = static_cast<float>((first * k + i) * 7919 % 1000) / 977.0f - 0.5f;
    for (std::size_t i = 0; i < k * n; ++i) b.as<float>()[i] = static_cast<float>(i * 104729 % 1000) / 983.0f - 0.5f;
    std::vector<std::pair<std::string, graph::Value>> inputs;
    inputs.emplace_back("a", std::move(a)), inputs.emplace_back("b", std::move(b));
    auto out = runner->run(std::move(inputs));
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    const float* const y = (*out)[0].as<float>();
    return std::vector<float>(y, y + rows * n);
  };
  const std::vector<float> whole = run(0, m);
  const std::vector<float> last = run(m - 30, 30);
  EXPECT_EQ(std::vector<float>(whole.end() - static_cast<std::ptrdiff_t>(30 * n), whole.end()), last);
}

}  // namespace
}  // namespace loom::graph_layer_test
