// Containers, links, grafts and specs against their requirements; gradients by central differences in f64.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/json.h"
#include "network/spec/clone.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/network.h"

namespace loom::containers_test {
namespace {

using test::read;
using test::seeded;

const std::string kDense = R"({"type":"dense","input_height":5,"output_height":5,"activation":"tanh"})";

std::string cell(int l, std::string layer) { return layer.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{},)", l)); }
std::string grid(std::initializer_list<std::string> layers, int cells, const std::string& more = "") {
  std::string list;
  for (const std::string& l : layers) list += (list.empty() ? "" : ",") + l;
  return fmt::format(
      R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"activations":"float64","default_dtype":"float64","seed":7,{}"layers":[{}]}})",
      cells, more, list);
}

std::vector<double> run(Network& network, const Shape& shape, const std::vector<double>& x) {
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false}).value();
  const auto y = session->forward({x.data(), shape, Element::f64});
  EXPECT_TRUE(y) << (y ? "" : y.error().text());
  return y ? std::vector<double>(y->as<double>(), y->as<double>() + y->shape.elements()) : std::vector<double>();
}

// Every element of dx and of every weight's gradient of sum(dy * y) by central differences.
void check_gradients(Network& network, const Shape& shape, const char* what) {
  SCOPED_TRACE(what);
  std::vector<double> x = seeded<double>("x", shape.elements());
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
  const auto y = session->forward({x.data(), shape, Element::f64});
  ASSERT_TRUE(y) << y.error().text();
  const std::vector<double> dy = seeded<double>("dy", y->shape.elements());
  session->gradients().clear();
  const auto dx = session->backward({dy.data(), y->shape, Element::f64});
  ASSERT_TRUE(dx) << dx.error().text();
  const auto loss = [&] {
    const std::vector<double> out = run(network, shape, x);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dy[i];
    return sum;
  };
  constexpr double h = 1e-5;
  const auto near = [&](double actual, double up, double down, const std::string& name) {
    const double expected = (up - down) / (2 * h);
    EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double was = x[i];
    x[i] = was + h;
    const double up = loss();
    x[i] = was - h;
    const double down = loss();
    x[i] = was;
    near(dx->as<double>()[i], up, down, fmt::format("dx[{}]", i));
  }
  network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
    std::vector<double> values(w.elements());
    w.decode(0, w.elements(), values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double was = values[i];
      values[i] = was + h;
      ASSERT_TRUE(w.set(std::span<const double>(values)));
      const double up = loss();
      values[i] = was - h;
      ASSERT_TRUE(w.set(std::span<const double>(values)));
      const double down = loss();
      values[i] = was;
      near(static_cast<const double*>(session->gradients().of(w))[i], up, down, fmt::format("{}[{}]", name, i));
    }
    ASSERT_TRUE(w.set(std::span<const double>(values)));
  });
}

std::string link_to(int l, const std::string& more = "") {
  return fmt::format(R"({{"is_remote_link":true,"target_l":{}{}}})", l, more);
}

