// The metacognition kind: figures, rules, what they do to a network, and hostile settings. Gradients:
// gradients_test.cpp.

#include "core/json.h"
#include "layers/metacognition/metacognition.h"
#include "network/meta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "network/spec/spec.h"
#include "ops/all.h"
#include "support/divided.h"

namespace loom::meta_test {
namespace {

std::string cell(int x, std::string layer) { return layer.insert(1, fmt::format(R"("z":0,"y":0,"x":{},"l":0,)", x)); }
std::string grid(const std::string& layers, int cells = 1) {
  return fmt::format(R"({{"depth":1,"rows":1,"cols":{},"layers_per_cell":1,"seed":3,"layers":[{}]}})", cells, layers);
}
std::string meta(const std::string& more,
                 const std::string& observed = R"({"type":"dense","input_height":4,"output_height":4})") {
  return R"({"type":"metacognition","meta_observed_layer":)" + observed + (more.empty() ? "" : "," + more) + "}";
}
std::string rule(const std::string& text) { return R"("meta_rules":[{)" + text + "}]"; }

struct Watched {
  std::unique_ptr<Network> network;
  std::unique_ptr<NetworkSession> session;
  Shape shape;

  std::vector<float> forward(const std::vector<float>& x) {
    const auto y = session->forward({x.data(), shape});
    EXPECT_TRUE(y) << (y ? "" : y.error().text());
    return y ? std::vector<float>(y->as(), y->as() + y->shape.elements()) : std::vector<float>();
  }
  std::vector<MetaEvent> commit() {
    auto events = commit_meta(*network, *session, shape);
    EXPECT_TRUE(events) << (events ? "" : events.error().text());
    return events ? std::move(*events) : std::vector<MetaEvent>();
  }
  Layer& observed(std::size_t index = 0) { return layer_as<Metacognition>(*network->cell(index).layer)->observed(); }
};

Watched watch(const std::string& spec, const Shape& shape = Shape::of({2, 4})) {
  Watched w;
  auto result = network_from_json(spec);
  EXPECT_TRUE(result) << (result ? "" : result.error().text()) << "\n" << spec;
  if (!result) return w;
  w.network = std::make_unique<Network>(std::move(result->network));
  w.shape = shape;
  w.session = NetworkSession::create(*w.network, shape, {1, std::nullopt, true}).value();
  return w;
}

TEST(Metacognition, figures_of_a_tensor) {  // L-150
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(4096).value();
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
  const std::vector<float> v = {1, -3, 0, 5e-7f, 4, 0.5f};
  std::array<float, TensorStats::kCount> figures{};
  const Tensor to{figures.data(), 1, figures.size(), Element::f32};
  tensor_statistics(exec, {v.data(), 2, 3}, to);
  const TensorStats s = TensorStats::read(to);
  EXPECT_NEAR(s.avg, 2.5 / 6, 1e-7);
  double variance = 0;
  for (const float x : v) variance += (static_cast<double>(x) - s.avg) * (static_cast<double>(x) - s.avg) / 6;
  EXPECT_NEAR(s.std, std::sqrt(variance), 1e-6);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.active, 4);
  EXPECT_EQ(s.total, 6);
}

// The rules of a layer that only links run are heard too, once for all links.
TEST(Metacognition, rules_of_a_shared_layer_are_heard) {  // L-151, V-20
  const std::string asks = meta(rule(R"("condition":"max_above","threshold":-100,"command":"rmsnorm","cooldown":9)"));
  std::string stored = asks;
  stored.insert(1, R"("is_disabled":true,)");
  const std::string share = R"({"is_remote_link":true,"target_x":0,"link_mode":"share"})";
  Watched w = watch(grid(cell(0, stored) + "," + cell(1, share) + "," + cell(2, share), 3));
  const std::vector<float> x(8, 0.5f);
  (void)w.forward(x);
  EXPECT_EQ(w.commit().size(), 1u);
  EXPECT_EQ(w.commit().size(), 0u) << "what was asked is forgotten everywhere";
}

// Without a tape the effect would overwrite the activations that it reads.
TEST(Metacognition, an_effect_of_the_activations_is_the_same_with_and_without_a_tape) {  // L-152
  for (const char* effect : {"noise", "intervention", "gate"}) {
    const std::string spec = grid(cell(
        0,
        meta(
            fmt::format(
                R"("meta_source":"activations","meta_effect":"{}","meta_network":{{"type":"dense","input_height":4,"output_height":4,"is_disabled":true}})",
                effect),
            R"({"type":"activation"})")));
    Watched keeps = watch(spec), plain = watch(spec);
    plain.session = NetworkSession::create(*plain.network, plain.shape, {.threads = 1}).value();
    const std::vector<float> x = {1, 0.5f, 0.25f, 2, 0.75f, -1, 3, 4};
    EXPECT_EQ(plain.forward(x), keeps.forward(x)) << effect;
  }
}

// Each condition held by one input and not by another; the observed layer is the identity.
TEST(Metacognition, conditions) {  // L-150, L-151
  const std::string same = R"({"type":"activation"})";
  struct Case {
    const char* condition;
    double threshold;
    std::vector<float> holds, fails;
  };
  const Case cases[] = {
      {"std_above", 1, {9, -9, 9, -9}, {1, 1, 1, 1}},   {"std_below", 1, {1, 1, 1, 1}, {9, -9, 9, -9}},
      {"avg_above", 2, {-3, -3, -3, -3}, {1, 1, 1, 1}}, {"avg_below", 2, {-1, -1, -1, -1}, {-3, -3, -3, -3}},
      {"max_above", 2, {0, 3, 0, 0}, {0, 1, 0, 0}},     {"active_below", 0.5, {1, 0, 0, 0}, {1, 1, 1, 0}}};
  for (const Case& c : cases) {
    const std::string spec = grid(cell(
        0, meta(rule(fmt::format(R"("condition":"{}","threshold":{},"command":"softmax")", c.condition, c.threshold)),
                same)));
    for (const bool holds : {true, false}) {
      Watched w = watch(spec, Shape::of({1, 4}));
      w.forward(holds ? c.holds : c.fails);
      EXPECT_EQ(w.session->metas()[0].queued.any(), holds) << c.condition;
    }
  }
  // The gain of twice the identity drifts; where the mean of the input is nothing, it is not looked at.
  const std::string twice =
      R"({"type":"dense","input_height":4,"output_height":4,"weights":{"weight":[2,0,0,0,0,2,0,0,0,0,2,0,0,0,0,2]}})";
  Watched drift =
      watch(grid(cell(0, meta(rule(R"("condition":"gain_drift","threshold":0.5,"command":"reset")"), twice))),
            Shape::of({1, 4}));
  drift.forward({1, -1, 1, -1});
  EXPECT_FALSE(drift.session->metas()[0].queued.any());
  drift.forward({1, 1, 1, 1});
  EXPECT_TRUE(drift.session->metas()[0].queued.any());
  // The third entry is the first that a storm can be measured against.
  Watched storm =
      watch(grid(cell(0, meta(rule(R"("condition":"gradient_storm","threshold":5,"command":"softmax")"), same))),
            Shape::of({1, 4}));
  storm.forward({1, -1, 1, -1});
  storm.forward({9, -9, 9, -9});
  EXPECT_FALSE(storm.session->metas()[0].queued.any());
  storm.forward({9, -9, 9, -9});
  EXPECT_TRUE(storm.session->metas()[0].queued.any());
}

TEST(Metacognition, weights_change_between_forwards_only_and_cooldowns_count) {  // L-151
  const std::string spec =
      grid(cell(0, meta(rule(R"("condition":"std_above","threshold":-1,"command":"reset","cooldown":2)"))));
  Watched w = watch(spec);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> first = w.forward(x);
  EXPECT_EQ(w.forward(x), first) << "nothing is applied while the network runs";
  EXPECT_NE(first, x);
  ASSERT_EQ(w.commit().size(), 1u);
  EXPECT_EQ(w.forward(x), x) << "the dense layer is the identity now";
  EXPECT_TRUE(w.commit().empty()) << "two calls of cooldown: the third call is the second after it spoke";
  w.forward(x);
  EXPECT_EQ(w.commit().size(), 1u);
  EXPECT_EQ(w.session->metas()[0].calls, 4u) << "the history went through the commits";
}

TEST(Metacognition, history_ends_with_the_session_and_commands_outside_the_list_are_refused) {  // G-48
  const std::string spec = grid(cell(0, meta(rule(R"("condition":"std_above","threshold":-1,"command":101)"))));
  Watched w = watch(spec);
  const std::vector<float> x(8, 1.0f);
  for (int i = 0; i < 130; ++i) w.forward(x);
  EXPECT_EQ(w.session->metas()[0].remembered(), 100u);
  const auto other = NetworkSession::create(*w.network, w.shape, {1, std::nullopt, false}).value();
  EXPECT_EQ(other->metas()[0].remembered(), 0u);
  EXPECT_FALSE(other->metas()[0].queued.any());
  for (const char* command : {"71", "\"System\"", "\"autonomous_command\"", "-1", "0", "null"}) {
    const auto result =
        network_from_json(grid(cell(0, meta(rule(std::string(R"("condition":"none","command":)") + command)))));
    ASSERT_FALSE(result) << command;
    EXPECT_TRUE(result.error().code == Code::UnknownName || result.error().code == Code::InvalidConfig) << command;
    EXPECT_TRUE(result.error().text().starts_with("/layers/0/meta_rules/0/command")) << result.error().text();
  }
}

TEST(Metacognition, commands_that_keep_the_shapes_replace_and_others_are_refused) {  // L-152
  const auto always = [](const std::string& command) {
    return rule(R"("condition":"std_above","threshold":-1,"command":)" + command);
  };
  struct Case {
    const char* command;
    Shape shape;
    std::string observed;
    const char* kind;  // null: refused
  };
  const std::string same = R"({"type":"activation"})", dense = R"({"type":"dense","input_height":4,"output_height":4})";
  const std::string narrow = R"({"type":"dense","input_height":4,"output_height":3})";
  const Shape features = Shape::of({4}), flat = Shape::of({2, 4}), sequence = Shape::of({2, 3, 4}),
              planes = Shape::of({2, 16, 4});
  const Case cases[] = {{"\"dense\"", flat, same, "dense"},     {"70", flat, narrow, "dense"},
                        {"\"cnn1\"", planes, same, "cnn1"},     {"80", flat, same, nullptr},
                        {"\"rnn\"", sequence, narrow, "rnn"},   {"81", features, same, nullptr},
                        {"\"softmax\"", flat, same, "softmax"}, {"83", flat, narrow, nullptr},
                        {"\"rmsnorm\"", flat, same, "rmsnorm"}, {"90", flat, narrow, nullptr},
                        {"\"swiglu\"", flat, same, "swiglu"},   {"91", flat, narrow, nullptr},
                        {"\"mha\"", sequence, same, "mha"},     {"92", features, same, nullptr},
                        {"\"lstm\"", sequence, same, "lstm"},   {"93", features, same, nullptr},
                        {"\"kmeans\"", flat, same, "kmeans"},   {"98", flat, narrow, "kmeans"},
                        {"\"reset\"", flat, same, nullptr},     {"101", flat, dense, "dense"},
                        {"\"morph\"", flat, dense, "dense"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} of {}", c.command, c.observed));
    Watched w = watch(grid(cell(0, meta(always(c.command), c.observed))), c.shape);
    const std::vector<float> x(c.shape.elements(), 0.5f);
    const std::vector<float> before = w.forward(x);
    const std::string kind(w.observed().kind());
    const std::vector<MetaEvent> events = w.commit();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].refusal.empty(), c.kind != nullptr) << events[0].refusal;
    EXPECT_EQ(w.observed().kind(), c.kind == nullptr ? kind : c.kind);
    const std::vector<float> after = w.forward(x);
    EXPECT_EQ(after.size(), before.size());
    EXPECT_TRUE(c.kind != nullptr || after == before);
    const std::vector<float> dy(after.size(), 1.0f);
    EXPECT_TRUE(w.session->backward({dy.data(), w.session->output_shape()}));
  }
}

