#include "verify/golden_training_steps.h"

#include <array>

#include "core/json.h"
#include "network/spec/spec.h"
#include "training/train_config.h"
#include "training/trainer.h"
#include "training/weight_hash.h"

namespace loom {

const char* const kTrainingStepsDigest = "aebbbb09f7ac587e4372493951c9564a93aacec28ef177fe705d472a5743d817";

Result<std::string> training_steps_digest(std::optional<Isa> isa, int threads) {
  constexpr std::size_t kSamples = 4, kInputs = 8, kOutputs = 4;
  LOOM_TRY(SpecResult spec, network_from_json(R"({"seed": 3, "layers": [
      {"type": "dense", "input_height": 8, "output_height": 16, "activation": "tanh"},
      {"type": "dense", "input_height": 16, "output_height": 4}]})"));
  LOOM_TRY(const Json json, parse_json(R"({"loss": "mse", "learning_rate": 0.05, "optimizer": "adam"})"));
  LOOM_TRY(TrainConfig config, read_step_config(json));
  config.trainer.session.isa = isa, config.trainer.session.threads = threads;
  const Shape shape = Shape::of({kSamples, kInputs}), rows = Shape::of({kSamples, kOutputs});
  LOOM_TRY(const auto trainer, Trainer::create(spec.network, shape, config.trainer));
  std::array<float, kSamples * kInputs> x;
  std::array<float, kSamples * kOutputs> target;
  for (std::size_t step = 0; step < kTrainingSteps; ++step) {
    for (std::size_t i = 0; i < kSamples; ++i) {
      float* const row = x.data() + i * kInputs;
      for (std::size_t j = 0; j < kInputs; ++j)
        row[j] = static_cast<float>((step * 31 + i * 7 + j * 3) % 17) / 16 - 0.5f;
      for (std::size_t k = 0; k < kOutputs; ++k) target[i * kOutputs + k] = row[k] * 0.5f + row[k + 4] * 0.25f;
    }
    LOOM_TRY(const StepReport report, trainer->step({{x.data(), shape}, {}, {target.data(), rows, Element::f32}}));
    if (report.skipped) return fail(Code::NonFinite, "training step {} was skipped: {}", step, report.why);
  }
  LOOM_TRY_VOID(trainer->fetch_weights());
  return to_hex(weight_hash(spec.network));
}

}  // namespace loom
