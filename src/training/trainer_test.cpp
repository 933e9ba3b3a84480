// Single steps: what is not finite and leaves no trace, refused combinations, loss scales, gradients by differences,
// metrics by hand.

#include <array>
#include <cmath>
#include <limits>

#include "dtypes/packing.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

TrainerConfig on_one_thread(TrainerConfig config = {}) {
  config.session.threads = 1;
  return config;
}

struct Learner {
  Learner(const Json& spec, const Shape& input, TrainerConfig config) : network(network_of(spec)) {
    auto made = Trainer::create(network, input, on_one_thread(std::move(config)));
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    if (made) trainer = std::move(*made);
  }
  // Weights, running statistics, the optimiser's slots, states of layers.
  std::string everything() {
    std::string out = to_hex(weight_hash(network));
    for (const Trainer::Slot& slot : trainer->slots())
      out.append(static_cast<const char*>(slot.values.data), slot.values.bytes());
    for (const auto& state : trainer->save_states())
      out.append(reinterpret_cast<const char*>(state.data()), state.size());
    return out + fmt::format("{}", trainer->state().optimizer_steps);
  }
  Network network;
  std::unique_ptr<Trainer> trainer;
};

Json dense(std::size_t in, std::size_t out) {
  return {{"type", "dense"}, {"input_height", in}, {"output_height", out}};
}

// Gradients near 1e28 are numbers; their squares are none, nor is a step of them times 1e12.
TEST(Trainer, an_update_that_is_not_finite_changes_nothing) {  // T-04, L-07
  for (const std::string name : {"sgd", "adam", "adamw", "rmsprop", "adagrad"}) {
    TrainerConfig config;
    config.optimizer.name = name, config.schedule.learning_rate = name == "sgd" ? 1e12 : 0.01;
    Learner run({{"seed", 1}, {"layers", {dense(4, 3), dense(3, 2)}}}, Shape::of({2, 4}), config);
    const std::vector<float> x(8, 1e14f), t = {1, 0, 0, 1};
    const Samples samples{{x.data(), Shape::of({2, 4})}, {}, {t.data(), Shape::of({2, 2})}};
    const std::string before = run.everything();
    const auto report = run.trainer->step(samples);
    ASSERT_TRUE(report) << name << ": " << report.error().text();
    EXPECT_TRUE(report->skipped) << name;
    EXPECT_NE(report->why.find("weight: its update is not finite"), std::string::npos) << report->why;
    EXPECT_EQ(run.everything(), before) << name;
    EXPECT_EQ(run.trainer->state().skipped, 1u);
  }
}

// Clipping by value would make a finite number of it.
TEST(Trainer, an_infinite_gradient_is_not_clipped_to_a_finite_one) {  // T-04, T-40
  for (const bool by_norm : {false, true}) {
    TrainerConfig config;
    config.loss.kind = LossKind::Mae, config.clip_value = 1, config.clip_norm = by_norm ? 1 : 0;
    Learner run({{"seed", 1}, {"layers", {dense(1, 1), dense(1, 1)}}}, Shape::of({1, 1}), config);
    ASSERT_TRUE(find_weight(*run.network.cell(0).layer, "weight")->set(std::span<const float>(std::array{0.0f})));
    ASSERT_TRUE(find_weight(*run.network.cell(1).layer, "weight")->set(std::span<const float>(std::array{1e30f})));
    const float x = 1e10f, t = 1;
    const std::string before = run.everything();
    const auto report = run.trainer->step({{&x, Shape::of({1, 1})}, {}, {&t, Shape::of({1, 1})}});
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->skipped);
    EXPECT_EQ(run.everything(), before);
  }
}

// The limit of masters is no reason to move them in a step that did not.
TEST(Trainer, a_skipped_step_of_lbfgs_clamps_nothing) {  // D-36, T-24
  TrainerConfig config;
  config.lbfgs_history = 5, config.clamp_master = {MasterClamp::Rule::Limit, 0.01};
  Json layer = dense(3, 2);
  layer["dtype"] = "binary";
  Learner run({{"seed", 1}, {"layers", {layer}}}, Shape::of({2, 3}), config);
  std::vector<float> x(6, 0.5f), t(4, kInfinite);
  const std::string before = run.everything();
  const auto report = run.trainer->step({{x.data(), Shape::of({2, 3})}, {}, {t.data(), Shape::of({2, 2})}});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->skipped);
  EXPECT_EQ(run.everything(), before);
}