TEST(Metacognition, a_layer_inside_a_lora_keeps_its_place) {  // L-152
  const std::string asks = rule(R"("condition":"std_above","threshold":-1,"command":"dense")");
  Watched w = watch(grid(cell(0, R"({"type":"lora","base_layer":)" + meta(asks) + "}")));
  const std::vector<float> before = w.forward(std::vector<float>(8, 0.25f));
  const std::vector<MetaEvent> events = w.commit();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].refusal.empty());
  w.network->visit_weights(
      [](const std::string& path, const Weight& weight, const Layer&) { EXPECT_TRUE(weight.has_value()) << path; });
  EXPECT_EQ(w.forward(std::vector<float>(8, 0.25f)), before);
}

TEST(Metacognition, commands_for_other_cells) {  // L-152
  const std::string asks = R"("condition":"std_above","threshold":-1,"self_only":false,)";
  const std::string dense = R"({"type":"dense","input_height":4,"output_height":4})";
  const auto watched = [&](const std::string& command) {
    return watch(grid(cell(0, meta(rule(asks + command))) + "," + cell(1, dense), 3));
  };
  const std::vector<float> x(8, 0.25f);
  for (const auto& [command, is_applied] :
       std::vector<std::pair<std::string, bool>>{{R"("command":"rmsnorm","param":1)", true},
                                                 {R"("command":"rmsnorm","param":2)", false},
                                                 {R"("command":"rmsnorm","param":9)", false},
                                                 {R"("command":"rmsnorm","param":-1)", false},
                                                 {R"("command":"rmsnorm","param":1e300)", false}}) {
    Watched w = watched(command);
    w.forward(x);
    const std::vector<MetaEvent> events = w.commit();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].refusal.empty(), is_applied) << events[0].refusal;
    EXPECT_EQ(w.network->cell(1).layer->kind(), is_applied ? "rmsnorm" : "dense");
    w.forward(x);
  }
  // A type's number that is none of the 21 changes nothing.
  for (const double type : {9.0, 77.0, -3.0}) {
    Watched w = watch(grid(cell(
        0, meta(rule(fmt::format(R"("condition":"std_above","threshold":-1,"command":"morph","param":{})", type))))));
    w.forward(x);
    EXPECT_EQ(w.commit()[0].refusal.empty(), type == 9.0);
    w.network->visit_weights([&](const std::string&, Weight& weight, Layer&) {
      EXPECT_EQ(weight.dtype(), type == 9.0 ? DType::int8 : DType::float32);
    });
  }
}

