// Random networks in every way that the contract calls equal. Each case is named by seed and number: `loom verify
// --random 1 --seed S --case K` runs it alone. LOOM_TRIALS=N runs N cases in place of those of CI, LOOM_TRIALS_SEED=S
// others.

#include <gtest/gtest.h>

#include <set>

#include "kept_trials.h"
#include "layers/all.h"
#include "support/environment.h"
#include "support/files.h"
#include "trials/random_network.h"
#include "trials/recipes.h"
#include "trials/trial.h"

namespace loom {
namespace {

constexpr std::uint64_t kSeed = 1;
#if defined(__SANITIZE_THREAD__) || defined(LOOM_SANITIZED)
constexpr std::uint32_t kCases = 40;
#else
constexpr std::uint32_t kCases = 300;
#endif

TEST(RandomNetworks, every_kind_has_a_recipe) {
  for (const LayerKind* kind : layer_kinds())
    EXPECT_TRUE(kind->forward_only || recipe_of(kind->name) != nullptr)
        << kind->name << ": a recipe in src/trials/recipes.cpp is missing";
}

TEST(RandomNetworks, a_case_is_a_function_of_seed_and_number) {
  std::set<std::string> seen;
  for (std::uint32_t k = 0; k < 20; ++k) {
    const Trial trial = random_trial(kSeed, k);
    EXPECT_EQ(dump_json(trial_to_json(trial)), dump_json(trial_to_json(random_trial(kSeed, k))));
    const auto again = trial_from_json(trial_to_json(trial));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(dump_json(trial_to_json(*again)), dump_json(trial_to_json(trial)));
    seen.insert(dump_json(trial_to_json(trial)));
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST(RandomNetworks, kept_cases_give_the_same_bits_in_every_way) {
  test::each_kept_trial(
      [](const Trial& trial) { EXPECT_EQ(check_trial(trial, trial_ways(trial, 0, true)).difference, ""); });
}

TEST(RandomNetworks, every_way_gives_the_same_bits) {
  const std::uint64_t seed = test::asked_for("LOOM_TRIALS_SEED", kSeed);
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_TRIALS", kCases));
  for (std::uint32_t k = 0; k < cases; ++k) {
    const Trial trial = random_trial(seed, k);
    const TrialVerdict verdict = check_trial(trial, trial_ways(trial, k));
    EXPECT_TRUE(verdict.passed()) << "loom verify --random 1 --seed " << seed << " --case " << k << "\n"
                                  << verdict.difference;
  }
}

}  // namespace
}  // namespace loom
