// Trainings on a graphics card end with the weights of the CPU.

#include <gtest/gtest.h>

#include "learning/tween/mesh_tween.h"
#include "support/gpu.h"
#include "verify/golden_trainings.h"
#include "training/training_test.h"

namespace loom {
namespace {

// A decoder of two blocks, and the golden trainings by gradients.
std::vector<GoldenTraining> gpu_trainings() {
  std::vector<GoldenTraining> list;
  for (const GoldenTraining& t : golden_trainings())
    if (!t.tween) list.push_back(t);
  GoldenTraining& decoder = list.emplace_back();
  decoder.name = "training decoder";
  decoder.layer =
      R"({"type":"sequential","sequential_layers":[{"type":"embedding","vocab_size":67,"embedding_dim":24},
      {"type":"sequential","sequential_layers":[{"type":"rmsnorm","input_height":24},{"type":"mha","d_model":24,"num_heads":4,"num_kv_heads":2,"rope":true},{"type":"residual","skip_from":0}]},
      {"type":"sequential","sequential_layers":[{"type":"layernorm","input_height":24},{"type":"swiglu","input_height":24,"intermediate_size":52},{"type":"residual","skip_from":0}]},
      {"type":"rmsnorm","input_height":24},{"type":"dense","input_height":24,"output_height":67}]})";
  decoder.input = {37}, decoder.classes = 67, decoder.labels = 37, decoder.ids = 67, decoder.batch = 19;
  GoldenTraining& wide = list.emplace_back();  // weights that many workgroups share
  wide.name = "training wide mlp";
  wide.layer =
      R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":784,"output_height":401,"bias":true,"activation":"relu"},
      {"type":"dense","input_height":401,"output_height":10,"bias":true}]})";
  wide.input = {784}, wide.classes = 10, wide.steps = 4;
  return list;
}

void expect_the_weights_of_the_cpu(GoldenTraining training, std::size_t steps = 0, std::size_t micro_batch = 0) {
  LOOM_NEEDS_GPU_DEVICE(device);
  if (steps != 0) training.steps = steps;
  SCOPED_TRACE(fmt::format("{} {} {}", training.name, name(training.dtype), training.optimizer));
  TrainingWay way{.isa = best_isa(), .threads = 2, .micro_batch = micro_batch};
  const auto wanted = training_digest(training, way);
  way.device = device;
  const auto got = training_digest(training, way);
  ASSERT_TRUE(wanted && got) << (wanted ? got.error().text() : wanted.error().text());
  EXPECT_EQ(*got, *wanted);
}

TEST(GpuTraining, every_network_ends_with_the_weights_of_the_cpu) {
  for (const GoldenTraining& training : gpu_trainings()) {
    expect_the_weights_of_the_cpu(training);
    expect_the_weights_of_the_cpu(training, 3, 16);
  }
}

TEST(GpuTraining, every_optimiser_ends_with_the_weights_of_the_cpu) {
  for (const char* const optimizer : {"sgd", "adam", "adamw", "rmsprop", "adagrad", "lion"}) {
    GoldenTraining training = gpu_trainings().front();
    training.optimizer = optimizer;
    expect_the_weights_of_the_cpu(training);
  }
}

TEST(GpuTraining, losses_of_rows_against_rows_end_with_the_weights_of_the_cpu) {
  const GoldenTraining mlp = gpu_trainings().front();
  for (const LossKind loss : {LossKind::Cosine, LossKind::Contrastive}) {
    GoldenTraining training = mlp;
    training.loss.kind = loss;
    expect_the_weights_of_the_cpu(training);
  }
  GoldenTraining heads = mlp;
  heads.loss = {.kind = LossKind::MultiHeadSoftmax, .heads = {2, 3}};
  heads.labels = 2, heads.classes = 2;
  expect_the_weights_of_the_cpu(heads);
  expect_the_weights_of_the_cpu(heads, 3, 16);
}

TEST(GpuTraining, targets_in_place_of_gradients_end_with_the_weights_of_the_cpu) {
  for (GoldenTraining training : golden_trainings()) {
    if (!training.tween) continue;
    expect_the_weights_of_the_cpu(training);
    training.dtype = DType::int8;
    expect_the_weights_of_the_cpu(training, 4);
  }
}