TEST(Metacognition, effects_by_hand) {  // L-153
  // m = bias alone; y0 is the input.
  const auto network = [](const std::string& effect, const std::string& bias, int outputs) {
    std::string zeros = "0";
    for (int i = 1; i < 4 * outputs; ++i) zeros += ",0";
    return grid(
        cell(0, meta(R"("meta_rules":[],"meta_effect":")" + effect +
                         R"(","meta_network":{"type":"dense","bias":true,"input_height":4,"output_height":)" +
                         std::to_string(outputs) + R"(,"weights":{"weight":[)" + zeros + R"(],"bias":)" + bias + "}}",
                     R"({"type":"activation"})")));
  };
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  Watched gate = watch(network("gate", "[0]", 1));
  EXPECT_EQ(gate.forward(x), (std::vector<float>{0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4}));
  Watched silent = watch(network("noise", "[-1]", 1));
  EXPECT_EQ(silent.forward(x), x);
  Watched noise = watch(network("noise", "[0.25]", 1));
  const std::vector<float> noisy = noise.forward(x);
  EXPECT_NE(noisy, x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LT(std::abs(noisy[i] - x[i]), 0.25f);
  EXPECT_EQ(noise.forward(x), noisy) << "a function of seed, step, place and element";
  Watched none = watch(network("intervention", "[0.5,7,8,9]", 4));
  EXPECT_EQ(none.forward(x), x);
  Watched instead = watch(network("intervention", "[0.75,7,8,9]", 4));
  EXPECT_EQ(instead.forward(x), (std::vector<float>{7, 8, 9, 7, 7, 8, 9, 7}));
}