struct Container {
  const char* name;
  std::string spec;
};
const std::vector<Container>& containers() {
  const std::string wide = R"({"type":"dense","input_height":5,"output_height":3,"activation":"tanh"})";
  const std::string to = R"({"type":"dense","input_height":5,"output_height":2,"scatter_to":)";
  static const std::vector<Container> all = {
      {"G_13 concat of 5 and 3", R"({"type":"parallel","parallel_branches":[)" + kDense + "," + wide + "]}"},
      {"G_09 concat with a disabled branch",
       R"({"type":"parallel","parallel_branches":[)" + kDense +
           R"(,{"type":"dense","input_height":5,"output_height":3,"is_disabled":true},)" + wide + "]}"},
      {"G_09 sequential with a disabled child",
       R"({"type":"sequential","sequential_layers":[)" + kDense +
           R"(,{"type":"dense","input_height":5,"output_height":5,"is_disabled":true},)" + wide + "]}"},
      {"G_10 sequential[dense, dense, residual]",
       R"({"type":"sequential","sequential_layers":[)" + kDense + "," + kDense + R"(,{"type":"residual"}]})"},
      {"G_10 skip from the container's input", R"({"type":"sequential","sequential_layers":[)" + kDense + "," + kDense +
                                                   R"(,{"type":"residual","skip_from":0}]})"},
      {"G_10 two skips from one tensor, around a disabled child",
       R"({"type":"sequential","residual":true,"sequential_layers":[)" + kDense +
           R"(,{"type":"dense","input_height":5,"output_height":5,"is_disabled":true},)" + kDense +
           R"(,{"type":"residual","skip_from":1},{"type":"residual","skip_from":1},)" + kDense + "]}"},
      {"G_11 sequential[parallel, residual]",
       R"({"type":"sequential","sequential_layers":[{"type":"parallel","combine_mode":"add","parallel_branches":[)" +
           kDense + "," + kDense + R"(]},{"type":"residual"}]})"},
      {"V_33 avg", R"({"type":"parallel","combine_mode":"avg","parallel_branches":[)" + kDense + "," + kDense + "," +
                       kDense + "]}"},
      {"G_16 grid_scatter",
       R"({"type":"parallel","combine_mode":"grid_scatter","scatter_grid":{"rows":2,"cols":3},"scatter_layout":"channels_first","parallel_branches":[)" +
           to + "[0,1,2]}," + to + "[0,0,1]}," + to + "[0,1,2]}]}"},
      {"G_14 filter", R"({"type":"parallel","combine_mode":"filter","gate_temperature":0.7,"filter_gate":)" + wide +
                          R"(,"parallel_branches":[)" + kDense + "," + kDense + "," + kDense + "]}"},
      {"G_14 filter of the best", R"({"type":"parallel","combine_mode":"filter","top_k":1,"filter_gate":)" + wide +
                                      R"(,"parallel_branches":[)" + kDense + "," + kDense + "," + kDense + "]}"},
      {"G_14 filter per sample",
       R"({"type":"parallel","combine_mode":"filter","top_k":2,"gate_scope":"sample","filter_gate":)" + wide +
           R"(,"parallel_branches":[)" + kDense + "," + kDense + "," + kDense + "]}"},
  };
  return all;
}

TEST(Containers, gradients_match_differences) {  // G-09, G-10, G-11, G-13, G-14, G-16
  for (const Container& c : containers()) {
    Network network = read(grid({cell(0, c.spec)}, 1));
    check_gradients(network, Shape::of({4, 5}), c.name);
    if (std::string_view(c.name).starts_with("G_14")) check_gradients(network, Shape::of({2, 3, 5}), c.name);
  }
}

TEST(Containers, value_at_its_cell_and_zeros_elsewhere) {  // G-16, V-34
  Network network = read(grid(
      {cell(
          0,
          R"({"type":"parallel","combine_mode":"grid_scatter","scatter_grid":{"rows":2,"cols":3},"parallel_branches":[{"type":"dense","input_height":2,"output_height":1,"scatter_to":[0,1,2],"weights":{"weight":[2,3]}}]})")},
      1, R"("input_shape":[2],)"));
  EXPECT_EQ(run(network, Shape::of({1, 2}), {1, 10}), (std::vector<double>{0, 0, 0, 0, 0, 32}));
}

Code code_of(const std::string& spec, const Shape& input = Shape::of({1, 5}), std::string* message = nullptr) {
  auto result = network_from_json(std::string_view(spec));
  Error error{Code::NoValue, ""};
  if (!result) {
    error = result.error();
  } else if (auto plan = ForwardPlan::create(result->network, input); !plan) {
    error = plan.error();
  }
  if (message != nullptr) *message = error.text();
  return error.code;
}

TEST(Containers, bad_containers_are_errors) {  // G-15, G-17
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"parallel","combine_mode":"sum","parallel_branches":[]})")}, 1)),
            Code::InvalidConfig);
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"parallel","combine_mode":"filter","parallel_branches":[]})")}, 1)),
            Code::InvalidConfig);
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"sequential","sequential_layers":[{"type":"residual"}]})")}, 1)),
            Code::InvalidConfig);
  EXPECT_EQ(
      code_of(grid(
          {cell(
              0,
              R"({"type":"parallel","combine_mode":"grid_scatter","parallel_branches":[{"type":"activation","scatter_to":[0,0,1]}]})")},
          1)),
      Code::OutOfRange);
}