// Two axes may be samples of features or one sequence: a trainer has batches, so that a layer of sequences or images
// refuses them.
TEST(Trainer, a_batch_of_rows_is_not_taken_for_one_sequence_or_image) {  // V-12
  const std::vector<std::pair<Json, Shape>> cases = {
      {{{"type", "lstm"}, {"input_height", 4}, {"output_height", 2}}, Shape::of({3, 4})},
      {{{"type", "mha"}, {"d_model", 4}, {"num_heads", 2}}, Shape::of({3, 4})},
      {{{"type", "position_embedding"}, {"max_seq_len", 9}, {"embedding_dim", 4}}, Shape::of({3, 4})},
      {{{"type", "cnn1"}, {"input_channels", 3}, {"filters", 1}, {"kernel_size", 1}}, Shape::of({3, 4})},
      {{{"type", "cnn2"}, {"input_channels", 3}, {"filters", 1}, {"kernel_size", 1}}, Shape::of({3, 4, 4})},
      {{{"type", "sequential"}, {"sequential_layers", {{{"type", "maxpool"}, {"kernel_size", 2}}, dense(2, 2)}}},
       Shape::of({3, 4})},
  };
  for (const auto& [layer, input] : cases)
    for (const bool tween : {false, true})
      for (const bool nested : {false, true}) {
        TrainerConfig config;
        if (tween) config.tween.emplace().mode = TweenMode::Layerwise;
        const Json outer = nested ? Json{{"type", "sequential"}, {"sequential_layers", Json::array({layer})}} : layer;
        Network checked = network_of({{"seed", 1}, {"layers", {outer}}});
        const auto plan = ForwardPlan::create(checked, input);
        ASSERT_TRUE(plan) << dump_json(layer);
        const Shape y = (*plan)->output_shape(input).value();
        Learner run({{"seed", 1}, {"layers", {outer}}}, input, config);
        const std::vector<float> x(input.elements(), 0.5f), t(y.elements(), 0.25f);
        const auto report = run.trainer->step({{x.data(), input}, {}, {t.data(), y}});
        ASSERT_FALSE(report) << dump_json(outer);
        EXPECT_EQ(report.error().code, Code::ShapeMismatch);
        EXPECT_NE(report.error().text().find("whose samples have"), std::string::npos) << report.error().text();
      }
}

// When a batch turns out not to be finite, the statistics and states of its forward passes are discarded.
TEST(Trainer, a_skipped_step_leaves_states_and_statistics_as_they_were) {  // T-04, L-62
  const Json norm{{"type", "batchnorm"}, {"input_height", 3}};
  for (const bool micro : {false, true}) {  // parts of a batch have no states to hand on
    const Json lstm{
        {"type", "lstm"}, {"input_height", 2}, {"output_height", 3}, {"stateful", !micro}, {"return_sequence", false}};
    TrainerConfig config;
    config.micro_batch = micro ? 16 : 0;
    Learner run({{"seed", 1}, {"layers", {lstm, norm, dense(3, 2)}}}, Shape::of({micro ? std::size_t{16} : 32, 4, 2}),
                config);
    std::vector<float> x(32 * 4 * 2), t(32 * 2, 0.5f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 7 - 0.4f;
    const Samples samples{{x.data(), Shape::of({32, 4, 2})}, {}, {t.data(), Shape::of({32, 2})}};
    ASSERT_TRUE(run.trainer->step(samples));
    const std::string before = run.everything();
    const std::size_t memory = run.trainer->session().scratch_bytes();
    t.back() = kInfinite;  // the loss alone shows it, at the end of the last part
    const auto report = run.trainer->step(samples);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->skipped);
    EXPECT_NE(report->why.find("every layer's output is"), std::string::npos) << report->why;
    EXPECT_EQ(run.everything(), before) << micro;
    EXPECT_LE(run.trainer->session().scratch_bytes(), memory) << "planned for the parts that training runs";
    t.back() = 0.5f;
    const auto next = run.trainer->step(samples);
    ASSERT_TRUE(next);
    EXPECT_FALSE(next->skipped);
  }
}

// A step that ends with an error, in the last part or by targets.
TEST(Trainer, a_step_that_failed_leaves_states_and_statistics_as_they_were) {  // T-01, L-62
  const Json lstm{{"type", "lstm"}, {"input_height", 2}, {"output_height", 3}, {"return_sequence", false}};
  const Json norm{{"type", "batchnorm"}, {"input_height", 3}};
  for (const bool targets : {false, true}) {
    TrainerConfig config;
    config.loss.kind = LossKind::SoftmaxCrossEntropy;
    if (targets)
      config.tween.emplace().mode = TweenMode::Chain;
    else
      config.micro_batch = 16;
    Learner run({{"seed", 1}, {"layers", {lstm, norm, dense(3, 2)}}}, Shape::of({targets ? std::size_t{32} : 16, 4, 2}),
                config);
    std::vector<float> x(32 * 4 * 2);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 7 - 0.4f;
    std::vector<std::int32_t> classes(32, 1);
    const Samples samples{{x.data(), Shape::of({32, 4, 2})}, classes, {}};
    ASSERT_TRUE(run.trainer->step(samples));
    const std::string before = run.everything();
    classes.back() = 2;
    EXPECT_FALSE(run.trainer->step(samples));
    EXPECT_EQ(run.everything(), before) << targets;
    classes.back() = 1;
    EXPECT_TRUE(run.trainer->step(samples));
  }
}

