#include "evolution/mutation/mutation.h"

#include <cmath>

#include "core/json.h"
#include "evolution/evolution_test.h"
#include "evolution/population/runner.h"
#include "evolution/weight_values.h"
#include "io/network_file.h"
#include "layers/all.h"
#include "network/spec/clone.h"
#include "support/environment.h"

namespace loom {
namespace {

using namespace evolution_test;

MutationConfig only(double MutationConfig::* rate, double value = 1) {
  MutationConfig c;
  c.weight_perturb_rate = c.activation_rate = c.node_rate = c.layer_toggle_rate = c.connection_add_rate =
      c.connection_drop_rate = 0;
  c.*rate = value;
  return c;
}
std::string text(const Network& n) { return dump_json(network_to_json(n)); }
std::vector<std::byte> bytes(const Network& n) { return network_to_entity(n, {true}).value(); }
MutationReport changed(Network& n, const Shape& input, const MutationConfig& c, MutationKey key = {}) {
  MutationReport report;
  const auto done = mutate(n, input, c, key, &report);
  EXPECT_TRUE(done) << done.error().text();
  return report;
}

TEST(Mutation, defaults) {  // E-20
  const MutationConfig c;
  EXPECT_EQ(c.weight_perturb_rate, 0.8);
  EXPECT_EQ(c.weight_perturb_scale, 0.05);
  EXPECT_EQ(c.node_rate, 0.1);
  EXPECT_EQ(c.activation_rate, 0.1);
  EXPECT_EQ(c.connection_add_rate, 0.05);
  EXPECT_EQ(c.connection_drop_rate, 0.02);
  EXPECT_EQ(c.layer_toggle_rate, 0.02);
  EXPECT_EQ(c.layer_types.size(), 17u);
  for (const std::string& kind : c.layer_types) EXPECT_TRUE(layer_kind(kind)) << kind;
  EXPECT_EQ(c.activations.size(), 6u);
  EXPECT_EQ(c.dtype_rate + c.cell_grow_rate + c.layer_prune_rate, 0);
  EXPECT_EQ(c.d_model, 0u);
  EXPECT_EQ(c.num_heads, 4u);
  EXPECT_EQ(c.in_channels, 1u);
  EXPECT_EQ(c.filters, 0u);
  EXPECT_EQ(c.kernel_size, 3u);
  EXPECT_EQ(c.vocab_size, 256u);
  EXPECT_EQ(c.num_clusters, 8u);
  EXPECT_EQ(c.seed, 0u);
}

TEST(Mutation, the_settings_are_those_of_the_layers_they_make) {  // E-20
  MutationConfig c;
  c.d_model = 12, c.num_heads = 2, c.in_channels = 3, c.filters = 5, c.kernel_size = 5, c.vocab_size = 40,
  c.num_clusters = 6;
  const auto made = [&](const char* kind, const Shape& in, const Shape& out) {
    const auto layer = repaired_layer(kind, in, out, {}, c, 5, Activation::Tanh);
    EXPECT_TRUE(layer) << kind;
    return layer ? dump_json(layer_to_json(**layer)) : std::string();
  };
  const Shape flat = Shape::of({2, 24}), out = Shape::of({2, 24});
  EXPECT_NE(made("cnn1", flat, out).find(R"("shape":[3,8])"), std::string::npos) << made("cnn1", flat, out);
  EXPECT_NE(made("cnn2", flat, out).find(R"("shape":[3,1,8])"), std::string::npos) << made("cnn2", flat, out);
  for (const char* part : {R"("input_channels":3)", R"("filters":5)", R"("kernel_size":5)"})
    EXPECT_NE(made("cnn1", flat, out).find(part), std::string::npos) << part;
  EXPECT_NE(made("cnn1", Shape::of({2, 25}), Shape::of({2, 25})).find(R"("shape":[1,25])"),
            std::string::npos);  // 3 does not divide it
  EXPECT_NE(made("mha", Shape::of({2, 3, 24}), Shape::of({2, 3, 24})).find(R"("num_heads":2)"), std::string::npos);
  EXPECT_NE(made("embedding", flat, out).find(R"("embedding_dim":12)"), std::string::npos);
  EXPECT_NE(made("embedding", flat, out).find(R"("vocab_size":40)"), std::string::npos);
  EXPECT_NE(made("kmeans", flat, out).find(R"("num_clusters":6)"), std::string::npos);
  c.filters = 0;  // d_model / 4
  EXPECT_NE(made("cnn1", flat, out).find(R"("filters":3)"), std::string::npos);
}

TEST(Mutation, perturbation_is_uniform_within_its_scale) {  // E-20
  Network n = read(row_of({dense(100, 100, R"("init":"zeros")")}));
  MutationConfig c = only(&MutationConfig::weight_perturb_rate);
  c.weight_perturb_scale = 0.5;
  EXPECT_EQ(changed(n, Shape::of({1, 100}), c).of(Mutation::Perturb), 1u);
  const std::vector<double> v = values_of(*find_weight(*n.cell(0).layer, "weight"));
  double sum = 0, squares = 0;
  for (const double x : v) {
    ASSERT_LE(std::abs(x), 0.5);
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / 1e4, 0, 4 * 0.5 / std::sqrt(3e4));
  EXPECT_NEAR(squares / 1e4, 1.0 / 12, 0.004);
}

TEST(Mutation, same_seed_same_child_other_keys_other_children) {  // E-21
  const Network base =
      read(row_of({dense(4, 8, R"("activation":"tanh","bias":true)"), dense(8, 8, R"("dtype":"int8")"), dense(8, 3)}));
  MutationConfig c;
  c.node_rate = c.connection_add_rate = 0.5;
  const auto child = [&](std::uint64_t seed, std::uint32_t generation, std::uint32_t individual) {
    Network n = clone_network(base).value();
    c.seed = seed;
    changed(n, Shape::of({2, 4}), c, {generation, individual});
    return bytes(n);
  };
  const auto first = child(1, 2, 3);
  EXPECT_EQ(first, child(1, 2, 3));
  EXPECT_NE(first, child(2, 2, 3));
  EXPECT_NE(first, child(1, 3, 3));
  EXPECT_NE(first, child(1, 2, 4));
}

TEST(Mutation, nested_layers_are_reached) {  // E-21
  Network n = read(row_of(
      {R"({"type":"parallel","combine_mode":"add","parallel_branches":[{"type":"sequential","sequential_layers":[)" +
       dense(2, 2, R"("activation":"silu")") + "]}," + dense(2, 2, R"("activation":"silu")") + "]}"}));
  MutationConfig c = only(&MutationConfig::activation_rate);
  c.activations = {Activation::Tanh};
  EXPECT_EQ(changed(n, Shape::of({1, 2}), c).of(Mutation::Activation), 2u);
  EXPECT_EQ(text(n).find("silu"), std::string::npos);
  EXPECT_EQ(changed(n, Shape::of({1, 2}), only(&MutationConfig::weight_perturb_rate)).of(Mutation::Perturb), 2u);
}

// Engine E-21: perturb, activation, type, toggle; then a connection is added, then one dropped.
TEST(Mutation, changes_are_made_in_their_order) {  // E-21
  const Network base =
      read(row_of({dense(4, 4, R"("activation":"tanh")"), dense(4, 4, R"("activation":"tanh")")}, R"("seed":3,)"));
  const Shape input = Shape::of({1, 4});
  const auto child = [&](const MutationConfig& c, MutationReport& report) {
    Network n = clone_network(base).value();
    report = changed(n, input, c, {0, 4});
    return n;
  };
  MutationReport r;
  MutationConfig c = only(&MutationConfig::node_rate);
  c.layer_types = {"swiglu"};
  const auto replaced = bytes(child(c, r));
  // Another kind comes after what moved the old weights and its activation, and in place of a toggle.
  c.weight_perturb_rate = c.activation_rate = c.layer_toggle_rate = 1;
  c.activations = {Activation::Silu};
  EXPECT_EQ(bytes(child(c, r)), replaced);
  EXPECT_EQ(r.of(Mutation::Perturb), 2u);
  EXPECT_EQ(r.of(Mutation::Activation), 2u);
  EXPECT_EQ(r.of(Mutation::Type), 2u);
  EXPECT_EQ(r.of(Mutation::Toggle), 0u);
  // Perturbed weights are those of the layer whose activation changes then.
  MutationReport moved;
  const Network perturbed = child(only(&MutationConfig::weight_perturb_rate), moved);
  c.node_rate = c.layer_toggle_rate = 0;
  const Network both = child(c, r);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(values_of(*find_weight(*both.cell(i).layer, "weight")),
              values_of(*find_weight(*perturbed.cell(i).layer, "weight")));
    EXPECT_EQ(layer_to_json(*both.cell(i).layer)["activation"], "silu");
  }
  // A network without connections has one to drop only after one was added.
  c = only(&MutationConfig::connection_add_rate);
  c.connection_drop_rate = 1;
  EXPECT_EQ(text(child(c, r)), text(base));
  EXPECT_EQ(r.of(Mutation::AddConnection), 1u);
  EXPECT_EQ(r.of(Mutation::DropConnection), 1u);
}

TEST(Mutation, every_kind_fits_every_place) {  // E-22
  const MutationConfig c;
  const auto runner = Runner::create().value();
  const std::pair<Shape, Shape> places[] = {{Shape::of({3, 6}), Shape::of({3, 6})},
                                            {Shape::of({3, 6}), Shape::of({3, 2})},
                                            {Shape::of({3, 5, 6}), Shape::of({3, 5, 4})},
                                            {Shape::of({3, 2, 4, 6}), Shape::of({3, 8})},
                                            {Shape::of({2, 3, 4, 5}), Shape::of({2, 3, 4, 5})},
                                            {Shape::of({2, 7}), Shape::of({2, 2, 3, 4})},
                                            {Shape::of({2, 1}), Shape::of({2, 1})}};
  for (const std::string& kind : c.layer_types)
    for (const auto& [in, out] : places) {
      auto layer = repaired_layer(kind, in, out, {}, c, 5, Activation::Tanh);
      ASSERT_TRUE(layer) << kind << " " << in.text() << " " << out.text() << ": " << layer.error().text();
      Network n = Network::create({}).value();
      ASSERT_TRUE(n.place({}, std::move(*layer)));
      const auto plan = ForwardPlan::create(n, in);
      ASSERT_TRUE(plan) << kind << ": " << plan.error().text();
      EXPECT_EQ((*plan)->shape_after(0).text(), out.text()) << kind;
      runner->use({n, **plan});
      const std::vector<float> x(in.elements(), 0.25f);
      const auto y = runner->forward({x.data(), in});
      ASSERT_TRUE(y) << kind << ": " << y.error().text();
      for (std::size_t i = 0; i < out.elements(); ++i) ASSERT_TRUE(std::isfinite(y->as<float>()[i])) << kind;
    }
}

// Its adapters' values belong to the matrices that they were learned beside.
TEST(Mutation, layers_inside_a_lora_keep_their_place) {  // E-22
  const std::string inside = R"({"type":"lora","base_layer":{"type":"sequential","sequential_layers":[)" +
                             dense(6, 6, R"("activation":"tanh")") + "," + dense(6, 6, R"("activation":"tanh")") +
                             "]}}";
  const std::string alone = R"({"type":"lora","base_layer":)" + dense(6, 6, R"("activation":"tanh")") + "}";
  const Network base = read(row_of({inside, alone}));
  for (double MutationConfig::* rate : {&MutationConfig::node_rate, &MutationConfig::activation_rate}) {
    Network n = clone_network(base).value();
    MutationConfig c = only(rate);
    c.activations = {Activation::Silu};
    const MutationReport r = changed(n, Shape::of({2, 6}), c);
    EXPECT_EQ(r.skips(Mutation::Type) + r.skips(Mutation::Activation), 3u);
    EXPECT_EQ(r.of(Mutation::Type) + r.of(Mutation::Activation), 0u);
    EXPECT_EQ(bytes(n), bytes(base));
    n.visit_weights([](const std::string& path, const Weight& w, const Layer&) { EXPECT_TRUE(w.has_value()) << path; });
  }
}

TEST(Mutation, impossible_repairs_are_skipped_and_counted) {  // E-22
  MutationConfig c = only(&MutationConfig::node_rate);
  c.layer_types = {"cnn2"}, c.max_adapter_weights = 3;
  Network n = read(row_of({dense(6, 6)}));
  const auto before = bytes(n);
  const MutationReport r = changed(n, Shape::of({2, 6}), c);
  EXPECT_EQ(r.skips(Mutation::Type), 1u);
  EXPECT_EQ(r.of(Mutation::Type), 0u);
  EXPECT_EQ(bytes(n), before);
}

TEST(Mutation, a_toggle_happens_only_where_shapes_pass) {  // E-22
  Network n = read(row_of({dense(4, 4), dense(4, 2)}));
  const MutationReport r = changed(n, Shape::of({1, 4}), only(&MutationConfig::layer_toggle_rate));
  EXPECT_EQ(r.of(Mutation::Toggle), 1u);
  EXPECT_EQ(r.skips(Mutation::Toggle), 1u);
  EXPECT_TRUE(n.cell(0).layer->common.is_disabled);
  EXPECT_FALSE(n.cell(1).layer->common.is_disabled);
}

// A cell goes off and on with its link, and away and back.
TEST(Mutation, a_linked_cell_is_switched_and_pruned_as_one) {  // E-22, E-26
  const auto linked = [](const char* mode) {
    return dense(4, 4, fmt::format(R"("is_remote_link":true,"target_x":0,"link_mode":"{}")", mode));
  };
  const std::vector<std::string> cells = {dense(4, 4), linked("feed"), linked("auto"),
                                          R"({"is_remote_link":true,"target_x":1,"link_mode":"feed"})", dense(4, 2)};
  Network n = read(row_of(cells));
  const auto before = bytes(n);
  const MutationConfig all = only(&MutationConfig::layer_toggle_rate);
  EXPECT_EQ(changed(n, Shape::of({1, 4}), all).of(Mutation::Toggle), 4u);  // the last one gives the output's width
  const Json layers = network_to_json(n)["layers"];
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(layers[i]["is_disabled"], true) << i;
  EXPECT_EQ(layers[1]["type"], "dense");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FALSE(n.cell(i).runs()) << i;
  EXPECT_EQ(changed(n, Shape::of({1, 4}), all).of(Mutation::Toggle), 4u);
  EXPECT_EQ(bytes(n), before);
  const MutationReport pruned = changed(n, Shape::of({1, 4}), only(&MutationConfig::layer_prune_rate));
  EXPECT_EQ(pruned.of(Mutation::Prune), 2u);  // links lead to cells 0 and 1, so these come back
  EXPECT_TRUE(n.cell(2).is_empty() && n.cell(3).is_empty());
  const Json left = network_to_json(n)["layers"], had = network_to_json(read(row_of(cells)))["layers"];
  ASSERT_EQ(left.size(), 3u);
  for (const std::size_t i : {0u, 1u}) EXPECT_EQ(left[i], had[i]);
  EXPECT_EQ(left[2], had[4]);
}

TEST(Mutation, a_toggle_inside_a_lora_leaves_its_adapters_alone) {  // E-22
  Network n = read(row_of({R"({"type":"lora","rank":2,"base_layer":)" + dense(4, 4) + "}"}));
  MutationConfig c = only(&MutationConfig::layer_toggle_rate);
  for (int i = 0; i < 8; ++i) changed(n, Shape::of({1, 4}), c);
  std::size_t halves = 0;
  n.visit_weights(
      [&](const std::string&, const Weight& w, const Layer&) { halves += w.role() == WeightRole::Adapter; });
  EXPECT_EQ(halves, 2u) << text(n);
}

// A gate that is off would make a network that no file can hold.
TEST(Mutation, a_toggle_happens_only_where_the_parent_takes_it) {  // E-22
  const std::string filter =
      R"({"type":"parallel","combine_mode":"filter","filter_gate":{"type":"dense","input_height":4,"output_height":2},)"
      R"("parallel_branches":[{"type":"dense","input_height":4,"output_height":4},{"type":"dense","input_height":4,"output_height":4}]})";
  Network n = read(row_of({filter}));
  const MutationReport r = changed(n, Shape::of({1, 4}), only(&MutationConfig::layer_toggle_rate));
  EXPECT_GE(r.skips(Mutation::Toggle), 1u);
  EXPECT_TRUE(network_from_json(text(n))) << text(n);
}

TEST(Mutation, a_new_connection_is_there_and_changes_the_output) {  // E-23, G-85
  for (const bool widths_differ : {false, true}) {
    Network n =
        read(row_of({dense(4, widths_differ ? 6 : 4, R"("activation":"tanh")"), dense(widths_differ ? 6 : 4, 4)}));
    const Shape input = Shape::of({2, 4});
    const std::vector<float> x = {1, 2, -1, 0.5f, 0.25f, -2, 1, 1};
    const std::vector<float> before = outputs(n, input, x);
    EXPECT_EQ(changed(n, input, only(&MutationConfig::connection_add_rate)).of(Mutation::AddConnection), 1u);
    EXPECT_NE(text(n).find("is_remote_link"), std::string::npos) << text(n);
    const std::vector<float> after = outputs(n, input, x);
    double moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      moved = std::max(moved, std::abs(static_cast<double>(after[i] - before[i])));
    EXPECT_GT(moved, 1e-3);
  }
}

TEST(Mutation, connections_append_drop_and_unwrap) {  // E-23
  Network n = read(row_of({dense(3, 3), dense(3, 3)}));
  const Shape input = Shape::of({1, 3});
  const std::string before = text(n);
  const MutationConfig add = only(&MutationConfig::connection_add_rate),
                       drop = only(&MutationConfig::connection_drop_rate);
  std::size_t added = 0;
  for (std::uint32_t g = 0; g < 12; ++g) added += changed(n, input, add, {g, 0}).of(Mutation::AddConnection);
  EXPECT_GT(added, 2u);
  std::size_t appended = 0;
  for (std::size_t i = 0; i < 2; ++i)
    n.cell(i).layer->visit_children(
        [&](const std::string& path, Layer&) { appended += path == "parallel_branches.2"; });
  EXPECT_GE(appended, 1u);
  std::size_t dropped = 0;
  for (std::uint32_t g = 0; g < 12; ++g) dropped += changed(n, input, drop, {g, 0}).of(Mutation::DropConnection);
  EXPECT_EQ(dropped, added);
  EXPECT_EQ(text(n), before);
}

TEST(Mutation, a_pick_that_would_share_in_a_circle_is_taken_back) {  // E-23
  Network n = read(row_of({dense(3, 3), dense(3, 3)}));
  const Shape input = Shape::of({1, 3});
  for (std::uint32_t g = 0; g < 40; ++g) {
    changed(n, input, only(&MutationConfig::connection_add_rate), {g, 1});
    ASSERT_TRUE(ForwardPlan::create(n, input));  // both cells through each other would be a circle
  }
}

TEST(Mutation, growth_changes_nothing_at_first) {  // E-26
  for (std::uint32_t individual = 0; individual < 8; ++individual) {
    Network n = read(row_of({dense(3, 5), "", "", dense(5, 2)}));
    const Shape input = Shape::of({2, 3});
    const std::vector<float> x = {1, 2, -1, 0.5f, 0.25f, -2};
    const std::vector<float> before = outputs(n, input, x);
    EXPECT_EQ(changed(n, input, only(&MutationConfig::cell_grow_rate), {0, individual}).of(Mutation::Grow), 2u);
    EXPECT_TRUE(n.cell(1).layer && n.cell(2).layer);
    EXPECT_EQ(outputs(n, input, x), before);
  }
}

TEST(Mutation, types_step_along_the_list_and_pruning_removes) {  // E-26
  Network n = read(row_of({dense(4, 4), dense(4, 4)}));
  MutationConfig c = only(&MutationConfig::dtype_rate);
  c.dtypes = {DType::float32, DType::int8};
  EXPECT_EQ(changed(n, Shape::of({1, 4}), c).of(Mutation::Dtype), 2u);
  n.visit_weights([](const std::string&, Weight& w, Layer&) { EXPECT_EQ(w.dtype(), DType::int8); });
  const MutationReport r = changed(n, Shape::of({1, 4}), only(&MutationConfig::layer_prune_rate));
  EXPECT_EQ(r.of(Mutation::Prune), 2u);
  EXPECT_FALSE(n.cell(0).layer);
  Network fixed = read(row_of({dense(4, 2)}));
  EXPECT_EQ(changed(fixed, Shape::of({1, 4}), only(&MutationConfig::layer_prune_rate)).skips(Mutation::Prune), 1u);
}

TEST(Mutation, adapters_follow_the_type_of_their_layer) {  // E-24, L-140
  Network n = read(row_of({R"({"type":"lora","base_layer":{"type":"dense","input_height":4,"output_height":4}})"}));
  MutationConfig c = only(&MutationConfig::dtype_rate);
  c.dtypes = {DType::float32, DType::int8};
  ASSERT_EQ(changed(n, Shape::of({1, 4}), c).of(Mutation::Dtype), 1u);
  n.visit_weights([](const std::string& path, Weight& w, Layer&) { EXPECT_EQ(w.dtype(), DType::int8) << path; });
}

// 2 000 by default, LOOM_MUTATIONS of them where it is set: lines of descent of 12 generations from several bases.
TEST(Mutation, random_mutations_all_prepare_and_run) {  // E-24, G-86
  std::size_t left = test::asked_for("LOOM_MUTATIONS", 2000);
#ifdef LOOM_SANITIZED
  left = std::min<std::size_t>(left, 300);
#endif
  const std::string sequence =
      R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":6},)" +
      dense(6, 6, R"("activation":"silu","bias":true)") + "]}";
  const std::string mha = R"({"type":"mha","d_model":6,"num_heads":1})";
  const std::string conv =
      R"({"type":"cnn2","input_channels":2,"filters":3,"kernel_size":3,"padding":1,"activation":"relu"})";
  const std::string skip =
      R"({"type":"sequential","sequential_layers":[)" + dense(6, 6) + R"(,{"type":"residual","skip_from":[0,0,0,0]}]})";
  const std::pair<std::string, Shape> bases[] = {
      {row_of({dense(4, 6, R"("activation":"tanh")"), "", sequence, dense(6, 2)}), Shape::of({3, 4})},
      {row_of({dense(4, 6), mha, "", R"({"type":"lstm","input_height":6,"output_height":5})", dense(5, 3)}),
       Shape::of({2, 3, 4})},
      {row_of({conv, R"({"type":"reshape","shape":[-1]})", dense(48, 4, R"("dtype":"int8")"),
               R"({"type":"softmax","input_height":4})"}),
       Shape::of({2, 2, 4, 4})},
      {row_of({dense(4, 6, R"("activation":"tanh")"), R"({"type":"lora","base_layer":)" + sequence + "}", skip,
               dense(6, 6), skip}),
       Shape::of({3, 4})}};
  MutationConfig c;
  c.node_rate = 0.3, c.connection_add_rate = 0.3, c.connection_drop_rate = 0.2, c.layer_toggle_rate = 0.1;
  c.dtype_rate = 0.1, c.cell_grow_rate = 0.3, c.layer_prune_rate = 0.05, c.vocab_size = 16, c.max_layers = 40,
  c.max_operations = 80, c.max_adapter_weights = 4096;
  const auto runner = Runner::create().value();
  MutationReport total;
  for (std::uint32_t line = 0; left > 0; ++line) {
    const auto& [spec, input] = bases[line % std::size(bases)];
    Network n = read(spec);
    const std::vector<float> x(input.elements(), 0.5f);
    for (std::uint32_t generation = 0; generation < 12 && left > 0; ++generation, --left) {
      c.seed = line;
      const auto done = mutate(n, input, c, {generation, line}, &total);
      ASSERT_TRUE(done) << line << " " << generation << ": " << done.error().text() << "\n" << text(n);
      EXPECT_TRUE((*done)->is_of(n));
      runner->use({n, **done});
      const auto y = runner->forward({x.data(), input});
      ASSERT_TRUE(y) << line << " " << generation << ": " << y.error().text() << "\n" << text(n);
    }
  }
  for (std::size_t m = 0; m < kNumMutations; ++m) EXPECT_GT(total.made[m], 0u) << name(static_cast<Mutation>(m));
}

}  // namespace
}  // namespace loom