TEST(Containers, settings_of_a_gate_belong_to_filter) {  // V-35
  for (const char* mode : {"concat", "add", "avg", "grid_scatter"})
    for (const char* setting :
         {R"("top_k":1)", R"("gate_temperature":2)", R"("gate_aux_weight":0.1)", R"("gate_scope":"sample")",
          R"("filter_gate":{"type":"dense","input_height":2,"output_height":1})"}) {
      const auto read = [&](const char* combine) {
        return layer_from_json(
            parse_json(fmt::format(
                           R"({{"type":"parallel","combine_mode":"{}","parallel_branches":[{{"type":"softmax"}}],{}}})",
                           combine, setting))
                .value());
      };
      const auto refused = read(mode);
      ASSERT_FALSE(refused) << mode << setting;
      EXPECT_EQ(refused.error().code, Code::InvalidConfig);
      EXPECT_NE(refused.error().text().find("combine_mode filter"), std::string::npos) << refused.error().text();
    }
  EXPECT_TRUE(layer_from_json(
      parse_json(R"({"type":"parallel","top_k":0,"gate_temperature":1,"gate_aux_weight":0,"gate_scope":"row"})")
          .value()));
}

TEST(Links, shared_targets_run_locally_and_are_trained) {  // G-05, V-20, V-21, G-06
  Network network = read(grid({cell(0, kDense), cell(1, link_to(0)), cell(2, link_to(1)),
                               cell(3, R"({"type":"parallel","combine_mode":"add","parallel_branches":[)" + link_to(4) +
                                           "," + link_to(0) + "]}"),
                               cell(4, R"({"type":"dense","input_height":5,"output_height":5,"is_disabled":true})")},
                              5));
  check_gradients(network, Shape::of({2, 5}), "shares");
  Network plain = read(grid({cell(0, kDense)}, 1));
  Network twice = read(grid({cell(0, kDense), cell(1, link_to(0))}, 2));
  const Shape shape = Shape::of({2, 5});
  const std::vector<double> x = seeded<double>("x", 10);
  EXPECT_EQ(run(twice, shape, x), run(plain, shape, run(plain, shape, x)));
}

TEST(Links, feed_takes_the_targets_output) {  // V-22
  const std::string ten =
      R"({"type":"dense","input_height":10,"output_height":5,"is_remote_link":true,"target_l":0,"link_mode":"feed","link_merge":"concat"})";
  Network network =
      read(grid({cell(0, kDense), cell(1, kDense), cell(2, link_to(0, R"(,"link_mode":"feed","link_merge":"add")")),
                 cell(3, ten), cell(4, kDense), cell(5, link_to(1, R"(,"link_mode":"feed")"))},
                6));
  check_gradients(network, Shape::of({2, 5}), "feeds");
  EXPECT_EQ(code_of(grid({cell(0, link_to(1, R"(,"link_mode":"feed")")), cell(1, kDense)}, 2)), Code::FeedbackLink);
}

// Every way in which a cell holds a link: with an operation of its own and without, named, switched off.
const std::string kOwn = "," + kDense.substr(1, kDense.size() - 2);
const std::string kLinked = grid(
    {cell(0, kDense),
     cell(1, link_to(0, R"(,"link_mode":"feed","link_merge":"add","name":"fed","learning_rate_scale":0.5)" + kOwn)),
     cell(2, link_to(1, R"(,"link_mode":"feed","name":"passed","is_disabled":true)")), cell(3, link_to(0, kOwn)),
     cell(4, link_to(1, R"(,"link_mode":"share","name":"again")")), cell(5, kDense)},
    6);

TEST(Links, a_cell_with_a_link_is_written_copied_and_morphed_as_one) {  // V-26
  Network network = read(kLinked);
  const Json spec = network_to_json(network);
  EXPECT_EQ(spec["layers"], network_to_json(read(dump_json(spec)))["layers"]);
  EXPECT_EQ(spec["layers"].size(), 6u);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(spec["layers"][i]["is_remote_link"], true) << i;
  EXPECT_EQ(spec["layers"][1]["type"], "dense");
  EXPECT_EQ(spec["layers"][1]["name"], "fed");
  EXPECT_EQ(spec["layers"][2]["is_disabled"], true);
  EXPECT_FALSE(spec["layers"][2].contains("type"));
  EXPECT_EQ(spec["layers"][4]["name"], "again");
  const Shape shape = Shape::of({2, 5});
  Network copy = clone_network(network).value();
  EXPECT_EQ(dump_json(network_to_json(copy)), dump_json(spec));
  const std::vector<double> x = seeded<double>("x", 10);
  EXPECT_EQ(run(copy, shape, x), run(network, shape, x));
  ASSERT_TRUE(network.morph("layers.1", DType::int8));
  EXPECT_EQ(network_to_json(network)["layers"][1]["dtype"], "int8");
  network.visit_weights([](const std::string& path, const Weight& w, const Layer&) {
    EXPECT_EQ(w.dtype() == DType::int8, path.starts_with("layers.1.")) << path;
  });
  ASSERT_TRUE(copy.morph_all(DType::float32));
  for (const Json& layer : network_to_json(copy)["layers"]) EXPECT_EQ(layer["dtype"], "float32") << dump_json(layer);
}