TEST(Trainer, targets_and_lbfgs_skip_what_is_not_finite_and_count_it) {  // T-04
  for (const TweenMode tween :
       {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp, TweenMode::ByChainRule}) {
    TrainerConfig config;
    config.schedule.learning_rate = 0.5;
    if (tween != TweenMode::ByChainRule)
      config.tween.emplace().mode = tween;
    else
      config.lbfgs_history = 3;
    Learner run({{"seed", 1}, {"layers", {dense(4, 3), dense(3, 2)}}}, Shape::of({2, 4}), config);
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<float> t = {1, 0, 0, 1};
    const Samples samples{{x.data(), Shape::of({2, 4})}, {}, {t.data(), Shape::of({2, 2})}};
    ASSERT_TRUE(run.trainer->step(samples));
    const Digest before = weight_hash(run.network);
    x[3] = kInfinite;
    const auto report = run.trainer->step(samples);
    ASSERT_TRUE(report) << name(tween) << report.error().text();
    EXPECT_TRUE(report->skipped) << name(tween);
    EXPECT_EQ(weight_hash(run.network), before) << name(tween);
    EXPECT_EQ(run.trainer->state().skipped, 1u);
    x[3] = 4;
    const auto next = run.trainer->step(samples);
    ASSERT_TRUE(next) << next.error().text();
    EXPECT_FALSE(next->skipped);
    EXPECT_EQ(run.trainer->state().skipped_in_a_row, 0u);
    EXPECT_NE(weight_hash(run.network), before) << name(tween);
  }
}

// A vector alone is one sample of a forward pass, but no batch: its features are no samples to be divided.
TEST(Trainer, a_batch_without_a_batch_axis_is_refused) {  // T-01
  std::vector<TrainerConfig> ways(4);
  ways[1].shards = 3, ways[2].micro_batch = 2, ways[3].clip_norm = 1;
  for (const TrainerConfig& config : ways) {
    Learner run({{"seed", 1}, {"layers", {dense(4, 3), dense(3, 2)}}}, Shape::of({2, 4}), config);
    const std::vector<float> x(4, 0.5f), t = {1, 0};
    const std::string before = run.everything();
    for (const Samples& samples : {Samples{{x.data(), Shape::of({4})}, {}, {t.data(), Shape::of({2})}},
                                   Samples{{x.data(), Shape::of({4})}, {}, {t.data(), Shape::of({1, 2})}}}) {
      const auto report = run.trainer->step(samples);
      ASSERT_FALSE(report) << config.shards << " " << config.micro_batch << " " << config.clip_norm;
      EXPECT_EQ(report.error().code, Code::ShapeMismatch) << report.error().text();
    }
    EXPECT_EQ(run.everything(), before);
  }
}

TEST(Trainer, parts_of_a_batch_are_refused_where_they_would_change_the_result) {  // T-71, L-62, T-12
  const Json lstm{{"type", "lstm"}, {"input_height", 2}, {"output_height", 3}, {"stateful", true}};
  Network stateful = network_of({{"seed", 1}, {"layers", {lstm}}}),
          plain = network_of({{"seed", 1}, {"layers", {dense(4, 3)}}});
  TrainerConfig config = on_one_thread();
  EXPECT_TRUE(Trainer::create(stateful, Shape::of({4, 3, 2}), config));
  config.micro_batch = 2;
  EXPECT_EQ(Trainer::create(stateful, Shape::of({4, 3, 2}), config).error().code, Code::Unsupported);
  EXPECT_TRUE(Trainer::create(plain, Shape::of({4, 4}), config));
  config.loss.kind = LossKind::Contrastive;  // holds each sample against the whole batch
  EXPECT_EQ(Trainer::create(plain, Shape::of({4, 4}), config).error().code, Code::Unsupported);
  config.micro_batch = 0, config.shards = 2;
  EXPECT_EQ(Trainer::create(plain, Shape::of({4, 4}), config).error().code, Code::Unsupported);
}

