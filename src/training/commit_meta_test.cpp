// Trainings whose network changes between two steps, because its metacognition layers ask for it.

#include "layers/metacognition/metacognition.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

// The rule holds from the third call on and fires once: after the third step, of two in an epoch.
Json changing_config(const std::string& command) {
  Json config = small_config();
  const Json dense{{"type", "dense"}, {"input_height", 16}, {"output_height", 16}, {"bias", true}};
  config["network"]["layers"][1] = {
      {"type", "metacognition"},
      {"meta_observed_layer", dense},
      {"meta_rules", {{{"condition", "gradient_storm"}, {"threshold", -1}, {"command", command}, {"cooldown", 1000}}}}};
  config["commit_meta"] = true;
  return config;
}

std::string_view observed_kind(const Network& network) {
  return layer_as<Metacognition>(*network.cell(1).layer)->observed().kind();
}

// Zeros everywhere, or not.
std::map<std::string, bool> moments(const Trainer& trainer) {
  std::map<std::string, bool> rests;
  for (const Trainer::Slot& slot : trainer.slots()) {
    const auto values = std::span(slot.values.as<float>(), slot.values.cols);
    rests[slot.name] = std::ranges::all_of(values, [](float v) { return v == 0; });
  }
  return rests;
}

TEST(CommitMeta, changes_come_behind_a_step_and_state_stays_by_path) {  // L-151, T-01
  const Folder folder;
  folder.write("blobs.csv", blobs(40, 8, 4));
  for (const bool wanted : {false, true})
    for (const std::string command : {"rmsnorm", "dense", "reset", "morph"}) {
      SCOPED_TRACE(command + (wanted ? " wanted" : ""));
      Json config = changing_config(command);
      if (!wanted) config.erase("commit_meta");
      const auto run = open_run(config, folder);
      ASSERT_NE(run, nullptr);
      std::uint64_t changes = 0;
      const std::string observed = "layers.1.meta_observed_layer.";
      const auto done = run->run([&](const TrainProgress& p) -> Result<Continue> {
        if (p.event != TrainEvent::BatchEnd || p.report->changes.empty()) return Continue::yes;
        ++changes;
        EXPECT_EQ(p.report->changes[0].refusal, "");
        EXPECT_EQ(p.report->changes[0].target + ".", observed);
        for (const auto& [name, rests] : moments(run->trainer()))
          EXPECT_EQ(rests, command != "morph" && name.starts_with(observed)) << name;
        EXPECT_EQ(run->trainer().state().optimizer_steps, p.step);
        return Continue::yes;
      });
      ASSERT_TRUE(done) << done.error().text();
      EXPECT_EQ(changes, wanted ? 1u : 0u);
      EXPECT_EQ(observed_kind(run->network()), wanted && command == "rmsnorm" ? "rmsnorm" : "dense");
      for (const auto& [name, rests] : moments(run->trainer())) EXPECT_FALSE(rests) << name << " does not learn";
    }
}

TEST(CommitMeta, a_run_that_was_cut_changes_and_ends_as_a_whole_one) {  // L-151, T-60
  const Folder folder;
  folder.write("blobs.csv", blobs(40, 8, 4));
  for (const std::string mode : {"", "chain", "layerwise", "mirror", "dtp"}) {
    SCOPED_TRACE(mode);
    Json config = changing_config("rmsnorm");
    config["checkpoint"] = {{"every_steps", 1}};
    if (!mode.empty()) config["tween"] = {{"mode", mode}};
    if (mode == "chain" || mode == "layerwise") config["optimizer"]["name"] = "sgd";
    const std::string name = mode.empty() ? "gradients" : mode;
    const RunOptions whole{.out = folder.file(name)},
        options{.out = folder.file(name + "_cut"), .start = RunStart::resume};
    const TrainResult result = run_all(config, folder, whole);
    for (const std::uint64_t cut : {2u, 3u, 4u}) {
      const auto run = open_run(config, folder, options);
      ASSERT_NE(run, nullptr);
      EXPECT_EQ(observed_kind(run->network()), run->trainer().state().steps < 3 ? "dense" : "rmsnorm");
      ASSERT_FALSE(run->run([&](const TrainProgress& p) -> Result<Continue> {
        if (p.event == TrainEvent::BatchEnd && p.step == cut) return fail(Code::Cancelled, "power cut");
        return Continue::yes;
      }));
    }
    EXPECT_EQ(run_all(config, folder, options).hash, result.hash);
    const auto journal = read_text_file(whole.out + "/journal.jsonl");
    EXPECT_EQ(*read_text_file(options.out + "/journal.jsonl"), *journal);
    EXPECT_NE(journal->find(R"("event":"change","step":3)"), std::string::npos);
    const auto replayed = replay(whole.out + "/journal.jsonl", "", {});
    ASSERT_TRUE(replayed) << replayed.error().text();
    EXPECT_EQ(replayed->hash, result.hash);
  }
}

// The best network is one from before the change: its layers come back with its weights.
TEST(CommitMeta, the_best_network_comes_back_with_its_layers) {  // L-151, T-50
  const Folder folder;
  folder.write("blobs.csv", blobs(40, 8, 4));
  for (const std::string mode : {"", "dtp"})
    for (const bool in_folder : {true, false}) {
      SCOPED_TRACE(mode + (in_folder ? " folder" : ""));
      Json config = changing_config("rmsnorm");
      if (!mode.empty()) config["tween"] = {{"mode", mode}};
      config["early_stop"] = {{"metric", "loss"}, {"min_delta", 1e9}, {"patience", 1}};  // the first one is the best
      const RunOptions options{.out = in_folder ? folder.file("best" + mode) : ""};
      const auto run = open_run(config, folder, options);
      ASSERT_NE(run, nullptr);
      Digest first{};
      std::string_view last;
      const auto done = run->run([&](const TrainProgress& p) -> Result<Continue> {
        if (p.event == TrainEvent::EpochEnd && p.epoch == 0) first = weight_hash(*p.network);
        if (p.event == TrainEvent::EpochEnd) last = observed_kind(*p.network);
        return Continue::yes;
      });
      ASSERT_TRUE(done) << done.error().text();
      EXPECT_EQ(done->stop_reason, TrainingStop::EarlyStop);
      EXPECT_EQ(last, "rmsnorm");
      EXPECT_EQ(observed_kind(run->network()), "dense");
      EXPECT_EQ(done->hash, first);
      EXPECT_TRUE(done->validation);
    }
}

TEST(CommitMeta, what_it_does_not_go_with_is_said) {  // L-151, T-24
  const Folder folder;
  folder.write("blobs.csv", blobs(40, 8, 4));
  Json json = small_config();
  EXPECT_TRUE(open_run(json, folder)->warnings().empty());
  json["commit_meta"] = true;
  const auto without = TrainingRun::create(read_train_config(json, folder.path).value(), {});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::InvalidConfig);
  EXPECT_TRUE(without.error().text().starts_with("/commit_meta: has no effect: ")) << without.error().text();
  json = changing_config("rmsnorm");
  EXPECT_TRUE(open_run(json, folder)->warnings().empty());
  json["optimizer"] = "lbfgs";
  const auto run = TrainingRun::create(read_train_config(json, folder.path).value(), {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Code::Unsupported);
  EXPECT_NE(run.error().text().find("commit_meta"), std::string::npos) << run.error().text();
}

}  // namespace
}  // namespace loom::training_test