// Hooks see the operation that a linked cell runs, and after it the link, under the cell's path.
TEST(Links, hooks_see_the_operation_and_then_the_link) {  // V-20, V-22
  struct Names final : LayerWatch {
    std::map<const Layer*, std::string> names;
    std::string forward, backward;
    void after_forward(const Layer& layer, const ConstView&, const ConstView&) override {
      forward += names[&layer] + " ";
    }
    void after_backward(const Layer& layer, const ConstView&, const ConstView&) override {
      backward += names[&layer] + " ";
    }
  } watch;
  Network network = read(kLinked);
  const Shape shape = Shape::of({2, 5});
  network.each_layer([&](std::size_t cell, const std::string&, Layer& layer) {
    watch.names[&layer] = fmt::format("{}:{}", cell, layer.kind());
  });
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
  session->watch(&watch);
  const std::vector<double> x = seeded<double>("x", 10);
  ASSERT_TRUE(session->forward({x.data(), shape, Element::f64}));
  ASSERT_TRUE(session->backward({x.data(), shape, Element::f64}));
  EXPECT_EQ(watch.forward, "0:dense 1:dense 1:link 0:dense 3:link 1:dense 4:link 5:dense ");
  EXPECT_EQ(watch.backward, "5:dense 1:dense 4:link 0:dense 3:link 1:dense 1:link 0:dense ");
}

TEST(Links, a_feed_stands_in_a_cell_of_the_grid) {  // V-22
  const auto result =
      network_from_json(grid({cell(0, kDense), cell(1, R"({"type":"sequential","sequential_layers":[)" + kDense + "," +
                                                           link_to(0, R"(,"link_mode":"feed")") + "]}")},
                             2));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::InvalidConfig);
  EXPECT_EQ(result.error().text(),
            "/layers/1/sequential_layers/1: a feed link stands in a cell of the grid, not inside a container");
}

TEST(Links, residual_adds_the_output_of_an_earlier_cell) {  // V-31
  Network network = read(grid({cell(0, kDense), cell(1, kDense),
                               cell(2, R"({"type":"sequential","sequential_layers":[)" + kDense +
                                           R"(,{"type":"residual","skip_from":[0,0,0,0]}]})")},
                              3));
  check_gradients(network, Shape::of({2, 5}), "address");
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"residual","skip_from":[0,0,0,1]})"), cell(1, kDense)}, 2)),
            Code::FeedbackLink);
}

TEST(Links, a_skip_takes_what_the_named_cell_gave_also_where_that_cell_is_a_link) {  // V-31
  const std::string skip = R"({"type":"residual","skip_from":[0,0,0,1]})";
  Network network = read(grid({cell(0, kDense), cell(1, link_to(0)), cell(2, skip)}, 3));
  Network twice = read(grid({cell(0, kDense), cell(1, link_to(0))}, 2));
  const Shape shape = Shape::of({2, 5});
  check_gradients(network, shape, "skip from a link");
  const std::vector<double> x = seeded<double>("x", 10);
  std::vector<double> expected = run(twice, shape, x);
  for (double& v : expected) v += v;
  EXPECT_EQ(run(network, shape, x), expected);
  // The link's target is disabled: its cell passes the input through, the link does not.
  const std::string narrow = R"({"type":"dense","input_height":5,"output_height":3,"is_disabled":true})";
  Network disabled = read(grid({cell(0, narrow), cell(1, link_to(0)), cell(2, skip)}, 3));
  check_gradients(disabled, shape, "skip from a link to a disabled cell");
}