// Counts are summed before the loss looks at its call: that must not read beyond what was given.
TEST(Trainer, classes_and_weights_of_another_number_are_refused) {  // T-10, T-12
  struct Call {
    std::size_t weights, classes;
    std::int32_t first;
    Code code;
  };
  for (const Call& c : {Call{2, 6, 0, Code::ShapeMismatch}, Call{3, 2, 0, Code::ShapeMismatch},
                        Call{3, 6, -1, Code::IndexOutOfRange}, Call{3, 6, 3, Code::IndexOutOfRange}}) {
    TrainerConfig config;
    config.loss.kind = LossKind::SoftmaxCrossEntropy;
    config.loss.ignore_index = -100;
    config.loss.class_weights.assign(c.weights, 1.0);
    Learner run({{"seed", 1}, {"layers", {dense(4, 3)}}}, Shape::of({6, 4}), config);
    const std::vector<float> x(24, 0.5f);
    std::vector<std::int32_t> classes(c.classes, 1);
    classes[0] = c.first;
    const auto report = run.trainer->step({{x.data(), Shape::of({6, 4})}, classes, {}});
    ASSERT_FALSE(report) << c.weights << " " << c.classes;
    EXPECT_EQ(report.error().code, c.code) << report.error().text();
  }
}

// The auxiliary loss of a gate has the same gradient whatever factor keeps f16 from underflow, and in two parts as in
// one.
TEST(Trainer, the_balance_of_gates_is_scaled_with_the_loss) {  // V-37, T-70
  const auto moved = [](double weight, Mixed mixed, std::size_t micro) {
    const Json branch = dense(4, 3);
    const Json layer{{"type", "parallel"},
                     {"combine_mode", "filter"},
                     {"gate_aux_weight", weight},
                     {"filter_gate", dense(4, 2)},
                     {"parallel_branches", {branch, branch}}};
    TrainerConfig config;
    config.session.mixed = mixed, config.micro_batch = micro, config.schedule.learning_rate = 0.1;
    Learner run({{"seed", 1}, {"layers", {layer}}}, Shape::of({micro == 0 ? std::size_t{32} : micro, 4}), config);
    std::vector<float> x, t(96, 0.25f);
    // two halves alike
    for (std::size_t i = 0; i < 128; ++i)
      x.push_back(static_cast<float>(i / 4 % 16 * 5 % 11) / 11 + static_cast<float>(i % 4) / 8);
    const auto report = run.trainer->step({{x.data(), Shape::of({32, 4})}, {}, {t.data(), Shape::of({32, 3})}});
    EXPECT_TRUE(report && !report->skipped);
    std::vector<float> gate;
    run.network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
      if (path.find("filter_gate") != path.npos) gate.insert(gate.end(), w.master().begin(), w.master().end());
    });
    return std::pair(gate, report->loss);
  };
  const auto [none, loss] = moved(0, Mixed::none, 0);
  const auto [balanced, more] = moved(5, Mixed::none, 0);
  EXPECT_GT(more, loss + 1);
  for (const auto& [mixed, micro] : {std::pair(Mixed::f16, std::size_t{0}), std::pair(Mixed::none, std::size_t{16}),
                                     std::pair(Mixed::f16, std::size_t{16})}) {
    const auto [other, value] = moved(5, mixed, micro);
    EXPECT_NEAR(value, more, 2e-3 * more);
    ASSERT_EQ(other.size(), none.size());
    for (std::size_t i = 0; i < none.size(); ++i) EXPECT_NEAR(other[i] - none[i], balanced[i] - none[i], 3e-3) << i;
  }
  double largest = 0;
  for (std::size_t i = 0; i < none.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(balanced[i] - none[i])));
  EXPECT_GT(largest, 0.03);
}

TEST(Trainer, lbfgs_refuses_clipping_and_f16) {  // T-24
  Network network = network_of({{"seed", 1}, {"layers", Json::array({dense(4, 3)})}});
  const auto refused = [&](auto change, const char* named) {
    TrainerConfig config = on_one_thread();
    config.lbfgs_history = 5;
    change(config);
    const auto made = Trainer::create(network, Shape::of({2, 4}), config);
    ASSERT_FALSE(made) << named;
    EXPECT_EQ(made.error().code, Code::InvalidConfig);
    EXPECT_NE(made.error().text().find(named), std::string::npos) << made.error().text();
  };
  refused([](TrainerConfig& c) { c.clip_norm = 1; }, "clip_norm");
  refused([](TrainerConfig& c) { c.clip_value = 1; }, "clip_value");
  refused([](TrainerConfig& c) { c.session.mixed = Mixed::f16; }, "mixed f16");
  TrainerConfig config = on_one_thread();
  config.lbfgs_history = 5, config.session.mixed = Mixed::bf16;
  EXPECT_TRUE(Trainer::create(network, Shape::of({2, 4}), config)) << "bf16 has no loss scale";
}

// Counts the layers that ran backward.
class CountsBackward final : public LayerWatch {
 public:
  void after_forward(const Layer& /*layer*/, const ConstView& /*x*/, const ConstView& /*y*/) override {}
  void after_backward(const Layer& /*layer*/, const ConstView& /*dy*/, const ConstView& /*dx*/) override { ++layers; }
  std::size_t layers = 0;
};

