// Whole training steps on a device whose memory the host cannot touch: no step asks for a value before it has ended.

#include "learning/tween/mesh_tween.h"
#include "support/null_device.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

struct Net {
  std::string_view name;
  Json layers;
  Shape input;
  std::size_t labels;  // per batch
};

std::vector<Net> nets() {
  const auto dense = [](std::size_t in, std::size_t out, const char* activation = "linear") {
    return Json{{"type", "dense"}, {"input_height", in}, {"output_height", out}, {"activation", activation}};
  };
  const Json conv{{"type", "cnn2"}, {"input_channels", 1}, {"filters", 4}, {"kernel_size", 3}, {"activation", "relu"}};
  const Json pool{{"type", "maxpool"}, {"kernel_size", 2}, {"stride", 2}};
  const Json flat{{"type", "reshape"}, {"shape", {36}}};
  const Json lstm{{"type", "lstm"}, {"input_height", 3}, {"output_height", 6}, {"return_sequence", false}};
  const Json norm{{"type", "rmsnorm"}, {"input_height", 8}};
  const Json mha{{"type", "mha"}, {"d_model", 8}, {"num_heads", 2}, {"rope", true}};
  const Json swiglu{{"type", "swiglu"}, {"input_height", 8}, {"intermediate_size", 16}};
  const Json residual{{"type", "residual"}};
  const Json block{{"type", "sequential"},
                   {"sequential_layers", {norm, mha, {{"type", "residual"}, {"skip_from", 0}}}}};
  const Json gates{{"type", "sequential"},
                   {"sequential_layers", {norm, swiglu, {{"type", "residual"}, {"skip_from", 0}}}}};
  const Json words{{"type", "embedding"}, {"vocab_size", 11}, {"embedding_dim", 8}};
  return {{"mlp", {dense(5, 16, "relu"), dense(16, 8, "tanh"), dense(8, 4)}, Shape::of({16, 5}), 16},
          {"cnn", {conv, pool, flat, dense(36, 4)}, Shape::of({16, 1, 8, 8}), 16},
          {"lstm", {lstm, dense(6, 4)}, Shape::of({16, 5, 3}), 16},
          {"decoder", {words, block, gates, norm, dense(8, 4)}, Shape::of({16, 6}), 96}};
}

void three_steps(const Net& net, TrainerConfig config) {
  Network network = network_of({{"seed", 1}, {"layers", net.layers}});
  test::NullDevice device;
  config.session.threads = 2, config.session.device = &device, config.loss.kind = LossKind::SoftmaxCrossEntropy;
  auto trainer = Trainer::create(network, net.input, config);
  ASSERT_TRUE(trainer) << trainer.error().message;
  const std::vector<float> x(net.input.elements(), 1.0f);
  const std::vector<std::int32_t> classes(net.labels, 2);
  for (int step = 0; step < 3; ++step) {
    device.reads = 0;
    const auto report = (*trainer)->step({{x.data(), net.input}, classes, {}});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->skipped) << report->why;
    EXPECT_EQ(device.reads, static_cast<int>(config.workers)) << "figures are read once, when the step has ended";
  }
}

TEST(NullDevice, three_steps_by_gradients_ask_for_no_value) {  // T-01
  for (const Net& net : nets())
    for (const std::string name : {"sgd", "momentum", "adam", "rmsprop", "adagrad", "lion"}) {
      SCOPED_TRACE(fmt::format("{} {}", net.name, name));
      TrainerConfig config;
      config.optimizer.name = name == "momentum" ? "sgd" : name;
      if (name == "momentum") config.optimizer.momentum = 0.9;
      three_steps(net, config);
      config.clip_norm = 1, config.clip_value = 0.5;
      three_steps(net, config);
    }
}

