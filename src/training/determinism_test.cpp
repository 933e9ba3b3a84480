// The same bits of every weight after a short training, whatever runs it: threads, instruction sets, micro-batches
// (numerics 5).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "core/sha256.h"
#include "network/spec/spec.h"
#include "ops/all.h"
#include "support/divided.h"
#include "support/paths.h"
#include "training/trainer.h"
#include "training/weight_hash.h"
#include "verify/golden_trainings.h"

namespace loom {
namespace {

// Or what went wrong.
std::string digest(const GoldenTraining& training, const TrainingWay& way) {
  const auto got = training_digest(training, way);
  return got ? *got : got.error().text();
}

const std::string kTransformer =
    R"({"type":"sequential","sequential_layers":[{"type":"embedding","vocab_size":23,"embedding_dim":36},
    {"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":36},
      {"type":"mha","d_model":36,"num_heads":4,"num_kv_heads":2,"head_dim":10}]},
    {"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":36},{"type":"swiglu","input_height":36,"output_height":70}]},
    {"type":"rmsnorm","input_height":36},{"type":"dense","input_height":36,"output_height":23,"bias":true}]})";

// The golden ones and a transformer block; the networks of the QAT types, by gradients and by targets; mixed precision.
const std::vector<GoldenTraining>& trainings() {
  static const std::vector<GoldenTraining> all = [] {
    std::vector<GoldenTraining> list = golden_trainings();
    list.push_back({.name = "training transformer",
                    .layer = kTransformer,
                    .input = {11},
                    .classes = 23,
                    .labels = 11,
                    .ids = 23,
                    .optimizer = "adamw"});
    const std::vector<GoldenTraining> plain = list;
    for (const DType type :
         {DType::float64, DType::bfloat16, DType::fp8e4m3, DType::int8, DType::int4, DType::ternary, DType::binary})
      for (GoldenTraining t : {plain[0], plain[1], plain[2]}) {
        t.dtype = type, t.name += " " + std::string(name(type));
        list.push_back(t);
      }
    for (const DType type : {DType::float64, DType::int8, DType::ternary, DType::binary})
      for (GoldenTraining t : plain)
        if (t.tween && t.tween != TweenMode::Chain) {
          t.dtype = type;
          t.name += " " + std::string(name(type));
          list.push_back(t);
        }
    for (const auto& [mixed, label] : {std::pair{Mixed::bf16, "bf16"}, {Mixed::f16, "f16"}, {Mixed::fp8, "fp8"}})
      for (GoldenTraining t : {plain[0], plain.back()}) {
        t.mixed = mixed, t.name += " mixed " + std::string(label);
        list.push_back(t);
      }
    // Weights that threads divide; the others are too small for that.
    for (const std::optional<TweenMode> mode :
         {std::optional<TweenMode>(), std::optional(TweenMode::Chain), std::optional(TweenMode::Layerwise),
          std::optional(TweenMode::Mirror), std::optional(TweenMode::Dtp)})
      list.push_back(
          {.name = fmt::format("training wide mlp {}", mode ? name(*mode) : ""),
           .layer =
               R"({"type":"sequential","sequential_layers":[{"type":"dense","input_height":190,"output_height":180,"bias":true,"activation":"gelu"},
                          {"type":"dense","input_height":180,"output_height":5,"bias":true}]})",
           .input = {190},
           .classes = 5,
           .tween = mode});
    for (GoldenTraining& t : list) t.steps = 4;
    return list;
  }();
  return all;
}

class SameBits : public testing::TestWithParam<GoldenTraining> {};

TEST_P(SameBits, threads_targets_and_micro_batches) {  // N-05, T-41, T-70, T-71
  const GoldenTraining& t = GetParam();
  const std::string want = digest(t, {});
  ASSERT_EQ(want.size(), 64u) << want;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3, 7}) {
      const test::ExpectDivided divided(threads);
      EXPECT_EQ(digest(t, {isa, threads, 0}), want) << name(isa) << ", threads " << threads;
    }
  // Mixed fp8 has one scale per tensor, which a part of a batch does not know; targets know no micro-batches.
  if (t.mixed == Mixed::fp8 || t.tween) return;
  for (const std::size_t micro : {16u, 64u, 1000u})
    for (const int threads : {1, 3})
      EXPECT_EQ(digest(t, {best_isa(), threads, micro}), want) << "micro-batch " << micro << ", threads " << threads;
}