// A step whose first try is accepted runs the batch where it begins and where it ends. Running statistics have counted
// one more pass since the first version of the numerics.
TEST(Trainer, lbfgs_runs_its_batch_once_for_each_point_of_the_line) {  // T-24
  const Json batchnorm{{"type", "batchnorm"}, {"input_height", 3}};
  const std::vector<float> x = {0.5f, -1, 2, 1, 0.25f, -0.5f, -2, 1}, t = {1, 0, 0, 1};
  const Samples samples{{x.data(), Shape::of({2, 4})}, {}, {t.data(), Shape::of({2, 2})}};
  const auto batches_of_a_step = [&](const Json& layers) {
    TrainerConfig config;
    config.lbfgs_history = 3, config.schedule.learning_rate = 1e-3;
    Learner run({{"seed", 1}, {"layers", layers}}, Shape::of({2, 4}), config);
    CountsBackward watch;
    run.trainer->session().watch(&watch);
    for (int step = 0; step < 4; ++step) EXPECT_TRUE(run.trainer->step(samples));
    run.trainer->session().watch(nullptr);
    EXPECT_EQ(run.trainer->lbfgs_pairs().size(), 3u) << "every step has moved the weights";
    return static_cast<double>(watch.layers) / static_cast<double>(4 * layers.size());
  };
  EXPECT_EQ(batches_of_a_step({dense(4, 3), dense(3, 2)}), 2);
  EXPECT_EQ(batches_of_a_step({dense(4, 3), batchnorm, dense(3, 2)}), 3);
}

TEST(Trainer, lbfgs_refuses_a_batch_that_does_not_fit) {  // T-24
  TrainerConfig config;
  config.lbfgs_history = 3;
  Json layer = dense(4, 3);
  layer["dtype"] = "int8";
  Learner run({{"seed", 1}, {"layers", {layer, dense(3, 2)}}}, Shape::of({2, 4}), config);
  const std::vector<float> x(8, 1.0f), t(6, 0.0f);
  const std::string before = run.everything();
  const auto refused = run.trainer->step({{x.data(), Shape::of({2, 4})}, {}, {t.data(), Shape::of({2, 3})}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::ShapeMismatch);
  EXPECT_EQ(run.everything(), before);
}

TEST(Trainer, targets_refuse_what_they_would_not_read) {  // W-63
  Network network = network_of({{"seed", 1}, {"layers", {dense(4, 3), dense(3, 2)}}});
  const auto made = [&](TweenMode mode, auto change) {
    TrainerConfig config = on_one_thread();
    config.tween.emplace().mode = mode;
    change(config);
    const auto trainer = Trainer::create(network, Shape::of({2, 4}), config);
    return trainer ? std::string() : trainer.error().text();
  };
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
    const std::string refusal = "tween: its mode has an update rule of its own, only mirror and dtp have an optimizer";
    EXPECT_EQ(made(mode, [](TrainerConfig& c) { c.optimizer.name = "adam"; }), refusal);
    EXPECT_EQ(made(mode, [](TrainerConfig& c) { c.optimizer.weight_decay = 0.1; }), refusal);
    EXPECT_EQ(made(mode, [](TrainerConfig& c) { c.optimizer.momentum = 0.9; }), refusal);
    EXPECT_EQ(made(mode, [](TrainerConfig& c) { c.optimizer.name = "SGD"; }), "");
  }
  EXPECT_EQ(made(TweenMode::Dtp, [](TrainerConfig& c) { c.optimizer.name = "adam"; }), "");
  for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    EXPECT_NE(made(mode, [](TrainerConfig& c) { c.workers = 2; }).find("workers"), std::string::npos) << name(mode);
}

TEST(Trainer, the_loss_scale_doubles_after_2000_good_steps) {  // T-70
  TrainerConfig config;
  config.session.mixed = Mixed::f16, config.schedule.learning_rate = 1e-4;
  Learner run({{"seed", 1}, {"layers", Json::array({dense(2, 1)})}}, Shape::of({1, 2}), config);
  const std::vector<float> x = {0.0625f, -0.03125f}, t = {0.0078125f};  // gradients times 2^17 stay in the range of f16
  const Samples samples{{x.data(), Shape::of({1, 2})}, {}, {t.data(), Shape::of({1, 1})}};
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto report = run.trainer->step(samples);
      ASSERT_TRUE(report && !report->skipped);
    }
  };
  steps(1999);
  EXPECT_EQ(run.trainer->state().loss_scale, 65536.0);
  EXPECT_EQ(run.trainer->state().good_steps, 1999u);
  steps(1);
  EXPECT_EQ(run.trainer->state().loss_scale, 131072.0);
  EXPECT_EQ(run.trainer->state().good_steps, 0u);
  steps(2000);
  EXPECT_EQ(run.trainer->state().loss_scale, 262144.0);
}

