// Trainings on a graphics card end with the weights of the CPU.

#include <gtest/gtest.h>

#include "support/gpu.h"
#include "training/golden.h"

namespace loom {
namespace {

// A decoder of two blocks, and the golden trainings by gradients.
std::vector<GoldenTraining> gpu_trainings() {
  std::vector<GoldenTraining> list;
  for (const GoldenTraining& t : golden_trainings())
    if (t.tween.empty()) list.push_back(t);
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
  for (const char* const loss : {"cosine", "contrastive"}) {
    GoldenTraining training = mlp;
    training.loss.name = loss;
    expect_the_weights_of_the_cpu(training);
  }
  GoldenTraining heads = mlp;
  heads.loss = {.name = "multi_head_softmax_ce", .heads = {2, 3}};
  heads.labels = 2, heads.classes = 2;
  expect_the_weights_of_the_cpu(heads);
  expect_the_weights_of_the_cpu(heads, 3, 16);
}

TEST(GpuTraining, targets_in_place_of_gradients_end_with_the_weights_of_the_cpu) {
  for (const GoldenTraining& training : golden_trainings())
    if (training.tween == "chain" || training.tween == "layerwise") expect_the_weights_of_the_cpu(training);
}

TEST(GpuTraining, quantised_weights_and_mixed_precision_end_with_the_weights_of_the_cpu) {
  for (const DType dtype : {DType::int8, DType::int4, DType::ternary, DType::fp8e4m3, DType::bfloat16}) {
    GoldenTraining training = gpu_trainings().front();
    training.dtype = dtype;
    expect_the_weights_of_the_cpu(training, 5);
  }
  for (const Mixed mixed : {Mixed::bf16, Mixed::f16, Mixed::fp8}) {
    GoldenTraining training = gpu_trainings().front();
    training.mixed = mixed;
    expect_the_weights_of_the_cpu(training, 5);
  }
}

}  // namespace
}  // namespace loom