// ./test --whole asks for 500 steps.
TEST(GpuTraining, long_trainings_end_with_the_weights_of_the_cpu) {
  const char* const asked = std::getenv("LOOM_GPU_STEPS");
  if (asked == nullptr) GTEST_SKIP() << "LOOM_GPU_STEPS is not set";
  const std::size_t steps = std::strtoul(asked, nullptr, 10);
  for (const GoldenTraining& training : gpu_trainings())
    if (training.name != "training wide mlp") expect_the_weights_of_the_cpu(training, steps);
  for (const DType dtype : {DType::int8, DType::ternary}) {
    GoldenTraining training = gpu_trainings().front();
    training.dtype = dtype;
    expect_the_weights_of_the_cpu(training, steps);
  }
  for (const GoldenTraining& training : golden_trainings())
    if (training.tween) expect_the_weights_of_the_cpu(training, steps);
}

constexpr DType kEncodedThere[] = {DType::int8,   DType::ternary, DType::bfloat16, DType::float16, DType::int4,
                                   DType::binary, DType::fp8e5m2, DType::fp8e4m3,  DType::uint8,   DType::int2,
                                   DType::uint4,  DType::uint2,   DType::fp4};

TEST(GpuTraining, quantised_weights_and_mixed_precision_end_with_the_weights_of_the_cpu) {
  for (const DType dtype : kEncodedThere) {
    GoldenTraining training = gpu_trainings().front();
    training.dtype = dtype;
    expect_the_weights_of_the_cpu(training);
  }
  for (GoldenTraining training : gpu_trainings()) {
    training.dtype = training.input.size() == 1 ? DType::ternary : DType::int8;
    expect_the_weights_of_the_cpu(training, 3);
  }
  for (const Mixed mixed : {Mixed::bf16, Mixed::f16, Mixed::fp8}) {
    GoldenTraining training = gpu_trainings().front();
    training.mixed = mixed;
    expect_the_weights_of_the_cpu(training, 5);
  }
}

// The stored weights of a network on a device, or on the host where there is none: panels, scales and zero points of
// matrices, values of vectors, in their order.
std::vector<std::vector<std::byte>> stored_weights(Network& network, Device* device) {
  std::vector<std::vector<std::byte>> all;
  const auto add = [&](const std::shared_ptr<const void>& token, const void* from, std::size_t bytes) {
    if (from == nullptr) return;
    const std::span<const std::byte> here{static_cast<const std::byte*>(from), bytes};
    all.emplace_back(here.begin(), here.end());
    if (device != nullptr) device->read(device->place(token, here).value(), all.back());
  };
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    for (std::size_t p = 0; w.role() == WeightRole::Matrix && p < w.parts(); ++p) {
      const Matrix& m = *w.matrix(p);
      const std::size_t factor_bytes = m.panels() * kPanelRows * sizeof(float);
      add(m.token(), m.panel(0), m.panels() * m.panel_bytes());
      add(m.token(), m.row_scales(), factor_bytes), add(m.token(), m.row_zeros(), factor_bytes);
    }
    if (w.role() != WeightRole::Matrix) all.emplace_back(w.elements() * sizeof(float));
    if (w.role() != WeightRole::Matrix) w.decode(0, w.elements(), reinterpret_cast<float*>(all.back().data()));
  });
  return all;
}

struct Trained {
  std::vector<std::vector<std::byte>> weights, fetched;
  std::string hash;
  std::vector<std::vector<std::byte>> carried;
  std::vector<double> losses;
  std::size_t skipped = 0;
  std::uint64_t bytes_read = 0;  // in a step that proves nothing
};
Trained trained(
    gpu::GpuDevice* device, const Encoding& encoding, const Json& layers, const Shape& input,
    float (*alter)(std::uint32_t step, float x) = [](std::uint32_t, float x) { return x; }, bool frozen = false) {
  Trained out;
  Network network = training_test::network_of({{"seed", 7}, {"layers", layers}});
  EXPECT_TRUE(network.initialise());
  network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    const bool is_typed = w.role() == WeightRole::Matrix || w.role() == WeightRole::TypedVector;
    EXPECT_TRUE(!is_typed || w.morph(encoding));
  });
  TrainerConfig config;
  config.loss.kind = LossKind::SoftmaxCrossEntropy, config.optimizer.name = "adam", config.frozen_scales = frozen;
  config.schedule.learning_rate = 0.01, config.session.threads = 2, config.session.device = device;
  const auto trainer = Trainer::create(network, input, config);
  EXPECT_TRUE(trainer) << trainer.error().text();
  out.bytes_read = ~std::uint64_t{0};
  std::vector<std::shared_ptr<const void>> held;
  for (std::uint32_t step = 0; step < 20; ++step) {
    EXPECT_TRUE(step != 6 || (*trainer)->fetch_weights());
    held.clear();
    if (step == 11)  // somebody holds the weights as they are
      network.visit_weights([&](const std::string&, const Weight& w, const Layer&) { held.push_back(w.version()); });
    const RandomStream random{.seed = 9, .step = step};
    std::vector<float> x(input.elements());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = alter(step, 2 * random.uniform(i) - 1);
    std::vector<std::int32_t> classes(input[0]);
    for (std::size_t i = 0; i < classes.size(); ++i)
      classes[i] = static_cast<std::int32_t>(random.below(x.size() + i, 5));
    const std::uint64_t before = device != nullptr ? device->counters().bytes_read : 0;
    const auto report = (*trainer)->step({{x.data(), input}, classes, {}});
    EXPECT_TRUE(report) << report.error().text();
    out.skipped += static_cast<std::size_t>(report->skipped);
    out.losses.push_back(report->loss);
    if (device != nullptr) out.bytes_read = std::min(out.bytes_read, device->counters().bytes_read - before);
  }
  EXPECT_TRUE((*trainer)->fetch_weights());
  out.carried = (*trainer)->save_states();
  out.weights = stored_weights(network, device), out.fetched = stored_weights(network, nullptr);
  out.hash = to_hex(weight_hash(network));
  return out;
}