// (E(w + h) - E(w - h)) / 2h of every weight in f64.
TEST(Trainer, gradients_of_dense_softmax_and_crossentropy_are_those_of_differences) {  // G-67
  Json layer = dense(4, 3);
  layer["bias"] = true;
  TrainerConfig config;
  config.loss.kind = LossKind::CrossEntropy, config.schedule.learning_rate = 1e-12;
  Learner run({{"seed", 3},
               {"activations", "float64"},
               {"default_dtype", "float64"},
               {"layers", {layer, {{"type", "softmax"}}}}},
              Shape::of({5, 4}), config);
  ASSERT_NE(run.trainer, nullptr);
  std::vector<float> x(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 5 % 11) / 8 - 0.6f;
  const std::vector<std::int32_t> classes = {0, 2, 1, 1, 0};
  const Samples samples{{x.data(), Shape::of({5, 4})}, classes, {}};
  ASSERT_TRUE(run.trainer->step(samples));  // at a rate that moves nothing to speak of
  std::vector<std::vector<double>> gradients;
  std::vector<Weight*> weights;
  run.network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    const double* g = static_cast<const double*>(run.trainer->session().gradients().of(w));
    weights.push_back(&w), gradients.emplace_back(g, g + w.elements());
  });
  std::size_t compared = 0;
  for (std::size_t k = 0; k < weights.size(); ++k)
    for (std::size_t i = 0; i < weights[k]->elements(); ++i, ++compared) {
      constexpr double h = 1e-5;
      double* const at = static_cast<double*>(weights[k]->master_for_update().data) + i;
      const double here = *at;
      double values[2];
      for (const int side : {0, 1}) {
        *at = here + (side == 0 ? h : -h);
        ASSERT_TRUE(run.trainer->commit_masters());
        values[side] = run.trainer->evaluate(samples)->loss.value;
      }
      *at = here;
      // Truncation h^2 / 6 times a third derivative near 1, and rounding 1e-16 / h.
      EXPECT_NEAR(gradients[k][i], (values[0] - values[1]) / (2 * h), 2e-10) << k << " " << i;
    }
  EXPECT_EQ(compared, 15u);
}

TEST(Metrics, accuracy_and_top_5_by_hand) {  // T-50
  // Seven classes. Rows: right; second best; sixth best; a tie, which the lower class wins; ignored.
  const std::vector<float> y = {9, 1, 2, 3, 4, 5, 6,  //
                                9, 8, 1, 2, 3, 4, 5,  //
                                9, 8, 7, 6, 5, 4, 3,  //
                                5, 5, 0, 0, 0, 0, 0,  //
                                1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::int32_t> wanted = {0, 1, 5, 1, -1};
  Metrics metrics;
  metrics.add({y.data(), Shape::of({5, 7}), Element::f32}, {{}, wanted, {}}, {.value = 0.5, .count = 4});
  EXPECT_EQ(metrics.accuracy(), 0.25);
  EXPECT_EQ(metrics.top_5(), 0.75);
  EXPECT_EQ(metrics.loss(), 0.5);
  EXPECT_EQ(metrics.confusion()[0], 1u);
  EXPECT_EQ(metrics.confusion()[1 * 7 + 0], 2u) << "the second row, and the tie";
  EXPECT_EQ(metrics.confusion()[5 * 7 + 0], 1u);
  EXPECT_EQ(metrics.to_json()["top_5"], 0.75);
}

// Two columns far from each other: each varies about its own mean (1 and 101; 2 + 2 in all). One pooled mean would see
// 20 004.
TEST(Metrics, r2_of_several_outputs_takes_each_about_its_own_mean) {  // T-50
  Metrics metrics;
  const std::vector<float> y = {1, 101, 1, 101}, t = {0, 100, 2, 102};
  metrics.add({y.data(), Shape::of({2, 2})}, {{}, {}, {t.data(), Shape::of({2, 2})}}, {4, 4});
  EXPECT_EQ(metrics.r2(), 0);
}

// A dense layer of one type with targets far away: every step pulls its master on.
struct Pulled {
  explicit Pulled(const std::string& dtype, TrainerConfig config)
      : learner({{"seed", 4}, {"layers", {dense(40, 3)}}, {"default_dtype", dtype}}, Shape::of({5, 40}),
                std::move(config)) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 9) / 9 - 0.3f;
  }
  Weight& weight() { return *find_weight(*learner.network.cell(0).layer, "weight"); }
  void step(int count) {
    for (int i = 0; i < count; ++i) {
      const auto report = learner.trainer->step({{x.data(), Shape::of({5, 40})}, {}, {t.data(), Shape::of({5, 3})}});
      ASSERT_TRUE(report) << report.error().message;
      ASSERT_FALSE(report->skipped) << report->why;
    }
  }
  float largest() {
    float most = 0;
    for (const float v : weight().master()) most = std::max(most, std::fabs(v));
    return most;
  }
  Learner learner;
  std::vector<float> x = std::vector<float>(5 * 40), t = std::vector<float>(5 * 3, 30.0f);
};

