// lora, adapters, tied tables and the parts of a spec that stand beside layers, against their requirements and against
// errors.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/json.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/network.h"

namespace loom::adapters_test {
namespace {

using test::read;
using test::seeded;

std::string grid(const std::string& layers, int cells = 4,
                 const std::string& more = R"("activations":"float64","default_dtype":"float64",)") {
  return fmt::format(R"({{"depth":1,"rows":1,"cols":1,"layers_per_cell":{},"seed":5,{}"layers":[{}]}})", cells, more,
                     layers);
}
std::string cell(int l, std::string layer) { return layer.insert(1, fmt::format(R"("z":0,"y":0,"x":0,"l":{},)", l)); }
std::string one(const std::string& layer) { return grid(cell(0, layer), 1); }

std::vector<double> run(Network& network, const Shape& shape, const std::vector<double>& x) {
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, false});
  EXPECT_TRUE(session) << (session ? "" : session.error().text());
  if (!session) return {};
  const auto y = (*session)->forward({x.data(), shape, Element::f64});
  EXPECT_TRUE(y) << (y ? "" : y.error().text());
  return y ? std::vector<double>(y->as<double>(), y->as<double>() + y->shape.elements()) : std::vector<double>();
}

// Every weight to seeded values by its path, so that halves that begin as zero count.
void fill(Network& network) {
  network.visit_weights([](const std::string& path, Weight& w, Layer&) {
    const std::vector<double> v = seeded<double>(path, w.elements());
    ASSERT_TRUE(w.set(std::span<const double>(v)));
  });
}
std::vector<double> values(Network& network, const std::string& path) {
  std::vector<double> v;
  network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
    if (name != path) return;
    v.resize(w.elements());
    w.decode(0, w.elements(), v.data());
  });
  EXPECT_FALSE(v.empty()) << path;
  return v;
}

const std::string kDense = R"({"type":"dense","input_height":7,"output_height":5,"bias":true})";

TEST(Adapters, lora_is_the_sum_of_dense_layers) {  // L-140
  Network lora = read(one(R"({"type":"lora","rank":4,"alpha":2,"base_layer":)" + kDense + "}"));
  fill(lora);
  const std::vector<double> b = values(lora, "layers.0.base_layer.weight.lora0.b");
  std::vector<double> half(b);
  for (double& v : half) v *= 0.5;  // alpha / rank, exact
  Network sum =
      read(one(R"({"type":"parallel","combine_mode":"add","parallel_branches":[)" + kDense +
               R"(,{"type":"sequential","sequential_layers":[{"type":"dense","input_height":7,"output_height":4},
                             {"type":"dense","input_height":4,"output_height":5}]}]})"));
  const std::map<std::string, std::vector<double>> given = {
      {"layers.0.parallel_branches.0.weight", values(lora, "layers.0.base_layer.weight")},
      {"layers.0.parallel_branches.0.bias", values(lora, "layers.0.base_layer.bias")},
      {"layers.0.parallel_branches.1.sequential_layers.0.weight", values(lora, "layers.0.base_layer.weight.lora0.a")},
      {"layers.0.parallel_branches.1.sequential_layers.1.weight", half}};
  sum.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    ASSERT_TRUE(w.set(std::span<const double>(given.at(path)))) << path;
  });
  const Shape shape = Shape::of({3, 7});
  EXPECT_EQ(run(lora, shape, seeded<double>("x", 21)), run(sum, shape, seeded<double>("x", 21)));
}

TEST(Adapters, fresh_adapters_change_nothing_and_disabled_ones_never_do) {  // L-140
  Network plain = read(one(kDense)), lora = read(one(R"({"type":"lora","base_layer":)" + kDense + "}"));
  const Shape shape = Shape::of({3, 7});
  const std::vector<double> x = seeded<double>("x", 21);
  lora.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    if (w.role() != WeightRole::Adapter) {
      const std::vector<double> own = values(plain, "layers.0." + w.name());
      ASSERT_TRUE(w.set(std::span<const double>(own))) << path;
    } else if (path.ends_with(".a")) {
      EXPECT_NE(values(lora, path)[0], 0);
    }
  });
  EXPECT_EQ(run(lora, shape, x), run(plain, shape, x));
  Network off = read(one(R"({"adapters":[{"rank":2,"enabled":false}],)" + kDense.substr(1)));
  fill(off);
  fill(plain);
  EXPECT_EQ(run(off, shape, x), run(plain, shape, x));
}

