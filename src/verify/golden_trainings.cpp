#include "verify/golden_trainings.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/philox.h"
#include "network/spec/spec.h"
#include "training/weight_hash.h"

namespace loom {

const char* const kTrainingDigest = "59847a6c68228f484960ad66b12b8b0d2c6522b887c3e7053d66d057e2fa5d1a";

const std::vector<GoldenTraining>& golden_trainings() {
  static const std::vector<GoldenTraining> all = [] {
    std::vector<GoldenTraining> list = {
        {.name = "training mlp",
         .layer =
             R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":70,"output_height":130,"bias":true,"activation":"gelu"},
             {"type":"dropout","rate":0.3},{"type":"dense","input_height":130,"output_height":33,"bias":true,"activation":"relu"},
             {"type":"dense","input_height":33,"output_height":5,"bias":true}]})",
         .input = {70},
         .classes = 5},
        {.name = "training cnn",
         .layer =
             R"({"type":"sequential","sequential_layers":[{"type":"cnn2","input_channels":3,"filters":18,"kernel_size":3,"padding":1,"bias":true,
             "activation":"relu"},{"type":"maxpool","kernel_size":2,"stride":2},{"type":"cnn2","input_channels":18,"filters":7,"kernel_size":3,
             "bias":true,"activation":"silu"},{"type":"reshape","shape":[42]},{"type":"dense","input_height":42,"output_height":5,"bias":true}]})",
         .input = {3, 10, 8},
         .classes = 5,
         .optimizer = "sgd"},
        {.name = "training lstm",
         .layer =
             R"({"type":"sequential","sequential_layers":[{"type":"lstm","input_height":19,"output_height":37,"return_sequence":false},
             {"type":"dense","input_height":37,"output_height":5,"bias":true}]})",
         .input = {7, 19},
         .classes = 5,
         .optimizer = "adamw"},
    };
    const std::vector<GoldenTraining> plain = list;
    const std::pair<std::size_t, TweenMode> by_targets[] = {
        {0, TweenMode::Chain},  {0, TweenMode::Layerwise}, {0, TweenMode::Mirror},
        {0, TweenMode::Dtp},    {1, TweenMode::Chain},     {1, TweenMode::Layerwise},
        {1, TweenMode::Mirror}, {1, TweenMode::Dtp},       {2, TweenMode::Layerwise}};
    for (const auto& [at, mode] : by_targets) {
      GoldenTraining& t = list.emplace_back(plain[at]);
      t.name += fmt::format(" by targets, {}", name(mode)), t.tween = mode;
    }
    return list;
  }();
  return all;
}

namespace {

Result<Network> network_of(const GoldenTraining& t) {
  LOOM_TRY(Network network, Network::create({}));
  network.settings.seed = 5;
  if (t.dtype == DType::float64) network.settings.activations = Element::f64;
  LOOM_TRY(const Json spec, parse_json(t.layer));
  LOOM_TRY(LayerPtr layer, layer_from_json(spec));
  LOOM_TRY_VOID(network.place({}, std::move(layer)));
  LOOM_TRY_VOID(network.initialise());
  LOOM_TRY_VOID(network.morph_all(t.dtype));
  if (t.dtype != DType::float64) return network;
  Result<void> done;  // masters of f64
  network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    std::vector<double> values(w.elements());
    w.decode(0, values.size(), values.data());
    if (auto set = w.set(std::span<const double>(values)); !set) done = std::move(set);
  });
  LOOM_TRY_VOID(done);
  return network;
}

}  // namespace

Result<std::string> training_digest(const GoldenTraining& t, const TrainingWay& way) {
  std::vector<std::size_t> extents = t.input;
  extents.insert(extents.begin(), t.batch);
  LOOM_TRY(const Shape shape, Shape::create(extents));
  LOOM_TRY(Network network, network_of(t));
  const bool sgd = t.optimizer == "sgd";
  TrainerConfig config;
  config.loss = t.loss;
  if (!t.tween || *t.tween >= TweenMode::Mirror) config.optimizer = {.name = t.optimizer, .momentum = sgd ? 0.9 : 0};
  config.schedule.learning_rate = sgd ? 0.05 : 0.01;
  if (!t.tween) {
    config.clip_norm = 0.5;
    config.micro_batch = way.micro_batch;
  } else {
    config.tween.emplace().mode = *t.tween;
  }
  config.session = {.threads = way.threads, .isa = way.isa, .mixed = t.mixed};
  config.session.device = way.device;
  LOOM_TRY(const auto trainer, Trainer::create(network, shape, config));
  std::vector<float> x(shape.elements());
  std::vector<std::int32_t> classes(t.batch * t.labels);
  for (std::size_t step = 0; step < t.steps; ++step) {
    const RandomStream random{.seed = 9, .step = static_cast<std::uint32_t>(step)};
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = t.ids != 0 ? static_cast<float>(random.below(i, static_cast<std::uint32_t>(t.ids)))
                        : 2 * random.uniform(i) - 1;
    for (std::size_t i = 0; i < classes.size(); ++i)
      classes[i] = static_cast<std::int32_t>(random.below(x.size() + i, static_cast<std::uint32_t>(t.classes)));
    LOOM_TRY(const StepReport report, trainer->step({{x.data(), shape}, classes, {}}));
    if (report.skipped) return fail(Code::NonFinite, "{}: step {} was skipped: {}", t.name, step, report.why);
  }
  LOOM_TRY_VOID(trainer->fetch_weights());
  return to_hex(weight_hash(network));
}

Result<std::string> training_table(const TrainingWay& way) {
  std::string table;
  for (const GoldenTraining& t : golden_trainings()) {
    LOOM_TRY(const std::string digest, training_digest(t, way));
    table += t.name + "\t" + digest + "\n";
  }
  return table;
}

}  // namespace loom