TEST(Links, prepare_refuses_what_a_skip_cannot_add) {  // V-06, V-31
  const auto dense = [](int in, int out) {
    return fmt::format(R"({{"type":"dense","input_height":{},"output_height":{}}})", in, out);
  };
  const auto holding = [&](const std::string& child, int from) {
    return R"({"type":"sequential","sequential_layers":[)" + child +
           fmt::format(R"(,{{"type":"residual","skip_from":[0,0,0,{}]}}]}})", from);
  };
  std::string message;
  EXPECT_EQ(code_of(grid({cell(0, dense(5, 3)), cell(1, holding(dense(3, 4), 0))}, 2), Shape::of({2, 5}), &message),
            Code::ShapeMismatch);
  EXPECT_NE(message.find("skip of shape [2, 3], input of shape [2, 4]"), std::string::npos) << message;
  // A session may give other lengths than the ones that were checked.
  Network lengths = read(grid({cell(0, dense(5, 5)), cell(1, holding(dense(5, 5), 0))}, 2));
  const auto session = NetworkSession::create(lengths, Shape::of({2, 3, 5}), {1}).value();
  const std::vector<double> longer = seeded<double>("x", 35);
  EXPECT_EQ(session->forward({longer.data(), Shape::of({1, 7, 5}), Element::f64})->shape, Shape::of({1, 7, 5}));
  // Shared by a cell that runs before the one whose output is added: alone, and through another link.
  const auto spec = [&](int user) {
    return grid({cell(0, user == 0 ? link_to(3) : kDense), cell(1, kDense), cell(2, user == 2 ? link_to(3) : kDense),
                 cell(3, holding(kDense, 1))},
                4);
  };
  EXPECT_EQ(code_of(spec(0), Shape::of({2, 5}), &message), Code::FeedbackLink);
  EXPECT_NE(message.find("cell (0,0,0,3) adds the output of cell (0,0,0,1), which does not run before cell (0,0,0,0)"),
            std::string::npos)
      << message;
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"sequential","sequential_layers":[)" + link_to(2) + "]}"), cell(1, kDense),
                          cell(2, R"({"type":"sequential","sequential_layers":[)" + link_to(3) + "]}"),
                          cell(3, holding(kDense, 1))},
                         4)),
            Code::FeedbackLink);
  Network later = read(spec(2));
  check_gradients(later, Shape::of({2, 5}), "a shared skip");
  Network steps = read(spec(0));
  EXPECT_TRUE(StepPlan::create(steps, Shape::of({2, 5})));
}

// Statistics move once for every use of a shared layer, as they would in two calls.
TEST(Links, a_batchnorm_that_runs_twice_in_a_step_moves_its_statistics_twice) {  // L-92, V-21
  const std::string norm = R"({"type":"batchnorm","input_height":5,"momentum":0.25})";
  const Shape shape = Shape::of({4, 5});
  const std::vector<double> x = seeded<double>("x", 20);
  const auto train = [&](Network& network, const std::vector<double>& input) {
    const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
    const auto y = session->forward({input.data(), shape, Element::f64}, {.training = true});
    EXPECT_TRUE(y);
    return std::vector<double>(y->as<double>(), y->as<double>() + 20);
  };
  Network shared = read(grid({cell(0, norm), cell(1, link_to(0))}, 2)), alone = read(grid({cell(0, norm)}, 1));
  train(shared, x);
  train(alone, train(alone, x));
  const auto weights = [](Network& network) {
    std::vector<double> all;
    network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      std::vector<double> values(w.elements());
      w.decode(0, w.elements(), values.data());
      all.insert(all.end(), values.begin(), values.end());
    });
    return all;
  };
  EXPECT_EQ(weights(shared), weights(alone));
}