TEST(NullDevice, steps_in_parts_ask_for_no_value) {  // T-41, T-70, T-80, T-81
  for (const Net& net : nets()) {
    SCOPED_TRACE(net.name);
    TrainerConfig config;
    config.session.mixed = Mixed::f16;
    three_steps(net, config);
    config.session.mixed = Mixed::bf16, config.micro_batch = 8;
    three_steps(net, config);
    config = {};
    config.shards = 4, config.workers = 2;
    three_steps(net, config);
    config = {};
    config.session.checkpoint_every = 2;
    three_steps(net, config);
    config = {};
    config.tbptt_steps = net.name == "decoder" ? 3 : 0;
    three_steps(net, config);
  }
}

TEST(NullDevice, three_steps_by_targets_ask_for_no_value) {
  for (const Net& net : nets())
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise})
      for (const bool undo : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {}", net.name, name(mode)));
        TrainerConfig config;
        config.tween.emplace().mode = mode, config.tween->undo_velocities = undo;
        three_steps(net, config);
        config.tween->recompute_every = 2;
        three_steps(net, config);
      }
}

TEST(NullDevice, what_a_device_does_not_run_is_said) {  // T-24, W-60
  Network network = network_of({{"seed", 1}, {"layers", nets()[0].layers}});
  test::NullDevice device;
  TrainerConfig config;
  config.session.device = &device, config.lbfgs_history = 10;
  EXPECT_EQ(Trainer::create(network, nets()[0].input, config).error().code, Code::Unsupported);
}

// Ticks of a step mesh, their backward passes and its learning.
TEST(NullDevice, ticks_of_a_mesh_ask_for_no_value) {  // M-10, M-11
  const Json lstm{{"type", "lstm"}, {"input_height", 4}, {"output_height", 4}, {"stateful", true}};
  const Json dense{{"type", "dense"}, {"input_height", 4}, {"output_height", 4}, {"activation", "tanh"}};
  Json back = dense;
  back["is_remote_link"] = true, back["link_mode"] = "feed", back["link_merge"] = "add";
  back["target_z"] = 0, back["target_y"] = 0, back["target_x"] = 0, back["target_l"] = 2;
  Network network = network_of({{"seed", 1}, {"layers", {dense, back, lstm}}});
  const Shape input = Shape::of({2, 3, 4});
  test::NullDevice device;
  auto mesh = StepMesh::create(
      network, input,
      {.threads = 2, .isa = {}, .history_capacity = 4, .backward = true, .keep_inputs = true, .device = &device});
  ASSERT_TRUE(mesh) << mesh.error().message;
  auto a = (*mesh)->create_state(), b = (*mesh)->create_state();
  ASSERT_TRUE(a && b);
  const std::vector<float> x(input.elements(), 1.0f);
  StepState* const both[] = {&*a, &*b};
  for (StepState* state : both) ASSERT_TRUE(state->set_input({x.data(), input, Element::f32}));
  for (int tick = 0; tick < 6; ++tick) {
    const auto ran = (*mesh)->step(both, {.capture = true, .training = true});
    ASSERT_TRUE(ran) << ran.error().message;
  }
  const Shape y = a->output()->shape;
  const ConstView dy{device.reserve(y.elements() * sizeof(float)), y, Element::f32};
  const auto gradients = (*mesh)->backward(*a, dy);
  ASSERT_TRUE(gradients) << gradients.error().message;
  for (const std::size_t ticks : {std::size_t{0}, std::size_t{3}})
    for (const TweenMode mode : {TweenMode::Chain, TweenMode::Layerwise}) {
      TweenConfig config;
      config.mode = mode;
      auto tween = MeshTween::create(network, **mesh, config, {.ticks = ticks});
      ASSERT_TRUE(tween) << tween.error().message;
      const TweenTarget target{.values = dy};
      const TweenTarget targets[] = {target, target};
      device.reads = 0;
      const auto done = (*tween)->step(both, targets, 0.1);
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(device.reads, 1);
    }
  auto copy = a->fork();
  ASSERT_TRUE(copy);
  const std::vector<std::byte> snapshot = a->snapshot();
  ASSERT_TRUE(b->restore(snapshot));
  EXPECT_EQ(copy->hash(), a->hash());
}

}  // namespace
}  // namespace loom::training_test