INSTANTIATE_TEST_SUITE_P(Trainings, SameBits, testing::ValuesIn(trainings()), [](const auto& info) {
  std::string label = info.param.name.substr(9);
  std::erase(label, ',');
  std::ranges::replace(label, ' ', '_');
  return label;
});

// A transformer whose parts are cells, so that mixed precision rounds between them and products of its last one are
// fused where the target can: the weights after some steps.
std::string mixed_transformer(Mixed mixed, DType dtype, Isa isa, int threads) {
  const char* const kCells[] = {
      R"({"type":"embedding","vocab_size":40,"embedding_dim":64})",
      R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":64},
         {"type":"mha","d_model":64,"num_heads":4}]})",
      R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"rmsnorm","input_height":64},
         {"type":"swiglu","input_height":64,"output_height":96}]})",
      R"({"type":"dense","input_height":64,"output_height":128,"bias":true,"activation":"relu"})",
      R"({"type":"dense","input_height":128,"output_height":40,"bias":true})"};
  const auto trained = [&]() -> Result<std::string> {
    LOOM_TRY(Network network, Network::create({.layers_per_cell = std::size(kCells)}));
    for (std::size_t l = 0; l < std::size(kCells); ++l) {
      LOOM_TRY(const Json spec, parse_json(kCells[l]));
      LOOM_TRY(LayerPtr layer, layer_from_json(spec));
      LOOM_TRY_VOID(network.place({.l = l}, std::move(layer)));
    }
    LOOM_TRY_VOID(network.initialise());
    LOOM_TRY_VOID(network.morph_all(dtype));
    constexpr std::size_t kSamples = 8, kTokens = 12;
    LOOM_TRY(const Shape shape, Shape::create(std::array{kSamples, kTokens}));
    TrainerConfig config;
    config.loss.kind = LossKind::SoftmaxCrossEntropy;
    config.optimizer = {.name = "adamw"};
    config.schedule.learning_rate = 0.01;
    config.session = {.threads = threads, .isa = isa, .mixed = mixed};
    LOOM_TRY(const auto trainer, Trainer::create(network, shape, config));
    std::vector<float> x(shape.elements());
    std::vector<std::int32_t> classes(x.size());
    for (std::uint32_t step = 0; step < 5; ++step) {
      const RandomStream random{.seed = 9, .step = step};
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(random.below(i, 40));
        classes[i] = static_cast<std::int32_t>(random.below(x.size() + i, 40));
      }
      LOOM_TRY_VOID(trainer->step({{x.data(), shape}, classes, {}}));
    }
    LOOM_TRY_VOID(trainer->fetch_weights());
    return to_hex(weight_hash(network));
  }();
  return trained ? *trained : trained.error().text();
}

TEST(MixedTraining, fused_products_give_the_weights_of_unfused_ones) {  // T-70
  for (const auto& [mixed, dtype] : {std::pair{Mixed::bf16, DType::bfloat16},
                                     {Mixed::f16, DType::float16},
                                     {Mixed::bf16, DType::float32},
                                     {Mixed::fp8, DType::bfloat16}}) {
    const std::string want = mixed_transformer(mixed, dtype, Isa::scalar, 1);
    ASSERT_EQ(want.size(), 64u) << want;
    for (const Isa isa : usable_isas())
      for (const int threads : {1, 2, 4})
        EXPECT_EQ(mixed_transformer(mixed, dtype, isa, threads), want)
            << name(isa) << ", threads " << threads << ", " << name(dtype);
  }
}

// Not any function of the weights alone: every part of a step moves the digest.
TEST(TrainingTable, another_batch_optimizer_or_number_of_steps_gives_other_bits) {
  GoldenTraining t = golden_trainings()[0];
  t.steps = 2;
  const std::string want = digest(t, {});
  GoldenTraining other = t;
  other.steps = 3;
  EXPECT_NE(digest(other, {}), want);
  other = t, other.optimizer = "rmsprop";
  EXPECT_NE(digest(other, {}), want);
  other = t, other.batch = 76;
  EXPECT_NE(digest(other, {}), want);
}

TEST(TrainingTable, the_lines_that_verify_golden_knows) {  // N-05
  const auto table = read_text_file(test::source_path("tests/determinism/training.tsv"));
  ASSERT_TRUE(table) << table.error().text();
  Sha256 hash;
  hash.update(std::as_bytes(std::span(*table)));
  EXPECT_EQ(to_hex(hash.finish()), kTrainingDigest);
  for (const Isa isa : usable_isas()) {
    const auto got = training_table({isa, 2, 0});
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(*got, *table) << name(isa);
  }
}

}  // namespace
}  // namespace loom