TEST(Links, bad_targets_are_found_before_anything_runs) {  // G-07, V-24, V-25
  const auto holder = [](int l, const std::string& inside) {
    return cell(l, R"({"type":"parallel","combine_mode":"add","parallel_branches":[)" + inside + "]}");
  };
  std::string message;
  EXPECT_EQ(code_of(grid({holder(0, link_to(1)), holder(1, link_to(0))}, 2), Shape::of({1, 5}), &message),
            Code::LinkCycle);
  EXPECT_NE(message.find("layers.0.parallel_branches.0 -> layers.1.parallel_branches.0 -> layers.0"), std::string::npos)
      << message;
  EXPECT_EQ(code_of(grid({cell(0, link_to(1)), cell(1, link_to(2)), cell(2, link_to(0))}, 3)), Code::LinkCycle);
  EXPECT_EQ(code_of(grid({cell(0, link_to(0))}, 1)), Code::LinkCycle);
  EXPECT_EQ(code_of(grid({holder(0, link_to(0))}, 1)), Code::LinkCycle);
  EXPECT_EQ(code_of(grid({cell(0, link_to(1))}, 2)), Code::LinkToEmpty);
  EXPECT_EQ(code_of(grid({cell(0, link_to(2))}, 2)), Code::OutOfRange);
  // Doubling through links: few cells, more work than any machine does; and deeper than containers may nest.
  std::string doubling, chain;
  for (int i = 0; i < 40; ++i)
    doubling += (i ? "," : "") + (i < 39 ? holder(i, link_to(i + 1) + "," + link_to(i + 1)) : cell(i, kDense));
  EXPECT_EQ(code_of(grid({doubling}, 40)), Code::LimitExceeded);
  for (int i = 0; i < 80; ++i) chain += (i ? "," : "") + (i < 79 ? holder(i, link_to(i + 1)) : cell(i, kDense));
  EXPECT_EQ(code_of(grid({chain}, 80)), Code::NestingTooDeep);
}

TEST(Spec, written_specs_are_a_fixed_point) {  // G-08, V-26, J-24
  std::vector<std::string> specs;
  for (const Container& c : containers()) specs.push_back(grid({cell(0, c.spec)}, 1));
  specs.push_back(grid(
      {cell(0, kDense),
       cell(1,
            link_to(0, R"(,"type":"dense","input_height":5,"output_height":5,"link_mode":"feed","link_merge":"add")")),
       cell(2, link_to(0))},
      3, R"("init":"he",)"));
  for (const std::string& text : specs) {
    const Json once = network_to_json(read(text));
    const Json twice = network_to_json(read(dump_json(once)));
    EXPECT_EQ(*dump_canonical(once), *dump_canonical(twice));
    Network a = read(text), b = read(dump_json(once));
    const Shape shape = Shape::of({2, 5});
    EXPECT_EQ(run(a, shape, seeded<double>("x", 10)), run(b, shape, seeded<double>("x", 10)));
  }
}

TEST(Network, places_and_pass_through) {  // G-01, V-02, V-03, V-05, V-06, G-04
  Network network = Network::create({2, 2, 2, 1}).value();
  EXPECT_EQ(network.layer({0, 2, 0, 0}).error().code, Code::OutOfRange);
  EXPECT_EQ(Network::create({0, 1, 1, 1}).error().code, Code::InvalidConfig);
  EXPECT_EQ(Network::create({65536, 65536, 1, 1}).error().code, Code::InvalidConfig);
  ASSERT_TRUE(network.place({1, 0, 1, 0},
                            layer_from_json(*parse_json(R"({"type":"activation","activation":"relu"})")).value()));
  network.settings.activations = Element::f64;
  EXPECT_EQ(run(network, Shape::of({1, 3}), {-1, 0, 2}), (std::vector<double>{0, 0, 2}));
  std::string message;
  EXPECT_EQ(code_of(grid({cell(0, R"({"type":"dense","input_height":5,"output_height":4,"is_disabled":true})"),
                          cell(1, R"({"type":"dense","input_height":4,"output_height":4})")},
                         2),
                    Shape::of({1, 5}), &message),
            Code::ShapeMismatch);
  EXPECT_NE(message.find("cell (0,0,0,0) is disabled"), std::string::npos) << message;
}