TEST(Adapters, freeze_base_leaves_gradients_to_the_adapters) {  // L-141
  for (const bool frozen : {true, false}) {
    Network network = read(one(fmt::format(R"({{"type":"lora","freeze_base":{},"base_layer":{}}})", frozen, kDense)));
    const Shape shape = Shape::of({3, 7});
    const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
    network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      EXPECT_EQ(session->gradients().of(w) == nullptr, frozen && w.role() != WeightRole::Adapter) << path;
    });
  }
}

TEST(Adapters, merging_leaves_the_same_function_and_no_adapter) {  // L-141
  for (
      const std::string& spec :
      {one(R"({"type":"lora","rank":3,"base_layer":)" + kDense + "}"),
       one(R"({"adapters":[{"rank":2},{"name":"more","rank":1,"alpha":-1},{"name":"off","rank":1,"enabled":false}],)" +
           kDense.substr(1)),
       one(R"({"type":"lora","rank":2,"base_layer":{"type":"cnn1","input_channels":1,"filters":4,"kernel_size":3}})")}) {
    Network network = read(spec);
    fill(network);
    const Shape shape = spec.find("cnn1") != spec.npos ? Shape::of({3, 1, 7}) : Shape::of({3, 7});
    const std::vector<double> x = seeded<double>("x", 21), before = run(network, shape, x);
    ASSERT_TRUE(network.merge_adapters());
    const std::vector<double> after = run(network, shape, x);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-14);
    std::size_t left = 0;
    network.visit_weights([&](const std::string&, Weight& w, Layer&) { left += w.role() == WeightRole::Adapter; });
    EXPECT_EQ(left, spec.find("off") != spec.npos ? 2u : 0u);
    Network again = read(dump_json(network_to_json(network)));  // what is written knows that they are gone
    EXPECT_EQ(dump_json(network_to_json(again)), dump_json(network_to_json(network)));
  }
}

TEST(Adapters, a_packed_base_stays_packed) {  // L-140, D-26
  const std::string spec = grid(
      cell(
          0,
          R"({"type":"lora","rank":3,"base_layer":{"type":"dense","input_height":64,"output_height":32,"dtype":"int4"}})"),
      1, "");
  Network network = read(spec);
  network.release_masters();
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    const bool adapter = w.role() == WeightRole::Adapter;
    EXPECT_EQ(w.plain() != nullptr, adapter) << path;  // plain floats in memory
    EXPECT_EQ(w.has_master(), false) << path;
  });
  const auto session = NetworkSession::create(network, Shape::of({2, 64}), {1, std::nullopt, true}).value();
  const std::vector<float> x(128, 0.5f), dy(64, 1.0f);
  ASSERT_TRUE(session->forward({x.data(), Shape::of({2, 64})}));
  ASSERT_TRUE(session->backward({dy.data(), Shape::of({2, 32})}));
}