TEST(Metacognition, figures_and_history_feed_the_meta_network) {  // L-153
  for (const auto& [source, width] :
       std::vector<std::pair<std::string, std::string>>{{"stats", "6"}, {"history", "6"}}) {
    const std::string inner =
        source == "stats"
            ? R"({"type":"dense","input_height":6,"output_height":1})"
            : R"({"type":"rnn","input_height":6,"output_height":1,"return_sequence":false,"init":"uniform","init_scale":0.001})";
    Watched w =
        watch(grid(cell(0, meta(R"("meta_effect":"gate","meta_source":")" + source + R"(","meta_network":)" + inner))));
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<float> y = w.forward(x);
    const std::vector<float> dy(8, 1.0f);
    EXPECT_TRUE(w.session->backward({dy.data(), w.shape})) << source;
    if (source == "history") {
      EXPECT_NE(w.forward(x), y) << "the second call knows of the first";
    } else {
      EXPECT_EQ(w.forward(x), y);
    }
  }
}

TEST(Metacognition, default_rules_and_round_trips) {  // L-153
  Watched w = watch(grid(cell(0, meta(""))));
  const auto rules = layer_as<Metacognition>(*w.network->cell(0).layer)->rules();
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].command, MetaCommand::Reset);
  EXPECT_EQ(rules[1].cooldown, 5u);
  EXPECT_EQ(rules[2].threshold, 0.05);
  for (const std::string& more : {std::string(), std::string(R"("meta_rules":[])"),
                                  rule(R"("condition":"max_above","threshold":2,"command":98,"param":4)")}) {
    const auto once = network_from_json(grid(cell(0, meta(more)))).value();
    const std::string text = dump_json(network_to_json(once.network));
    const auto again = network_from_json(text);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(dump_json(network_to_json(again->network)), text);
    EXPECT_EQ(layer_as<Metacognition>(*again->network.cell(0).layer)->rules().size(),
              layer_as<Metacognition>(*once.network.cell(0).layer)->rules().size());
  }
}

