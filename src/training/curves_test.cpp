// Whole trainings beside PyTorch's (tests/golden/learning/curves.json, tools/golden/training_curves.py): the losses of
// 50 steps from the same weights and batches, which both sides make by one rule.

#include <gtest/gtest.h>

#include <cmath>

#include "learning/test_data.h"
#include "network/spec/spec.h"
#include "training/trainer.h"

namespace loom {
namespace {

using test::flag;
using test::number_or;
using test::numbers;
using test::text_or;

// The 32-bit finaliser of MurmurHash3 over stream * 2^20 + i.
std::uint32_t hash_of(std::uint64_t stream, std::size_t i) {
  auto h = static_cast<std::uint32_t>((stream << 20) + i);
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return h ^ (h >> 16);
}

// [-1, 1) in steps of 2^-23.
float unit(std::uint64_t stream, std::size_t i) { return static_cast<float>(hash_of(stream, i) >> 8) * 0x1p-23f - 1; }

// "layers.0.sequential_layers.1.sequential_layers.0.gamma" as the script names it: "1.0.gamma".
std::string short_name(std::string path) {
  for (const std::string_view part : {"sequential_layers.", "layers.0."})
    for (std::size_t at; (at = path.find(part)) != std::string::npos;) path.erase(at, part.size());
  return path;
}

// One batch, or several joined.
struct GoldenBatch {
  std::vector<float> inputs, values;
  std::vector<std::int32_t> classes;
  std::vector<std::size_t> shape, value_shape;

  Samples samples() const {
    return {{inputs.data(), *Shape::create(shape)},
            classes,
            values.empty() ? ConstView{} : ConstView{values.data(), *Shape::create(value_shape)}};
  }
};

class Model {
 public:
  explicit Model(const Json& json) : json_(json), shape_(numbers<std::size_t>(json["input"])) {}

  Shape input() const { return *Shape::create(shape_); }

  Network network(Element element) const {
    Network network = Network::create({}).value();
    network.settings.activations = element;
    EXPECT_TRUE(network.place({}, layer_from_json(json_["layer"]).value()));
    EXPECT_TRUE(network.initialise());
    EXPECT_TRUE(network.morph_all(element == Element::f64 ? DType::float64 : DType::float32));
    std::uint64_t stream = 0;
    network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
      if (stream >= json_["weights"].size()) return void(ADD_FAILURE() << path << ": a weight that the file has not");
      const Json& rule = json_["weights"][stream];
      EXPECT_EQ(short_name(path), text_or(rule, "name", ""));
      const auto scale = static_cast<float>(number_or(rule, "scale", 0)),
                 offset = static_cast<float>(number_or(rule, "offset", 0));
      std::vector<float> values(w.elements());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = offset + scale * unit(stream, i);
      EXPECT_TRUE(w.set(std::span<const float>(values)));
      ++stream;
    });
    EXPECT_EQ(stream, json_["weights"].size());
    return network;
  }

  void append(GoldenBatch& batch, std::uint64_t index) const {
    const std::uint64_t stream = 1000 + 2 * index;
    const std::size_t samples = shape_[0], count = Shape::create(shape_)->elements(),
                      before = batch.shape.empty() ? 0 : batch.shape[0];
    const auto ids = static_cast<std::uint32_t>(number_or(json_, "ids", 0)),
               classes = static_cast<std::uint32_t>(number_or(json_, "classes", 0));
    for (std::size_t i = 0; i < count; ++i)
      batch.inputs.push_back(ids == 0 ? unit(stream, i) : static_cast<float>(hash_of(stream, i) % ids));
    batch.shape = shape_, batch.shape[0] = before + samples;
    if (classes != 0) {
      const std::size_t labels = samples * static_cast<std::size_t>(number_or(json_, "labels", 1));
      for (std::size_t i = 0; i < labels; ++i)
        batch.classes.push_back(static_cast<std::int32_t>(hash_of(stream + 1, i) % classes));
      return;
    }
    batch.value_shape = numbers<std::size_t>(json_["values"]);
    batch.value_shape.insert(batch.value_shape.begin(), samples);
    const std::size_t values = Shape::create(batch.value_shape)->elements();
    for (std::size_t i = 0; i < values; ++i) batch.values.push_back(unit(stream + 1, i));
    batch.value_shape[0] += before;
  }
  std::size_t batch_size() const { return shape_[0]; }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
  std::vector<std::size_t> shape_;
};