TEST(GpuTraining, panels_are_encoded_there_to_the_bytes_of_the_cpu_and_a_step_reads_its_figures_alone) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto dense = [](std::size_t from, std::size_t to) {
    return Json{
        {"type", "dense"}, {"input_height", from}, {"output_height", to}, {"bias", true}, {"activation", "tanh"}};
  };
  const Json norm{{"type", "rmsnorm"}, {"input_height", 130}};
  const Json conv{{"type", "cnn2"}, {"input_channels", 2}, {"filters", 6}, {"kernel_size", 3}, {"groups", 2}};
  const Json flat{{"type", "reshape"}, {"shape", {24}}};
  const struct {
    Json layers;
    Shape input;
  } nets[] = {{{dense(70, 130), norm, dense(130, 5)}, Shape::of({16, 70})},
              {{conv, flat, dense(24, 5)}, Shape::of({16, 2, 4, 4})}};
  for (const auto& [layers, input] : nets) {
    const std::uint64_t figures = trained(device, {}, layers, input).bytes_read;
    EXPECT_LT(figures, 200u);
    const auto expect = [&, &layers = layers, &input = input](const Encoding& encoding) {
      SCOPED_TRACE(
          fmt::format("{} {} {}", name(encoding.dtype), static_cast<int>(encoding.span.granularity), input.text()));
      const Trained wanted = trained(nullptr, encoding, layers, input), got = trained(device, encoding, layers, input);
      EXPECT_TRUE(got.weights == wanted.weights);
      EXPECT_TRUE(got.fetched == wanted.fetched);
      EXPECT_EQ(got.hash, wanted.hash);
      EXPECT_EQ(got.skipped + wanted.skipped, 0u);
      EXPECT_EQ(got.bytes_read, figures);
    };
    for (const DType dtype : kEncodedThere) expect({.dtype = dtype});
    for (const DType dtype : {DType::int8, DType::ternary, DType::uint8}) {
      for (const Granularity granularity : {Granularity::Tensor, Granularity::Row, Granularity::Group})
        expect({.dtype = dtype, .span = {granularity, 64}});
      expect({.dtype = dtype, .activation_quant = ActivationQuant::None});
      const auto frozen = [&, &layers = layers, &input = input](gpu::GpuDevice* where) {
        return trained(where, {.dtype = dtype}, layers, input, [](std::uint32_t, float x) { return x; }, true).hash;
      };
      EXPECT_EQ(frozen(device), frozen(nullptr)) << name(dtype);
    }
  }
}

TEST(GpuTraining, running_statistics_and_states_stay_there_and_come_back_after_steps_that_count_for_nothing) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const Json norm{{"type", "batchnorm"}, {"input_height", 9}};
  const Json dense{{"type", "dense"}, {"input_height", 9}, {"output_height", 5}, {"bias", true}};
  const Json lstm{
      {"type", "lstm"}, {"input_height", 9}, {"output_height", 9}, {"stateful", true}, {"return_sequence", false}};
  const struct {
    Json layers;
    Shape input;
    std::size_t skipped, bytes;  // so many at least; and at most, of the figures
  } nets[] = {{{norm, dense}, Shape::of({16, 9}), 6, 168}, {{lstm, dense}, Shape::of({4, 3, 9}), 2, 272}};
  const auto alter = [](std::uint32_t step, float x) {
    if (step % 7 == 3 && x > 0.9f) return std::numeric_limits<float>::quiet_NaN();
    return step % 7 == 5 ? x * 1e25f : x;  // whose variance is infinite, and whose loss is not
  };
  for (const auto& [layers, input, skipped, bytes] : nets)
    for (const DType dtype : {DType::float32, DType::int8}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), input.text()));
      const Trained wanted = trained(nullptr, {.dtype = dtype}, layers, input, alter);
      const Trained got = trained(device, {.dtype = dtype}, layers, input, alter);
      EXPECT_GE(wanted.skipped, skipped);
      EXPECT_EQ(got.skipped, wanted.skipped);
      EXPECT_TRUE(got.fetched == wanted.fetched);
      EXPECT_EQ(got.hash, wanted.hash);
      EXPECT_EQ(got.carried, wanted.carried);
      for (std::size_t i = 0; i < wanted.losses.size(); ++i)
        EXPECT_TRUE(got.losses[i] == wanted.losses[i] || std::isnan(wanted.losses[i])) << i;
      EXPECT_LE(got.bytes_read, bytes);
    }
}