TEST(Trainer, masters_of_binary_and_ternary_matrices_stay_within_their_limits) {  // D-36
  using Rule = MasterClamp::Rule;
  for (const TweenMode mode :
       {TweenMode::ByChainRule, TweenMode::Chain, TweenMode::Layerwise, TweenMode::Mirror, TweenMode::Dtp})
    for (const std::string dtype : {"binary", "ternary", "int8", "float32"}) {
      SCOPED_TRACE(fmt::format("{} {}", name(mode), dtype));
      TrainerConfig config;
      config.schedule.learning_rate = 0.2;
      if (mode != TweenMode::ByChainRule) config.tween.emplace().mode = mode;
      const auto reached = [&](MasterClamp clamp) {
        config.clamp_master = clamp;
        Pulled pulled(dtype, config);
        const float m0 = pulled.largest();
        pulled.step(20);
        return pulled.largest() / m0;
      };
      const bool is_clamped = dtype == "binary" || dtype == "ternary";
      const float wide = reached({Rule::None});
      EXPECT_GT(wide, 1.6f);
      EXPECT_FLOAT_EQ(reached({}), is_clamped ? 1.5f : wide);
      EXPECT_EQ(reached({Rule::Limit, 1e-3}) < 0.1f, is_clamped);
    }
}

// By L-BFGS too; a master of zeros has no size to be held to; the limit in a checkpoint is checked.
// As networks come out of .entity files in types other than f32.
TEST(Trainer, a_network_whose_masters_were_released_learns_from_decoded_ones) {  // D-36, T-01
  for (const std::string dtype : {"int8", "int4", "float16", "ternary", "float32"}) {
    SCOPED_TRACE(dtype);
    std::vector<float> masters[2];
    for (const bool at_once : {false, true}) {
      Pulled pulled(dtype, {});
      pulled.learner.network.release_masters();
      if (at_once) {
        ASSERT_TRUE(pulled.weight().ensure_master());
      }
      const Shape input = Shape::of({5, 40});
      pulled.learner.trainer = Trainer::create(pulled.learner.network, input, {}).value();
      pulled.step(3);
      const auto master = pulled.weight().master();
      masters[at_once ? 1 : 0].assign(master.begin(), master.end());
    }
    ASSERT_FALSE(masters[0].empty());
    EXPECT_EQ(masters[0], masters[1]);
  }
}

TEST(Trainer, limits_of_lbfgs_of_zeros_and_of_checkpoints) {  // D-36
  TrainerConfig config;
  config.lbfgs_history = 3;
  Pulled pulled("binary", config);
  const float m0 = pulled.largest();
  pulled.step(5);
  EXPECT_LE(pulled.largest(), 1.5f * m0);
  config.lbfgs_history.reset();
  config.schedule.learning_rate = 0.2;
  Network zeros = network_of({{"seed", 4}, {"layers", {dense(40, 3)}}, {"default_dtype", "ternary"}});
  ASSERT_TRUE(find_weight(*zeros.cell(0).layer, "weight")->set(std::span<const float>(std::vector<float>(120))));
  const auto trainer = Trainer::create(zeros, Shape::of({5, 40}), on_one_thread(config));
  ASSERT_TRUE(trainer) << trainer.error().message;
  ASSERT_TRUE((*trainer)->step({{pulled.x.data(), Shape::of({5, 40})}, {}, {pulled.t.data(), Shape::of({5, 3})}}));
  EXPECT_NE(find_weight(*zeros.cell(0).layer, "weight")->master()[0], 0);
  const std::vector<Trainer::Slot> slots = (*trainer)->slots();
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0].name, "layers.0.weight.limit");
  *slots[0].values.as<double>() = -1;
  EXPECT_EQ((*trainer)->restore((*trainer)->state()).error().code, Code::CorruptData);
}