TEST(Adapters, bad_adapters_are_errors_with_a_pointer) {  // J-11
  const auto expect = [](const std::string& layer, Code code, const std::string& pointer) {
    const auto result = network_from_json(one(layer));
    ASSERT_FALSE(result) << layer;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_TRUE(result.error().text().starts_with(pointer)) << result.error().text();
  };
  const auto dense = [](const std::string& adapters) { return R"({"adapters":)" + adapters + "," + kDense.substr(1); };
  expect(dense(R"([{"weight":"wieght"}])"), Code::UnknownName, "/layers/0");
  expect(dense(R"([{"weight":"bias"}])"), Code::UnknownName, "/layers/0");
  expect(dense(R"([{"rank":0}])"), Code::InvalidConfig, "/layers/0/adapters/0/rank");
  expect(dense(R"([{"rank":"four"}])"), Code::InvalidConfig, "/layers/0/adapters/0/rank");
  expect(dense(R"([{"rnk":4}])"), Code::UnknownKey, "/layers/0/adapters/0/rnk");
  expect(dense(R"([{"name":"a"},{"name":"a"}])"), Code::InvalidConfig, "/layers/0");
  expect(dense(R"([{"name":"a.b"}])"), Code::InvalidConfig, "/layers/0");
  expect(dense(R"([{"alpha":1e300}])"), Code::InvalidConfig, "/layers/0");
  expect(dense(R"([1])"), Code::InvalidConfig, "/layers/0/adapters/0");
  expect(dense(R"({})"), Code::InvalidConfig, "/layers/0/adapters");
  expect(R"({"type":"swiglu","input_height":4,"output_height":4,"adapters":[{}]})", Code::InvalidConfig, "/layers/0");
  expect(R"({"type":"softmax","adapters":[{}]})", Code::InvalidConfig, "/layers/0");
  expect(R"({"type":"lora"})", Code::InvalidConfig, "/layers/0");
  expect(R"({"type":"lora","base_layer":{"type":"softmax"}})", Code::InvalidConfig, "/layers/0");
  expect(R"({"type":"lora","base_layer":[]})", Code::InvalidConfig, "/layers/0/base_layer");
  expect(R"({"type":"lora","rank":-1,"base_layer":)" + kDense + "}", Code::InvalidConfig, "/layers/0/rank");
  std::string many = "[";
  for (int i = 0; i < 65; ++i) many += i ? ",{}" : "{}";
  expect(dense(many + "]"), Code::InvalidConfig, "/layers/0/adapters");
}

// Each layer's path and weights may be used by others: cycles cannot be written, as a tie ends at a table.
TEST(Ties, a_tied_head_is_the_table_and_both_gradients_add_up) {  // L-102
  const std::string embedding = R"({"type":"embedding","vocab_size":5,"embedding_dim":3})";
  const std::string head = R"({"type":"dense","input_height":3,"output_height":5,"tied_to":)";
  Network tied = read(grid(cell(0, embedding) + "," + cell(1, head + R"("layers.0"})")));
  Network by_address = read(grid(cell(0, embedding) + "," + cell(1, head + "[0,0,0,0]}")));
  Network apart =
      read(grid(cell(0, embedding) + "," + cell(1, R"({"type":"dense","input_height":3,"output_height":5})")));
  std::vector<std::string> names;
  tied.visit_weights([&](const std::string& path, Weight&, Layer&) { names.push_back(path); });
  EXPECT_EQ(names, (std::vector<std::string>{"layers.0.table"}));
  const std::vector<double> table = seeded<double>("table", 15), ids = {0, 3, 4, 3}, dy = seeded<double>("dy", 20);
  const Shape shape = Shape::of({4});
  for (Network* n : {&tied, &by_address, &apart})
    n->visit_weights(
        [&](const std::string&, Weight& w, Layer&) { ASSERT_TRUE(w.set(std::span<const double>(table))); });
  EXPECT_EQ(run(tied, shape, ids), run(apart, shape, ids));
  EXPECT_EQ(run(by_address, shape, ids), run(apart, shape, ids));
  const auto gradients = [&](Network& n) {
    const auto session = NetworkSession::create(n, shape, {1, std::nullopt, true}).value();
    EXPECT_TRUE(session->forward({ids.data(), shape, Element::f64}));
    EXPECT_TRUE(session->backward({dy.data(), Shape::of({4, 5}), Element::f64}));
    std::vector<double> sum(15);
    n.visit_weights([&](const std::string&, Weight& w, Layer&) {
      for (std::size_t i = 0; i < 15; ++i) sum[i] += static_cast<const double*>(session->gradients().of(w))[i];
    });
    return sum;
  };
  const std::vector<double> both = gradients(tied), sum = gradients(apart);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(both[i], sum[i], 1e-14);
  const Json once = network_to_json(tied);
  Network again = read(dump_json(once));
  EXPECT_EQ(dump_json(network_to_json(again)), dump_json(once));
  // The layer that holds the table is replaced: nothing points into the one that is gone.
  ASSERT_TRUE(tied.place({0, 0, 0, 0}, layer_from_json(*parse_json(embedding)).value()));
  ASSERT_TRUE(tied.initialise());
  EXPECT_EQ(run(tied, shape, ids).size(), 20u);
}