TEST(GpuTraining, workers_of_shards_run_one_after_the_other_to_the_weights_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto hash = [](gpu::GpuDevice* where, std::size_t workers) {
    Network network = training_test::network_of(
        {{"seed", 7},
         {"layers",
          {{{"type", "dense"}, {"input_height", 60}, {"output_height", 90}, {"activation", "tanh"}},
           {{"type", "dense"}, {"input_height", 90}, {"output_height", 5}, {"bias", true}}}}});
    const Shape input = Shape::of({67, 60});
    EXPECT_TRUE(network.initialise());
    TrainerConfig config;
    config.loss.kind = LossKind::Mse, config.optimizer.name = "adam", config.shards = 4, config.workers = workers;
    config.schedule.learning_rate = 0.01, config.session.threads = 3, config.session.device = where;
    const auto trainer = Trainer::create(network, input, config);
    EXPECT_TRUE(trainer) << trainer.error().text();
    const RandomStream random{.seed = 5};
    std::vector<float> x(input.elements()), t(67 * 5);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * random.uniform(i) - 1;
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = 2 * random.uniform(x.size() + i) - 1;
    for (int step = 0; step < 20; ++step) {
      const auto report = (*trainer)->step({{x.data(), input}, {}, {t.data(), Shape::of({67, 5})}});
      EXPECT_TRUE(report && !report->skipped);
    }
    EXPECT_TRUE((*trainer)->fetch_weights());
    return to_hex(weight_hash(network));
  };
  const std::string wanted = hash(nullptr, 2);
  for (const std::size_t workers : {1u, 2u, 3u}) EXPECT_EQ(hash(device, workers), wanted) << workers;
}