TEST(Network, grafts) {  // G-18, V-39
  Network a = read(grid({cell(0, kDense)}, 1)), b = read(grid({cell(0, kDense)}, 1, R"("name":"other",)"));
  const Shape shape = Shape::of({2, 5});
  const std::vector<double> x = seeded<double>("x", 10);
  const std::vector<double> fa = run(a, shape, x);
  auto residual = residual_graft(a);
  ASSERT_TRUE(residual) << residual.error().text();
  const std::vector<double> y = run(*residual, shape, x);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i] + fa[i]);
  const std::array<const Network*, 2> both{&a, &b};
  for (const bool share : {false, true}) {
    auto grafted = graft_networks(both, "add", share);
    ASSERT_TRUE(grafted) << grafted.error().text();
    const std::vector<double> sum = run(*grafted, shape, x);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], fa[i] + fa[i]);
  }
  EXPECT_EQ(graft_networks(both, "sum").error().code, Code::InvalidConfig);
  // Settings that change numbers are carried over; where two networks differ in one, grafting is refused.
  a.settings.quantized_inputs = Activations::int16, a.settings.seed = 5;
  EXPECT_EQ(graft_networks(both, "add").error().code, Code::InvalidConfig);
  b.settings.quantized_inputs = Activations::int16;
  for (const auto& grafted : {graft_networks(both, "add"), residual_graft(a)}) {
    ASSERT_TRUE(grafted);
    EXPECT_EQ(grafted->settings.quantized_inputs, Activations::int16);
    EXPECT_EQ(grafted->settings.seed, 5u);
  }
}

TEST(Network, morph_all_enters_containers) {  // G-60, D-21
  Network network = read(grid({cell(0, containers()[0].spec)}, 1));
  ASSERT_TRUE(network.morph_all(DType::int8));
  network.visit_weights(
      [](const std::string& name, const Weight& w, const Layer&) { EXPECT_EQ(w.dtype(), DType::int8) << name; });
  EXPECT_EQ(network.morph_all(static_cast<DType>(77)).error().code, Code::InvalidArgument);
}

// Needs the softmax kind.
TEST(Spec, the_example_of_the_specification_runs) {  // J-25
  const char* text =
      R"({"id":"demo","seed":42,"depth":1,"rows":1,"cols":2,"layers_per_cell":4,"input_shape":[8],"layers":[
 {"z":0,"y":0,"x":0,"l":0,"type":"sequential","residual":true,"sequential_layers":[
   {"type":"rmsnorm","input_height":8,"rms_norm_eps":1e-6},
   {"type":"dense","input_height":8,"output_height":8,"activation":"silu","dtype":"bf16","bias":true}]},
 {"z":0,"y":0,"x":0,"l":1,"type":"parallel","combine_mode":"grid_scatter","scatter_grid":{"depth":1,"rows":1,"cols":2},"scatter_layout":"flat","parallel_branches":[
   {"type":"dense","input_height":8,"output_height":6,"activation":"relu","dtype":"int8","scatter_to":[0,0,1]},
   {"is_remote_link":true,"target_z":0,"target_y":0,"target_x":1,"target_l":0,"scatter_to":[0,0,0]}]},
 {"z":0,"y":0,"x":0,"l":2,"type":"parallel","combine_mode":"filter","top_k":1,"gate_temperature":0.7,
   "filter_gate":{"type":"dense","input_height":12,"output_height":2,"activation":"linear"},"parallel_branches":[
   {"type":"dense","input_height":12,"output_height":8,"activation":"tanh","dtype":"ternary"},
   {"type":"sequential","name":"expert","sequential_layers":[
     {"type":"swiglu","input_height":12,"output_height":16,"dtype":"int4"},
     {"type":"dense","input_height":12,"output_height":8,"activation":"linear"}]}]},
 {"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":8,"output_height":8,"activation":"linear","is_disabled":true},
 {"z":0,"y":0,"x":1,"l":0,"type":"dense","input_height":8,"output_height":6,"activation":"gelu","is_disabled":true},
 {"z":0,"y":0,"x":1,"l":1,"type":"dense","input_height":8,"output_height":3,"activation":"linear"},
 {"z":0,"y":0,"x":1,"l":2,"type":"softmax","softmax_type":"entmax","entmax_alpha":1.5,"input_height":3}]})";
  auto result = network_from_json(std::string_view(text));
  ASSERT_TRUE(result) << result.error().text();
  const auto session = NetworkSession::create(result->network, Shape::of({2, 8}), {1, std::nullopt, false}).value();
  const std::vector<float> x(16, 0.25f);
  const auto y = session->forward({x.data(), Shape::of({2, 8})});
  ASSERT_TRUE(y) << y.error().text();
  ASSERT_EQ(y->shape.text(), "[2, 3]");
  EXPECT_NEAR(y->as()[0] + y->as()[1] + y->as()[2], 1.0f, 1e-6f);
}

}  // namespace
}  // namespace loom::containers_test