TEST(Metacognition, hostile_settings_are_errors) {  // L-153
  const auto expect = [](const std::string& layer, Code code, const std::string& pointer) {
    const auto result = network_from_json(grid(cell(0, layer)).insert(1, R"("input_shape":[4],)"));
    ASSERT_FALSE(result) << layer;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_TRUE(result.error().text().starts_with(pointer)) << result.error().text();
  };
  expect(R"({"type":"metacognition"})", Code::InvalidConfig, "/layers/0");
  expect(meta(R"("meta_effect":"gate")"), Code::InvalidConfig, "/layers/0");
  expect(meta(R"("meta_effect":"gaet")"), Code::UnknownName, "/layers/0/meta_effect");
  expect(meta(R"("meta_rules":{})"), Code::InvalidConfig, "/layers/0/meta_rules");
  expect(meta(R"("meta_rules":[{"cooldown":-1}])"), Code::InvalidConfig, "/layers/0/meta_rules/0/cooldown");
  expect(meta(R"("meta_effect":"gate","meta_network":{"type":"dense","input_height":3,"output_height":1})"),
         Code::ShapeMismatch, "/layers/0/meta_network");
  expect(meta(R"("meta_effect":"intervention","meta_network":{"type":"dense","input_height":4,"output_height":1})"),
         Code::ShapeMismatch, "/layers/0");
  expect(meta("", R"({"type":"dense","input_height":3,"output_height":4})"), Code::ShapeMismatch,
         "/layers/0/meta_observed_layer");
}

// A watched cell followed by a ring; tests read the effect of a commit between ticks on both.
struct WatchedMesh {
  std::unique_ptr<Network> network;
  std::unique_ptr<StepMesh> mesh;
  std::vector<StepState> states;
  std::vector<StepState*> crowd;

  explicit WatchedMesh(const std::string& command, int members = 1, int threads = 1) {
    const std::string ring =
        R"({"type":"dense","input_height":8,"output_height":4,"activation":"tanh","is_remote_link":true,"target_x":2,"link_mode":"feed","link_merge":"concat"})";
    auto read = network_from_json(grid(
        cell(0, meta(rule(R"("condition":"std_above","threshold":-1,"cooldown":9,)" + command))) + "," + cell(1, ring) +
            "," + cell(2, R"({"type":"dense","input_height":4,"output_height":4,"activation":"tanh"})"),
        3));
    EXPECT_TRUE(read) << (read ? "" : read.error().text());
    network = std::make_unique<Network>(std::move(read->network));
    EXPECT_TRUE(network->initialise());
    mesh = StepMesh::create(*network, Shape::of({2, 4}), {.threads = threads, .history_capacity = 4, .backward = true})
               .value();
    for (int n = 0; n < members; ++n) states.push_back(mesh->create_state().value());
    for (std::size_t n = 0; n < states.size(); ++n) {
      const std::vector<float> x = {1, -2, 3, -4, 5, 6, 7, static_cast<float>(n)};
      EXPECT_TRUE(states[n].set_input({x.data(), Shape::of({2, 4})}));
      crowd.push_back(&states[n]);
    }
  }
  void tick(int n = 1) {
    for (int t = 0; t < n; ++t) ASSERT_TRUE(mesh->step(crowd, {.capture = true}));
  }
  std::vector<MetaEvent> commit() {
    auto events = commit_meta(*network, *mesh, crowd);
    EXPECT_TRUE(events) << (events ? "" : events.error().text());
    return events ? std::move(*events) : std::vector<MetaEvent>();
  }
  std::vector<float> out(std::size_t c) const {
    const auto y = states[0].output(c);
    EXPECT_TRUE(y) << (y ? "" : y.error().text());
    return y ? std::vector<float>(y->as(), y->as() + 8) : std::vector<float>();
  }
};

