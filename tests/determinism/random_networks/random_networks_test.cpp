// Random networks in every way that the contract calls equal. Each case is named by seed and number: `loom verify
// --random 1 --seed S --case K` runs it alone. LOOM_TRIALS=N runs N cases in place of those of CI, LOOM_TRIALS_SEED=S
// others.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kept_trials.h"
#include "dtypes/dtype.h"
#include "layers/all.h"
#include "support/divided.h"
#include "support/environment.h"
#include "support/files.h"
#include "support/null_device.h"
#include "verify/random_network.h"
#include "verify/recipes.h"
#include "verify/trial.h"

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
        << kind->name << ": a recipe in src/verify/recipes.cpp is missing";
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

// A device that refuses each pass, after it has computed zeros.
class RefusingDevice final : public test::NullDevice {
 public:
  explicit RefusingDevice(std::string why) : why_(std::move(why)) {}
  Result<void> check() override { return fail(Code::Unsupported, "{}", why_); }

 private:
  const std::string why_;
};

TEST(RandomNetworks, ARefusalWithoutARuleFails) {
  Trial trial;
  trial.mode = TrialMode::Forward;
  trial.input = {3, 5}, trial.options["calls"] = 1;
  trial.network = parse_json(R"({"layers":[{"type":"dense","input_height":5,"output_height":4}]})").value();
  const auto verdict_of = [&](const char* why) {
    RefusingDevice device(why);
    return check_trial(trial, device_ways(trial, 0, device));
  };
  for (const char* rule :
       {"int64 weights are not computed on graphics cards: --device cpu", "lbfgs runs without a device",
        "networks that compute in f64 run on the CPU: no graphics card has its bits"}) {
    const TrialVerdict verdict = verdict_of(rule);
    EXPECT_TRUE(verdict.passed()) << verdict.difference;
    EXPECT_EQ(verdict.refused, rule);
  }
  for (const char* other :
       {"an operation has no form for graphics cards yet", "a card: the shader dense does not compile"}) {
    const TrialVerdict verdict = verdict_of(other);
    EXPECT_FALSE(verdict.passed());
    EXPECT_TRUE(verdict.difference.starts_with("the device, ")) << verdict.difference;
    EXPECT_NE(verdict.difference.find(fmt::format("refused without a rule for it: {}", other)), std::string::npos)
        << verdict.difference;
  }
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

TEST(RuleTrials, ACaseIsAFunctionOfSeedAndNumber) {
  for (std::uint32_t k = 0; k < 20; ++k) {
    const Trial trial = random_rule_trial(kSeed, k);
    EXPECT_EQ(dump_json(trial_to_json(trial)), dump_json(trial_to_json(random_rule_trial(kSeed, k))));
    const auto again = trial_from_json(trial_to_json(trial));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(dump_json(trial_to_json(*again)), dump_json(trial_to_json(trial)));
  }
}

// Names everything that a trial draws: its combination and, within it, modes, types and stops.
std::set<std::string> drawn_by(const Trial& trial) {
  std::set<std::string> drawn;
  const std::string name = trial.options["combination"];
  drawn.insert(name);
  drawn.insert(fmt::format("{}, mode {}", name, loom::name(trial.mode)));
  if (const Json* type = find(trial.options, "type")) drawn.insert("type " + type->get<std::string>());
  for (const char* key : {"mask", "lengths", "external", "backward", "backward_each_step", "rewinds", "history"})
    if (trial.options.contains(key)) drawn.insert(name + ", " + key);
  const Json* config = find(trial.options, "config");
  const Json* tween = find(config == nullptr ? trial.options : *config, "tween");
  if (tween != nullptr) drawn.insert(name + ", " + tween->at("mode").get<std::string>());
  if (config != nullptr && config->contains("tbptt_steps")) drawn.insert(name + ", tbptt_steps");
  for (const Json& variant : trial.variants)
    for (const auto& [key, value] : variant.items()) drawn.insert(name + ", variant " + key);
  any_layer(trial.network, [&](const Json& layer) {
    for (const char* key : {"meta_effect", "meta_source", "op"})
      if (layer.contains(key)) drawn.insert(name + ", " + layer[key].get<std::string>());
    return false;
  });
  drawn.insert(fmt::format("batch {}", trial.input[0]));
  return drawn;
}

TEST(RuleTrials, EveryCombinationIsDrawn) {
  std::map<std::string, std::size_t> drawn;
  constexpr std::uint32_t kDraws = 1500;
  std::size_t rejected = 0;
  for (std::uint32_t k = 0; k < kDraws; ++k)
    for (const std::string& what : drawn_by(random_rule_trial(kSeed, k, &rejected))) ++drawn[what];
  std::vector<std::string> expected = rule_combinations();
  const auto add = [&](const std::string& before, std::initializer_list<const char*> names) {
    for (const char* name : names) expected.push_back(before + name);
  };
  add("targets of a watched layer, ", {"chain", "layerwise", "mirror", "dtp", "variant save_after", "none", "gate",
                                       "noise", "intervention", "input", "stats", "history", "activations"});
  add("a mesh that goes back, ",
      {"chain", "layerwise", "backward", "backward_each_step", "rewinds", "history", "variant through_snapshot"});
  add("float64 resumed, ", {"mode train", "mode tween", "variant save_after", "chain", "layerwise", "mirror", "dtp"});
  add("any type resumed, ", {"mode train", "mode tween", "variant save_after"});
  add("einsum, ", {"mode forward", "mode mesh", "mode train", "mode tween", "variant save_after", "Einsum"});
  add("loops of graphs, ", {"mode forward", "mode mesh", "mode train", "mode tween", "Loop", "Scan", "If"});
  add("masks, ", {"mask", "backward", "variant part"});
  add("lengths, ", {"lengths", "backward", "variant part"});
  add("cross-attention, ", {"external", "mask", "backward", "variant part"});
  add("fused and unfused targets, ", {"variant unfused", "chain", "layerwise"});
  add("carried states, ", {"tbptt_steps", "variant save_after"});
  add("divided tensors, ", {"mode train", "mode tween", "variant save_after"});
  for (std::size_t t = 0; t < kNumTypes; ++t) expected.push_back("type " + std::string(name(static_cast<DType>(t))));
  for (const std::size_t batch : {1, 2, 3, 5, 16, 17}) expected.push_back(fmt::format("batch {}", batch));
  for (const std::string& what : expected) EXPECT_GT(drawn[what], 0u) << what << ": never in " << kDraws << " draws";
  EXPECT_LT(rejected, 5 * kDraws) << "drafts that the engine refused to build";
}

TEST(RuleTrials, ThreadsDivideLargeTensors) {
  const test::ExpectDivided expect(2);
  for (std::uint32_t k = 0, left = 2; left > 0; ++k) {
    const Trial trial = random_rule_trial(kSeed, k);
    if (trial.options["combination"] != "divided tensors") continue;
    const TrialVerdict verdict = check_trial(trial, {{best_isa(), 1, 0}, {best_isa(), 2, 0}});
    EXPECT_TRUE(verdict.passed()) << verdict.difference;
    --left;
  }
}

TEST(RuleTrials, EveryWayGivesTheSameBits) {
  const std::uint64_t seed = test::asked_for("LOOM_TRIALS_SEED", kSeed);
  const auto cases = static_cast<std::uint32_t>(test::asked_for("LOOM_TRIALS", kCases));
  for (std::uint32_t k = 0; k < cases; ++k) {
    const Trial trial = random_rule_trial(seed, k);
    const TrialVerdict verdict = check_trial(trial, trial_ways(trial, k));
    EXPECT_TRUE(verdict.passed()) << "loom verify --random 1 --seed " << seed << " --case " << k << " --combinations\n"
                                  << verdict.difference;
  }
}

}  // namespace
}  // namespace loom