// Settings of types that no weight has are refused by name, whichever way the network came to its types.
TEST(Trainer, SettingsThatNoTypeReadsAreRefused) {
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const auto type = static_cast<DType>(t);
    SCOPED_TRACE(name(type));
    TrainerConfig config;
    config.frozen_scales = true;
    Pulled scales(std::string(name(type)), config);
    const auto frozen = scales.learner.trainer->check_effects();
    EXPECT_EQ(frozen.has_value(), has_scales(type));
    if (!frozen) {
      EXPECT_EQ(pointer_text(frozen.error().place.steps()), "/qat_scale");
    }
    config.frozen_scales = false, config.clamp_master = {MasterClamp::Rule::Limit, 0.5};
    Pulled limits(std::string(name(type)), config);
    const auto clamped = limits.learner.trainer->check_effects();
    EXPECT_EQ(clamped.has_value(), type == DType::binary || type == DType::ternary);
    if (!clamped) {
      EXPECT_EQ(pointer_text(clamped.error().place.steps()), "/clamp_master");
    }
    config.clamp_master = {MasterClamp::Rule::None, 0};
    EXPECT_TRUE(Pulled(std::string(name(type)), config).learner.trainer->check_effects())
        << "nothing is clamped, as it says";
  }
}

TEST(Trainer, scales_follow_the_masters_or_stay_as_they_were) {  // D-37
  for (std::size_t t = 0; t < kNumTypes; ++t) {
    const std::string dtype(name(static_cast<DType>(t)));
    SCOPED_TRACE(dtype);
    TrainerConfig config;
    config.schedule.learning_rate = 0.2;
    const auto scales_after = [&](bool frozen, int steps) {
      config.frozen_scales = frozen;
      if (dtype == "float64") return std::vector<double>();
      Pulled pulled(dtype, config);
      pulled.step(steps);
      const QuantizedMatrix q = pulled.weight().quantized().value();
      if (frozen) {  // the codes are those of the moved master all the same
        EXPECT_EQ(dequantize(q), dequantize(quantize_like(q, pulled.weight().master()).value()));
      }
      return q.scales;
    };
    const std::vector<double> start = scales_after(false, 0);
    EXPECT_EQ(scales_after(true, 20), start);
    EXPECT_EQ(scales_after(false, 20) == start, start.empty());
  }
}

TEST(Trainer, settings_that_are_none_are_refused) {  // D-36, D-37
  const auto refused = [](const char* key, const Json& value) {
    Json config = small_config();
    config[key] = value;
    const auto read = read_train_config(config, "");
    ASSERT_FALSE(read) << key << " " << dump_json(value);
    EXPECT_NE(read.error().text().find(key), std::string::npos) << read.error().text();
  };
  for (const Json& value : {Json("always"), Json(0), Json(-1.5), Json(true)}) refused("clamp_master", value);
  refused("qat_scale", "cold");
  Json config = small_config();
  config["clamp_master"] = 0.25, config["qat_scale"] = "frozen";
  const auto read = read_train_config(config, "");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->trainer.clamp_master.limit, 0.25);
  EXPECT_TRUE(read->trainer.frozen_scales);
}

TEST(Metrics, rows_of_the_ignored_class_are_no_part_of_accuracy) {  // T-10, T-50
  Metrics metrics;
  metrics.ignore(1);
  const std::vector<float> y = {2, 0, 2, 0, 0, 2};
  const std::vector<std::int32_t> wanted = {0, 1, 0};
  metrics.add({y.data(), Shape::of({3, 2})}, {{}, wanted, {}}, {1, 2});
  EXPECT_EQ(metrics.accuracy(), 0.5);
  EXPECT_EQ(metrics.confusion(), (std::vector<std::uint64_t>{1, 1, 0, 0}));
}

TEST(Metrics, mae_and_r2_by_hand) {  // T-50
  // Targets 1, 2, 3, 6 (mean 3, total 14), outputs off by 0.5, 0, -1, 0.5: residual 1.5, distance 2.
  const std::vector<float> y = {1.5f, 2}, more = {2, 6.5f}, t = {1, 2}, rest = {3, 6};
  Metrics metrics;
  metrics.add({y.data(), Shape::of({2, 1}), Element::f32}, {{}, {}, {t.data(), Shape::of({2, 1}), Element::f32}},
              {.value = 0.125, .count = 2});
  metrics.add({more.data(), Shape::of({2, 1}), Element::f32}, {{}, {}, {rest.data(), Shape::of({2, 1}), Element::f32}},
              {.value = 0.625, .count = 2});
  EXPECT_EQ(metrics.mae(), 0.5);
  EXPECT_EQ(metrics.r2(), 1 - 1.5 / 14);
  EXPECT_EQ(metrics.loss(), 0.375);
  EXPECT_EQ(metrics.value(Metric::R2), metrics.r2());
  // Targets that do not vary have nothing to explain.
  Metrics flat;
  const std::vector<float> same = {2, 2};
  flat.add({y.data(), Shape::of({2, 1}), Element::f32}, {{}, {}, {same.data(), Shape::of({2, 1}), Element::f32}}, {});
  EXPECT_EQ(flat.r2(), 0);
}

}  // namespace
}  // namespace loom::training_test