TEST(Metacognition, commands_of_ticks_are_granted_between_two_of_them) {  // L-151, M-06
  for (const std::string command : {R"("command":"reset")", R"("command":"rmsnorm")"}) {
    WatchedMesh w(command), still(command);
    w.tick(5), still.tick(5);
    const auto before = w.out(0), ring = w.out(2);
    EXPECT_TRUE(w.states[0].metas()[0].queued.any());
    StepState left = w.mesh->create_state().value();
    ASSERT_EQ(w.commit().size(), 1u);
    EXPECT_EQ(layer_as<Metacognition>(*w.network->cell(0).layer)->observed().kind(),
              command == R"("command":"reset")" ? "dense" : "rmsnorm");
    EXPECT_EQ(w.out(0), before) << "outputs of the last tick stay";
    EXPECT_EQ(w.out(2), ring);
    EXPECT_EQ(w.states[0].step_count(), 5u);
    EXPECT_EQ(w.states[0].metas()[0].calls, 5u);
    EXPECT_EQ(w.states[0].history(), 0u) << "ticks of other weights";
    EXPECT_TRUE(w.commit().empty());
    w.tick(), still.tick();
    EXPECT_NE(w.out(0), still.out(0));
    EXPECT_EQ(w.out(1), still.out(1)) << "cell 1 reads what was there";
    w.tick(), still.tick();
    EXPECT_NE(w.out(1), still.out(1));
    const std::vector<float> dy(8, 1);
    EXPECT_TRUE(w.mesh->backward(w.states[0], {dy.data(), Shape::of({2, 4})}));
    // A state that nobody gave is void, not a danger.
    EXPECT_TRUE(left.is_void());
    EXPECT_EQ(left.output(0).error().code, Code::InvalidState);
    EXPECT_EQ(left.set_input({dy.data(), Shape::of({2, 4})}).error().code, Code::InvalidState);
    EXPECT_EQ(w.mesh->step(left).error().code, Code::InvalidState);
    EXPECT_EQ(w.mesh->backward(left, {dy.data(), Shape::of({2, 4})}).error().code, Code::InvalidState);
    EXPECT_EQ(left.restore(w.states[0]).error().code, Code::InvalidState);
    EXPECT_EQ(w.states[0].restore(left).error().code, Code::InvalidState);
    EXPECT_TRUE(left.snapshot().empty());
    EXPECT_EQ(left.hash(), Digest{});
    left.reset();
  }
}

TEST(Metacognition, refused_commands_pending_ticks_and_other_networks) {  // L-151, L-152
  WatchedMesh w(R"("command":"cnn1")");                                   // sixteen filters do not fit
  w.tick(3);
  const Digest before = w.states[0].hash();
  const auto events = w.commit();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].refusal.empty());
  EXPECT_NE(w.states[0].hash(), before) << "the wish is forgotten";
  EXPECT_EQ(w.states[0].history(), 3u);
  ASSERT_TRUE(w.mesh->forward_tick(w.states[0]));
  EXPECT_EQ(commit_meta(*w.network, *w.mesh, w.crowd).error().code, Code::InvalidState);
  WatchedMesh other(R"("command":"reset")");
  EXPECT_EQ(commit_meta(*other.network, *w.mesh, w.crowd).error().code, Code::InvalidState);
  EXPECT_EQ(commit_meta(*other.network, *other.mesh, w.crowd).error().code, Code::InvalidState);
}

TEST(Metacognition, crowds_ask_once_and_commits_give_the_same_hash_in_any_number_of_threads) {  // L-151, M-12
  for (const std::string command : {R"("command":"reset")", R"("command":"rmsnorm")", R"("command":"swiglu")"}) {
    std::string expected;
    for (const int threads : {1, 2, 3, 7}) {
      const test::ExpectDivided divided(threads);
      WatchedMesh w(command, 8, threads);  // as many states as threads, or none of them is divided
      std::string all;
      for (int t = 0; t < 30; ++t) {
        w.tick();
        const auto events = w.commit();
        EXPECT_EQ(events.size(), t % 10 == 0 ? 1u : 0u) << t;
        for (const MetaEvent& e : events) all += e.place + e.refusal;
      }
      for (const StepState& s : w.states) all += to_hex(s.hash());
      if (expected.empty()) expected = all;
      EXPECT_EQ(all, expected) << command << " with " << threads;
    }
  }
}

}  // namespace
}  // namespace loom::meta_test
