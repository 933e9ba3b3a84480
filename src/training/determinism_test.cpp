// The same bits of every weight after a short training, whatever runs it: threads, instruction sets, micro-batches (numerics 5).

#include <gtest/gtest.h>

#include "core/philox.h"
#include "network/spec.h"
#include "ops/all.h"
#include "training/trainer.h"
#include "training/weight_hash.h"

namespace loom {
namespace {

struct Training {
  std::string name, layer;
  std::vector<std::size_t> input;  // [B, ...]
  std::size_t classes = 0, labels = 1, ids = 0;
  std::string optimizer = "adam";
  DType dtype = DType::float32;
  Mixed mixed = Mixed::none;
};

struct Way {
  Isa isa = Isa::scalar;
  int threads = 1;
  std::size_t micro_batch = 0;
};

constexpr std::size_t kBatch = 77, kSteps = 4;  // four blocks of 16 and a part of one

std::string weights_after(const Training& t, const Way& way) {
  Network network = Network::create({}).value();
  network.settings.seed = 5;
  if (t.dtype == DType::float64) network.settings.activations = Element::f64;
  bool built = network.place({}, layer_from_json(parse_json(t.layer).value()).value()).has_value();
  std::vector<std::size_t> extents = t.input;
  extents.insert(extents.begin(), kBatch);
  const Shape shape = *Shape::create(extents);
  built = built && network.prepare(shape) && network.initialise() && network.morph_all(t.dtype);
  if (!built) return "not built";
  // Masters of f64.
  if (t.dtype == DType::float64)
    network.visit_weights([](const std::string&, Weight& w, Layer&) {
      std::vector<double> values(w.elements());
      w.decode(0, values.size(), values.data());
      EXPECT_TRUE(w.set(std::span<const double>(values)));
    });
  TrainerConfig config;
  config.loss.name = "softmax_crossentropy";
  config.optimizer.name = t.optimizer;
  if (t.optimizer == "sgd") config.optimizer.momentum = 0.9;
  config.schedule.learning_rate = t.optimizer == "sgd" ? 0.05 : 0.01;
  config.clip_norm = 0.5;
  config.micro_batch = way.micro_batch;
  config.session = {.threads = way.threads, .isa = way.isa, .mixed = t.mixed};
  auto trainer = Trainer::create(network, config);
  if (!trainer) return trainer.error().message;
  std::vector<float> x(shape.elements());
  std::vector<std::int32_t> classes(kBatch * t.labels);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const RandomStream random{.seed = 9, .step = step};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = t.ids ? static_cast<float>(random.below(i, static_cast<std::uint32_t>(t.ids))) : 2 * random.uniform(i) - 1;
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int32_t>(random.below(x.size() + i, static_cast<std::uint32_t>(t.classes)));
    const auto report = (*trainer)->step({{x.data(), shape}, classes, {}});
    if (!report) return report.error().message;
    if (report->skipped) return "skipped: " + report->why;
  }
  return to_hex(weight_hash(network));
}

std::string mlp(const std::string& dropout = "") {
  return R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":70,"output_height":130,"bias":true,"activation":"gelu"},)" + dropout +
         R"({"type":"dense","input_height":130,"output_height":33,"bias":true,"activation":"relu"},{"type":"dense","input_height":33,"output_height":5,"bias":true}]})";
}
const std::string kCnn =
    R"({"type":"sequential","sequential_layers":[{"type":"cnn2","input_channels":3,"filters":18,"kernel_size":3,"padding":1,"bias":true,"activation":"relu"},
    {"type":"maxpool","kernel_size":2,"stride":2},{"type":"cnn2","input_channels":18,"filters":7,"kernel_size":3,"bias":true,"activation":"silu"},
    {"type":"reshape","shape":[42]},{"type":"dense","input_height":42,"output_height":5,"bias":true}]})";
const std::string kLstm =
    R"({"type":"sequential","sequential_layers":[{"type":"lstm","input_height":19,"output_height":37,"return_sequence":false},
    {"type":"dense","input_height":37,"output_height":5,"bias":true}]})";
const std::string kTransformer =
    R"({"type":"sequential","sequential_layers":[{"type":"embedding","vocab_size":23,"embedding_dim":36},
    {"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":36},{"type":"mha","d_model":36,"num_heads":4,"num_kv_heads":2,"head_dim":10}]},
    {"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":36},{"type":"swiglu","input_height":36,"output_height":70}]},
    {"type":"rmsnorm","input_height":36},{"type":"dense","input_height":36,"output_height":23,"bias":true}]})";

const std::vector<Training>& trainings() {
  static const std::vector<Training> all = [] {
    const std::string dropout = R"({"type":"dropout","rate":0.3},)";
    std::vector<Training> list = {
        {.name = "mlp_dropout", .layer = mlp(dropout), .input = {70}, .classes = 5},
        {.name = "cnn", .layer = kCnn, .input = {3, 10, 8}, .classes = 5, .optimizer = "sgd"},
        {.name = "lstm", .layer = kLstm, .input = {7, 19}, .classes = 5},
        {.name = "transformer", .layer = kTransformer, .input = {11}, .classes = 23, .labels = 11, .ids = 23, .optimizer = "adamw"},
    };
    for (const DType type : {DType::float64, DType::bfloat16, DType::fp8e4m3, DType::int8, DType::int4, DType::ternary, DType::binary}) {
      const std::string label(name(type));
      list.push_back({.name = "mlp_" + label, .layer = mlp(), .input = {70}, .classes = 5, .dtype = type});
      list.push_back({.name = "cnn_" + label, .layer = kCnn, .input = {3, 10, 8}, .classes = 5, .optimizer = "sgd", .dtype = type});
    }
    for (const auto& [mixed, label] : {std::pair{Mixed::bf16, "bf16"}, {Mixed::f16, "f16"}, {Mixed::fp8, "fp8"}}) {
      list.push_back({.name = "mlp_mixed_" + std::string(label), .layer = mlp(dropout), .input = {70}, .classes = 5, .mixed = mixed});
      list.push_back({.name = "transformer_mixed_" + std::string(label), .layer = kTransformer, .input = {11}, .classes = 23, .labels = 11, .ids = 23, .mixed = mixed});
    }
    return list;
  }();
  return all;
}

class SameBits : public testing::TestWithParam<Training> {};

TEST_P(SameBits, N_05_T_41_T_70_T_71_threads_targets_and_micro_batches) {
  const Training& t = GetParam();
  const std::string want = weights_after(t, {Isa::scalar, 1, 0});
  ASSERT_EQ(want.size(), 64u) << want;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3, 7}) EXPECT_EQ(weights_after(t, {isa, threads, 0}), want) << name(isa) << ", threads " << threads;
  // Mixed fp8 has one scale per tensor, which a part of a batch does not know.
  if (t.mixed == Mixed::fp8) return;
  for (const std::size_t micro : {16u, 64u, 1000u})
    for (const int threads : {1, 3}) EXPECT_EQ(weights_after(t, {best_isa(), threads, micro}), want) << "micro-batch " << micro << ", threads " << threads;
}

INSTANTIATE_TEST_SUITE_P(Trainings, SameBits, testing::ValuesIn(trainings()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace loom