TEST(GpuTraining, a_step_that_is_skipped_names_the_layer_that_the_cpu_names) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto why = [](gpu::GpuDevice* where, float value) {
    Network network = training_test::network_of({{"seed", 7},
                                                 {"layers",
                                                  {{{"type", "dense"}, {"input_height", 6}, {"output_height", 9}},
                                                   {{"type", "dense"}, {"input_height", 9}, {"output_height", 5}}}}});
    const Shape input = Shape::of({20, 6});
    EXPECT_TRUE(network.initialise());
    TrainerConfig config;
    config.loss.kind = LossKind::Mse, config.micro_batch = 16, config.session.threads = 2,
    config.session.device = where;
    const auto trainer = Trainer::create(network, input, config);
    EXPECT_TRUE(trainer) << trainer.error().text();
    std::vector<float> x(120, 0.5f), t(100, 0);
    x[112] = value;
    const auto report = (*trainer)->step({{x.data(), input}, {}, {t.data(), Shape::of({20, 5})}});
    EXPECT_TRUE(report && report->skipped);
    return report ? report->why : "";
  };
  for (const float value : {3e38f, 1e25f, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(why(device, value), why(nullptr, value));
  EXPECT_NE(why(device, std::numeric_limits<float>::infinity()).find("layers.0 (dense)"), std::string::npos);
  EXPECT_NE(why(device, 1e25f).find("every layer's output is"), std::string::npos) << why(device, 1e25f);
}

// The results of a step mesh in 20 ticks of two states: outputs of every tick, the gradients of every fifth one, which
// change weights, then weights and states.
struct Ticked {
  std::vector<std::uint32_t> bits;
  std::string weights, states;
};
Ticked twenty_ticks(Device* device, const Json& layers, const Shape& input, TweenMode mode) {
  Ticked out;
  const auto see = [&](const ConstView& view) {
    out.bits.resize(out.bits.size() + view.shape.elements());
    const std::span to = std::as_writable_bytes(std::span(out.bits).last(view.shape.elements()));
    device != nullptr ? device->read(view.as<std::byte>(), to)
                      : void(std::copy_n(view.as<std::byte>(), to.size(), to.data()));
  };
  const auto seeded = [](std::uint32_t step, std::size_t n) {
    const RandomStream random{.seed = 4, .step = step};
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = 2 * random.uniform(i) - 1;
    return v;
  };
  Network network = training_test::network_of({{"seed", 7}, {"layers", layers}});
  EXPECT_TRUE(network.initialise());
  const std::string before = to_hex(weight_hash(network));
  auto mesh = StepMesh::create(
      network, input,
      {.threads = 2, .isa = {}, .history_capacity = 4, .backward = true, .keep_inputs = true, .device = device});
  EXPECT_TRUE(mesh);
  TweenConfig config;
  config.mode = mode;
  auto tween = MeshTween::create(network, **mesh, config, {.ticks = mode == TweenMode::Chain ? std::size_t{3} : 0});
  EXPECT_TRUE(tween);
  StepState a = (*mesh)->create_state().value(), b = (*mesh)->create_state().value();
  StepState* const both[] = {&a, &b};
  Memory target;
  for (std::uint32_t tick = 0; tick < 20; ++tick) {
    const std::vector<float> x = seeded(tick, input.elements());
    EXPECT_TRUE(both[tick % 2]->set_input({x.data(), input, Element::f32}, tick % 3 != 0));
    EXPECT_TRUE((*mesh)->step(both, {.capture = true, .training = true}));
    for (const StepState* state : both)
      if (const auto y = state->output()) see(*y);
    if (tick % 5 != 4) continue;
    const Shape shape = a.output()->shape;
    target = Memory::create(device, shape.elements() * sizeof(float)).value();
    const std::vector<float> t = seeded(100 + tick, shape.elements());
    target.write(0, std::as_bytes(std::span(t)));
    const ConstView dy{target.data(), shape, Element::f32};
    const auto ports = (*mesh)->backward(a, dy);
    EXPECT_TRUE(ports);
    for (const ConstView& port : *ports)
      if (port.data != nullptr) see(port);
    network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
      see({(*mesh)->gradients().of(w), Shape::of({1, w.elements()}), Element::f32});
    });
    const TweenTarget targets[] = {{.values = dy}, {.values = dy}};
    EXPECT_TRUE((*tween)->step(both, targets, 0.1));
  }
  network.visit_weights([](const std::string&, Weight& w, Layer&) { EXPECT_TRUE(w.fetch()); });
  EXPECT_TRUE(device == nullptr || device->check());
  out.weights = to_hex(weight_hash(network));
  EXPECT_NE(out.weights, before);
  out.states = to_hex(a.hash()) + to_hex(b.hash());
  // A state goes from one device to another as a snapshot.
  const std::vector<std::byte> snapshot = a.snapshot();
  EXPECT_TRUE(b.restore(snapshot));
  EXPECT_EQ(b.hash(), a.hash());
  return out;
}

TEST(GpuTraining, ticks_of_a_step_mesh_leave_what_those_of_the_cpu_leave) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto dense = [](std::size_t from, std::size_t to, const char* activation) {
    return Json{
        {"type", "dense"}, {"input_height", from}, {"output_height", to}, {"bias", true}, {"activation", activation}};
  };
  Json back = dense(130, 33, "tanh");  // adds what the last cell left in the tick before
  back["is_remote_link"] = true, back["link_mode"] = "feed", back["link_merge"] = "add";
  back["target_z"] = 0, back["target_y"] = 0, back["target_x"] = 0, back["target_l"] = 2;
  const Json lstm{{"type", "lstm"}, {"input_height", 19}, {"output_height", 37}, {"stateful", true}};
  const struct {
    Json layers;
    Shape input;
  } cases[] = {{{dense(70, 130, "gelu"), back, dense(33, 130, "relu")}, Shape::of({67, 70})},
               {{lstm, {{"type", "dropout"}, {"rate", 0.3}}, dense(37, 5, "linear")}, Shape::of({6, 5, 19})}};
  for (const auto& [layers, input] : cases)
    for (const TweenMode mode : {TweenMode::Layerwise, TweenMode::Chain}) {
      SCOPED_TRACE(fmt::format("{} {}", input.text(), name(mode)));
      const Ticked wanted = twenty_ticks(nullptr, layers, input, mode), got = twenty_ticks(device, layers, input, mode);
      EXPECT_GT(wanted.bits.size(), 40'000u);
      EXPECT_EQ(got.bits, wanted.bits);
      EXPECT_EQ(got.weights, wanted.weights);
      EXPECT_EQ(got.states, wanted.states);
    }
}

}  // namespace
}  // namespace loom