TEST(Ties, bad_targets_are_errors_with_a_pointer) {  // L-102, J-22
  const std::string embedding = R"({"type":"embedding","vocab_size":5,"embedding_dim":3})";
  const auto expect = [&](const std::string& target, Code code, const std::string& width = "3",
                          const std::string& more = "") {
    const auto result = network_from_json(
        grid(cell(1, embedding) + "," +
             cell(2, R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":)" + width +
                         R"(,"output_height":5)" + more + R"(,"tied_to":)" + target + "}]}")));
    ASSERT_FALSE(result) << target;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_TRUE(result.error().text().starts_with("/layers/1/sequential_layers/0/")) << result.error().text();
  };
  expect(R"("layers.9")", Code::NotFound);
  expect(R"("layers.2.sequential_layers.0")", Code::InvalidConfig);  // itself
  expect(R"("layers.2")", Code::InvalidConfig);
  expect("[0,0,0,3]", Code::LinkToEmpty);
  expect("[0,0,0,9]", Code::OutOfRange);
  expect("[0,0]", Code::InvalidConfig);
  expect("7", Code::InvalidConfig);
  expect("[0,0,0,1]", Code::ShapeMismatch, "4");
  expect("[0,0,0,1]", Code::InvalidConfig, "3", R"(,"weights":{"weight":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]})");
}

TEST(Spec, an_arch_config_fills_every_cell_with_blocks) {  // J-03
  const Json arch =
      parse_json(
          R"({"arch_config":{"id":"a","name":"n","gridDepth":1,"gridRows":2,"gridCols":2,"layersPerCell":1,"dModel":8,"numHeads":2,
                                   "activation":"gelu","dtype":"int8","initScale":0.05}})")
          .value();
  auto built = build_from_arch(arch);
  ASSERT_TRUE(built) << built.error().text();
  Network& network = built->network;
  EXPECT_EQ(network.num_cells(), 4u);
  EXPECT_EQ(network.settings.id, "a");
  double largest = 0;
  std::size_t matrices = 0;
  network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    if (w.role() != WeightRole::Matrix) return;
    ++matrices;
    EXPECT_EQ(w.dtype(), DType::int8);
    for (const float v : w.master()) largest = std::max(largest, static_cast<double>(std::abs(v)));
  });
  EXPECT_EQ(matrices, 4u * 7u);
  EXPECT_LE(largest, 0.05);
  EXPECT_GT(largest, 0.04);
  const auto plan = ForwardPlan::create(network, Shape::of({2, 3, 8}));
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ((*plan)->shape_after(3).text(), "[2, 3, 8]");
  EXPECT_TRUE(build_from_arch(*find(arch, "arch_config")));
  const std::pair<const char*, Code> bad[] = {
      {R"({"numHeads":2})", Code::InvalidConfig},
      {R"({"dModel":8,"numHeads":3})", Code::InvalidConfig},
      {R"({"dModel":8,"gridRows":0})", Code::InvalidConfig},
      {R"({"dModel":8,"gridRows":65536,"gridCols":65536})", Code::InvalidConfig},
      {R"({"dModel":1,"gridRows":4096,"gridCols":4096})", Code::LimitExceeded},
      {R"({"dModel":8,"activation":"geul"})", Code::UnknownName},
      {R"({"dModel":8,"heads":1})", Code::UnknownKey},
      {R"([])", Code::InvalidConfig}};
  for (const auto& [text, code] : bad) {
    const auto result = build_from_arch(*parse_json(text));
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, code) << text << ": " << result.error().text();
  }
}