OptimizerConfig optimizer_of(const Json& json) {
  OptimizerConfig o{.name = text_or(json, "name", "sgd"),
                    .momentum = number_or(json, "momentum", 0),
                    .dampening = number_or(json, "dampening", 0),
                    .nesterov = flag(json, "nesterov"),
                    .amsgrad = flag(json, "amsgrad"),
                    .centered = flag(json, "centered"),
                    .decay_vectors = flag(json, "decay_vectors")};
  const auto read = [&](const char* key, std::optional<double>& to) {
    if (find(json, key)) to = number_or(json, key, 0);
  };
  read("beta1", o.beta1), read("beta2", o.beta2), read("weight_decay", o.weight_decay);
  return o;
}

ScheduleConfig schedule_of(const Json& run) {
  ScheduleConfig s{.learning_rate = number_or(run, "learning_rate", 0)};
  const Json* given = find(run, "schedule");
  if (given == nullptr) return s;
  const auto count = [&](const char* key, std::uint64_t& to) {
    to = static_cast<std::uint64_t>(number_or(*given, key, static_cast<double>(to)));
  };
  const auto number = [&](const char* key, double& to) { to = number_or(*given, key, to); };
  s.name = text_or(*given, "name", ""), s.cyclic_mode = text_or(*given, "cyclic_mode", s.cyclic_mode);
  count("size", s.size), count("total", s.total), count("first_cycle", s.first_cycle),
      count("cycle_mult", s.cycle_mult);
  count("up", s.up), count("down", s.down), count("warmup_steps", s.warmup_steps);
  number("gamma", s.gamma), number("start_factor", s.start_factor), number("end_factor", s.end_factor),
      number("power", s.power);
  number("min", s.min), number("max", s.max), number("base", s.base), number("pct", s.pct), number("div", s.div);
  number("final_div", s.final_div), number("warmup_factor", s.warmup_factor);
  if (const Json* milestones = find(*given, "milestones")) s.milestones = numbers<std::uint64_t>(*milestones);
  return s;
}

// Largest relative distance from the curve of the file.
double train(const Model& model, const Json& run, Element element, int threads) {
  Network network = model.network(element);
  TrainerConfig config;
  config.loss.kind = loss_from_name(text_or(model.json(), "loss", "")).value();
  config.loss.label_smoothing = number_or(run, "label_smoothing", 0);
  config.optimizer = optimizer_of(run["optimizer"]);
  config.schedule = schedule_of(run);
  config.clip_norm = number_or(run, "clip_norm", 0), config.clip_value = number_or(run, "clip_value", 0);
  const auto parts = static_cast<std::size_t>(number_or(run, "accumulate", 1));
  if (parts > 1) config.micro_batch = model.batch_size();
  config.session.threads = threads;
  auto trainer = Trainer::create(network, model.input(), config);
  if (!trainer) return ADD_FAILURE() << trainer.error().text(), 1;
  const std::vector<double> want = numbers<double>(run[element == Element::f64 ? "f64" : "f32"]);
  double worst = 0;
  for (std::size_t step = 0; step < want.size(); ++step) {
    GoldenBatch batch;
    for (std::size_t part = 0; part < parts; ++part) model.append(batch, (step * parts + part) % 4);
    const auto report = (*trainer)->step(batch.samples());
    if (!report) return ADD_FAILURE() << "step " << step << ": " << report.error().text(), 1;
    EXPECT_FALSE(report->skipped) << report->why;
    const double off = std::abs(report->loss - want[step]) / std::abs(want[step]);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

class Curves : public testing::TestWithParam<std::string> {
 protected:
  // f32 beside torch's f32, and f64 beside torch's f64, which shows that nothing but rounding is between them.
  void compare() {
    const Json json = test::learning_golden("curves");
    std::size_t runs = 0;
    for (const Json& m : json["models"]) {
      if (text_or(m, "name", "") != GetParam()) continue;
      const Model model(m);
      for (const Json& run : m["runs"]) {
        SCOPED_TRACE(GetParam() + ": " + text_or(run, "name", ""));
        const double single = train(model, run, Element::f32, 1), wide = train(model, run, Element::f64, 2);
        EXPECT_LE(single, 1e-4);
        EXPECT_LE(wide, 1e-10);
        if (std::getenv("LOOM_SHOW_CURVES"))
          fmt::print("{:12} {:100} f32 {:.1e}  f64 {:.1e}\n", GetParam(), text_or(run, "name", ""), single, wide);
        ++runs;
      }
    }
    EXPECT_GE(runs, 13u);
  }
};

// T-01, T-20, T-21, T-22, T-25, T-30, T-40, T-41
TEST_P(Curves, fifty_steps_as_in_PyTorch) { compare(); }

INSTANTIATE_TEST_SUITE_P(Models, Curves, testing::Values("mlp", "cnn", "lstm", "transformer"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace loom
