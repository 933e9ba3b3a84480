// Random networks on a graphics card beside this computer: `loom verify --random N --device gpu`. LOOM_GPU_TRIALS=N
// runs N cases in place of those of CI, LOOM_TRIALS_SEED=S others.

#include <gtest/gtest.h>

#include <map>

#include "host/device.h"
#include "kept_trials.h"
#include "support/environment.h"
#include "support/files.h"
#include "support/gpu.h"
#include "verify/trial.h"

namespace loom {
namespace {

constexpr std::uint64_t kCardSeed = 1;
constexpr std::uint32_t kCardCases = 100;

void expect_the_bits_of_the_cpu(const Trial& trial, std::uint32_t turn, Device& device,
                                std::map<TrialMode, std::size_t>& whole) {
  const TrialVerdict verdict = check_trial(trial, device_ways(trial, turn, device));
  EXPECT_TRUE(verdict.passed()) << verdict.difference;
  if (verdict.refused.empty()) ++whole[trial.mode];
}

TEST(GpuRandomNetworks, every_mode_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  Device* const device = device_from_name("gpu").value();  // threads of a population take turns on this one
  const std::uint64_t seed = test::asked_for("LOOM_TRIALS_SEED", kCardSeed);
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_GPU_TRIALS", kCardCases));
  std::map<TrialMode, std::size_t> whole;  // cases by mode, of which all ran on the card
  for (std::uint32_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(fmt::format("loom verify --random 1 --seed {} --case {} --device gpu", seed, k));
    expect_the_bits_of_the_cpu(random_trial(seed, k), k, *device, whole);
  }
  EXPECT_EQ(test::refused_kernels(*device->gpu()), "");
  std::size_t all = 0;
  for (const auto& [mode, count] : whole) all += count;
  EXPECT_GE(2 * all, cases);
  if (cases < kCardCases || seed != kCardSeed) return;
  for (const TrialMode mode : {TrialMode::Forward, TrialMode::Backward, TrialMode::Train, TrialMode::Tween,
                               TrialMode::Mesh, TrialMode::MeshTween})
    EXPECT_GT(whole[mode], 0u) << name(mode);
}

TEST(GpuRandomNetworks, CombinationsHaveTheBitsOfTheCpu) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  Device* const device = device_from_name("gpu").value();  // threads of a population take turns on this one
  const std::uint64_t seed = test::asked_for("LOOM_TRIALS_SEED", kCardSeed);
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_GPU_TRIALS", kCardCases));
  std::map<TrialMode, std::size_t> whole;  // cases by mode, of which all ran on the card
  for (std::uint32_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(fmt::format("loom verify --random 1 --seed {} --case {} --combinations --device gpu", seed, k));
    expect_the_bits_of_the_cpu(random_rule_trial(seed, k), k, *device, whole);
  }
  EXPECT_EQ(test::refused_kernels(*device->gpu()), "");
  if (cases < kCardCases || seed != kCardSeed) return;
  for (const TrialMode mode : {TrialMode::Forward, TrialMode::Train, TrialMode::Tween, TrialMode::Mesh,
                               TrialMode::MeshTween, TrialMode::Fused, TrialMode::Call})
    EXPECT_GT(whole[mode], 0u) << name(mode);
}

// Failing cases of the past, on this computer or on a card.
TEST(GpuRandomNetworks, kept_cases_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  Device* const device = device_from_name("gpu").value();  // threads of a population take turns on this one
  std::map<TrialMode, std::size_t> whole;
  test::each_kept_trial([&](const Trial& trial) {
    for (const std::uint32_t turn : {0u, 1u, 2u}) expect_the_bits_of_the_cpu(trial, turn, *device, whole);
  });
  EXPECT_FALSE(whole.empty());
}

TEST(GpuRandomNetworks, a_difference_and_a_refusal_are_told_apart) {
  LOOM_NEEDS_GPU_DEVICE(unused);
  Device* const device = device_from_name("gpu").value();  // threads of a population take turns on this one
  Trial trial;
  trial.mode = TrialMode::Forward;
  trial.input = {3, 5}, trial.options["calls"] = 1;
  trial.network = parse_json(R"({"layers":[{"type":"dense","input_height":5,"output_height":4}]})").value();
  const TrialVerdict same = check_trial(trial, device_ways(trial, 0, *device));
  EXPECT_TRUE(same.passed()) << same.difference;
  EXPECT_EQ(same.refused, "");
  // Another network on the card than on the CPU, by a variant.
  trial.variants.push_back(Json{{"calls", 2}});
  const TrialVerdict other = check_trial(trial, device_ways(trial, 0, *device));
  EXPECT_NE(other.difference.find("the device"), std::string::npos) << other.difference;
  trial.variants.clear();
  trial.network["activations"] = "float64", trial.network["default_dtype"] = "float64";
  const TrialVerdict wide = check_trial(trial, device_ways(trial, 0, *device));
  EXPECT_TRUE(wide.passed()) << wide.difference;
  EXPECT_NE(wide.refused.find("f64"), std::string::npos) << wide.refused;
}

}  // namespace
}  // namespace loom