TEST(Spec, strict_false_turns_unknown_keys_into_warnings) {  // J-21
  const auto spec = [](const char* strict) {
    return grid(cell(0, R"({"type":"softmax","wdth":3})"), 1, std::string(strict) + R"("bias":1,)");
  };
  const auto strict = network_from_json(spec(""));
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, Code::UnknownKey);
  EXPECT_FALSE(network_from_json(spec(R"("strict":true,)")));
  const auto lenient = network_from_json(spec(R"("strict":false,)"));
  ASSERT_TRUE(lenient) << lenient.error().text();
  ASSERT_EQ(lenient->warnings.size(), 2u);
  EXPECT_NE((lenient->warnings[0] + lenient->warnings[1]).find("/layers/0/wdth"), std::string::npos);
  EXPECT_TRUE(network_from_json(dump_json(network_to_json(lenient->network)))) << "what is written has no unknown keys";
}

TEST(Spec, errors_of_shapes_and_links_carry_pointers) {  // J-22
  const std::string input = R"("input_shape":[8],)";
  const auto message = [&](const std::string& layers) {
    const auto result = network_from_json(grid(layers, 4, input));
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().text();
  };
  const std::string six = R"({"type":"dense","input_height":6,"output_height":6})";
  EXPECT_TRUE(message(cell(3, six)).starts_with("/layers/0: "));
  EXPECT_TRUE(
      message(
          cell(2, R"({"type":"softmax"})") + "," +
          cell(
              1,
              R"({"type":"sequential","sequential_layers":[{"type":"softmax"},{"type":"parallel","parallel_branches":[)" +
                  six + "]}]}"))
          .starts_with("/layers/1/sequential_layers/1/parallel_branches/0: "));
  EXPECT_TRUE(message(cell(1, R"({"type":"parallel","parallel_branches":[{"is_remote_link":true,"target_l":2}]})"))
                  .starts_with("/layers/0/parallel_branches/0: "));
}

TEST(Session, the_external_skip_gets_its_gradient) {  // V-31, L-110
  const std::string inner =
      R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":4,"output_height":4,"activation":"tanh"},
    {"type":"residual","skip_from":"external"},{"type":"dense","input_height":4,"output_height":4,"activation":"tanh"},
    {"type":"residual","skip_from":"external"}]})";
  Network network = read(one(inner));
  const Shape shape = Shape::of({2, 4});
  const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
  const std::vector<double> x = seeded<double>("x", 8), dy = seeded<double>("dy", 8);
  std::vector<double> e = seeded<double>("external", 8), de(8, 2.0);  // added to
  const ConstView external{e.data(), shape, Element::f64};
  PassExtras extras;
  extras.external = &external;
  ASSERT_TRUE(session->forward({x.data(), shape, Element::f64}, extras));
  const View d{de.data(), shape, Element::f64};
  ASSERT_TRUE(session->backward({dy.data(), shape, Element::f64}, &d));
  const auto loss = [&] {
    const auto y = session->forward({x.data(), shape, Element::f64}, extras);
    double sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum += dy[i] * y->as<double>()[i];
    return sum;
  };
  for (std::size_t i = 0; i < 8; ++i) {
    constexpr double h = 1e-5;
    const double was = e[i];
    e[i] = was + h;
    const double up = loss();
    e[i] = was - h;
    const double down = loss();
    e[i] = was;
    EXPECT_NEAR(de[i] - 2.0, (up - down) / (2 * h), 1e-8) << i;
  }
  // Shapes and calls that do not fit.
  ASSERT_TRUE(session->forward({x.data(), shape, Element::f64}, extras));
  const View wide{de.data(), Shape::of({1, 4}), Element::f64};
  EXPECT_EQ(session->backward({dy.data(), shape, Element::f64}, &wide).error().code, Code::ShapeMismatch);
  EXPECT_TRUE(session->backward({dy.data(), shape, Element::f64}, &d)) << "the refusal left the forward as it was";
  EXPECT_EQ(session->forward({x.data(), shape, Element::f64}).error().code, Code::InvalidState);
  const ConstView small{e.data(), Shape::of({1, 4}), Element::f64};
  extras.external = &small;
  EXPECT_EQ(session->forward({x.data(), shape, Element::f64}, extras).error().code, Code::ShapeMismatch);
}

}  // namespace
}  // namespace loom::adapters_test
