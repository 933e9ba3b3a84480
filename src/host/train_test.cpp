#include "host/train.h"

#include "data/csv/csv.h"
#include "training/training_test.h"

namespace loom::host_train_test {
namespace {

using training_test::blobs;
using training_test::Folder;
using training_test::small_config;

constexpr std::size_t kSamples = 200, kWidth = 8;

// The samples of blobs.csv as a program holds them.
struct Held {
  std::vector<float> inputs = std::vector<float>(kSamples * kWidth);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kSamples);

  explicit Held(const Folder& folder) {
    const auto data = open_csv(folder.file("blobs.csv"), {.header = false, .class_ids = true});
    std::vector<std::uint32_t> order(kSamples);
    for (std::size_t i = 0; i < kSamples; ++i) order[i] = static_cast<std::uint32_t>(i);
    EXPECT_TRUE(data && (*data)->read(order, {inputs, labels, {}}));
  }
  SampleArrays part(std::size_t first, std::size_t count) const {
    SampleArrays out;
    out.inputs.dtype = DType::float32, out.inputs.shape = {count, kWidth};
    out.inputs.bytes = std::as_bytes(std::span(inputs).subspan(first * kWidth, count * kWidth));
    out.targets.dtype = DType::int32, out.targets.shape = {count};
    out.targets.bytes = std::as_bytes(std::span(labels).subspan(first, count));
    return out;
  }
  TrainingInput all() const { return {.samples = TrainingArrays{part(0, kSamples)}}; }
};

class HostTrain : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("blobs.csv", blobs(kSamples, kWidth, 4));
    config_ = small_config();
    folder_.write("small.json", dump_json(config_));
    options_.session.threads = 1;
    memory_config_ = config_;
    memory_config_["data"] = {{"validation_split", 0.2}};
  }
  TrainOutcome of_file() {
    const auto outcome = train_file(folder_.file("small.json"), options_);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return outcome ? *outcome : TrainOutcome{};
  }
  void expect_refused(const Json& config, TrainingInput input, Code code, const std::string& named) {
    const auto outcome = train(config, options_, std::move(input));
    ASSERT_FALSE(outcome) << named;
    EXPECT_EQ(outcome.error().code, code) << outcome.error().text();
    EXPECT_NE(outcome.error().text().find(named), std::string::npos) << outcome.error().text();
  }

  Folder folder_;
  Json config_, memory_config_;
  TrainOptions options_;
};

TEST_F(HostTrain, a_config_file_leaves_its_record_beside_it_and_the_record_replays) {
  std::size_t begun = 0, told = 0;
  options_.begun = [&](TrainingRun& run) {
    EXPECT_EQ(told, 0u);
    EXPECT_EQ(run.trainer().state().steps, 0u);
    ++begun;
  };
  options_.progress = [&](const TrainProgress&) -> Result<Continue> {
    ++told;
    return Continue::yes;
  };
  const TrainOutcome outcome = of_file();
  EXPECT_EQ(begun, 1u);
  EXPECT_GT(told, 40u);
  EXPECT_EQ(outcome.folder, folder_.file("small.run"));
  for (const char* name : {"journal.jsonl", "model.entity", "checkpoint.entity", "dna.jsonl", "report.html"})
    EXPECT_TRUE(is_file(outcome.folder + "/" + name)) << name;
  EXPECT_EQ(outcome.result.stop_reason, TrainingStop::Finished);
  EXPECT_EQ(to_json(outcome)["hash"], to_hex(outcome.result.hash));
  EXPECT_EQ(journal_of(outcome.folder), outcome.folder + "/journal.jsonl");
  const auto replayed = replay_file(outcome.folder, {});
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_EQ(replayed->hash, outcome.result.hash);
  EXPECT_EQ(to_json(*replayed)["pass"], true);
}

TEST_F(HostTrain, a_record_of_cells_that_another_run_left_is_no_proof) {
  const TrainOutcome outcome = of_file();
  std::string record = *read_text_file(outcome.folder + "/dna.jsonl");
  const std::size_t at = record.find("\"from_first\":[") + 14;
  record.insert(at, "0.5,");
  folder_.write("small.run/dna.jsonl", record);
  const auto replayed = replay_file(outcome.folder, {});
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, Code::CorruptData);
  EXPECT_NE(replayed.error().text().find("dna.jsonl"), std::string::npos) << replayed.error().text();
}

TEST_F(HostTrain, a_run_whose_steps_were_all_skipped_has_diverged) {  // T-04
  std::string huge;
  for (int i = 0; i < 40; ++i) huge += fmt::format("3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,{}\n", i % 4);
  folder_.write("blobs.csv", huge);
  config_["epochs"] = 2, config_["max_skipped"] = 100;
  folder_.write("small.json", dump_json(config_));
  const TrainOutcome outcome = of_file();
  EXPECT_EQ(outcome.result.skipped_batches, outcome.result.steps);
  EXPECT_GT(outcome.result.steps, 0u);
  EXPECT_EQ(outcome.result.stop_reason, TrainingStop::Diverged);
  EXPECT_FALSE(is_file(outcome.folder + "/model.entity"));
  const auto replayed = replay_file(outcome.folder, {});
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_EQ(to_json(*replayed)["pass"], true);
}

TEST_F(HostTrain, samples_in_memory_give_the_bits_of_the_file_that_they_came_from) {
  const Digest wanted = of_file().result.hash;
  const Held held(folder_);
  const auto outcome = train(memory_config_, options_, held.all());
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->result.hash, wanted);
  EXPECT_TRUE(outcome->folder.empty());
  // The last fifth, as the program splits it.
  Json without_split = memory_config_;
  without_split.erase("data");
  const auto apart =
      train(without_split, options_,
            {.samples = TrainingArrays{held.part(0, kSamples * 4 / 5), held.part(kSamples * 4 / 5, kSamples / 5)}});
  ASSERT_TRUE(apart) << apart.error().text();
  EXPECT_EQ(apart->result.hash, wanted);
  EXPECT_EQ(apart->result.validation->to_json(), outcome->result.validation->to_json());
}

TEST_F(HostTrain, a_network_in_memory_learns_where_it_is_and_its_run_replays) {
  const Digest wanted = of_file().result.hash;
  const Held held(folder_);
  memory_config_.erase("network");
  const auto fresh = [&] { return std::make_shared<Network>(training_test::network_of(config_["network"])); };
  TrainingInput input = held.all();
  input.network = fresh();
  options_.out = folder_.file("held");
  const auto network = input.network;
  const auto outcome = train(memory_config_, options_, std::move(input));
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->result.hash, wanted);
  EXPECT_EQ(weight_hash(*network), wanted);
  input = held.all(), input.network = fresh();
  const auto replayed = replay_file(options_.out, {}, std::move(input));
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_EQ(replayed->hash, wanted);
  EXPECT_FALSE(replay_file(options_.out, {}));  // whose samples and network nobody gives
}

TEST_F(HostTrain, a_cancelled_run_goes_on_to_the_bits_of_one_that_was_not) {
  const Digest wanted = of_file().result.hash;
  const Held held(folder_);
  memory_config_.erase("network");
  const auto network = [&] { return std::make_shared<Network>(training_test::network_of(config_["network"])); };
  std::atomic<bool> cancel = false;
  options_.out = folder_.file("cut"), options_.cancel = &cancel;
  options_.progress = [&](const TrainProgress& p) -> Result<Continue> {
    cancel = cancel || p.step == 13;
    return Continue::yes;
  };
  TrainingInput input = held.all();
  input.network = network();
  const auto cut = train(memory_config_, options_, input);
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_EQ(cut->result.stop_reason, TrainingStop::Stopped);
  EXPECT_EQ(cut->result.steps, 13u);
  cancel = false, options_.progress = nullptr, options_.start = RunStart::resume;
  input = held.all(), input.network = network();
  const auto whole = train(memory_config_, options_, input);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->result.hash, wanted);
  EXPECT_EQ(weight_hash(*input.network), wanted);
  // Another network than the run began with.
  options_.start = RunStart::resume;
  const auto other = train(memory_config_, options_, input);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::InvalidConfig);
}

TEST_F(HostTrain, a_start_that_needs_a_folder_is_refused_without_one) {  // T-60
  const Held held(folder_);
  for (const auto& [start, word] : {std::pair{RunStart::resume, "resume"}, {RunStart::overwrite, "overwrite"}}) {
    TrainingInput input = held.all();
    options_.out.clear(), options_.start = start;
    const auto run = train(memory_config_, options_, input);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Code::InvalidArgument);
    EXPECT_NE(run.error().text().find(word), std::string::npos) << run.error().text();
  }
  options_.out = folder_.file("never begun"), options_.start = RunStart::resume;
  EXPECT_EQ(train(memory_config_, options_, held.all()).error().code, Code::NotFound);
}

TEST_F(HostTrain, a_replay_that_is_cancelled_says_so) {
  const TrainOutcome outcome = of_file();
  const std::atomic<bool> cancel = true;
  const auto replayed = replay_file(outcome.folder, {.cancel = &cancel});
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, Code::Cancelled);
}

TEST_F(HostTrain, what_does_not_fit_together_is_refused_with_its_place) {
  const Held held(folder_);
  expect_refused(config_, held.all(), Code::UnknownKey, "/data/format");
  expect_refused(memory_config_, {}, Code::InvalidConfig, "/data/format");
  TrainingInput input = held.all();
  input.samples->validation = held.part(0, 10);
  expect_refused(memory_config_, input, Code::InvalidConfig, "/data/validation_split");
  input = held.all();
  input.network = std::make_shared<Network>(training_test::network_of(config_["network"]));
  expect_refused(memory_config_, input, Code::InvalidConfig, "/network");
  input = held.all();
  input.samples->training.inputs.dtype = DType::int4;
  expect_refused(memory_config_, input, Code::Unsupported, "inputs");
  input = held.all();
  input.samples->training.inputs.shape = {kSamples + 1, kWidth};
  expect_refused(memory_config_, input, Code::ShapeMismatch, "inputs");
  input = held.all();
  input.samples->training.inputs.shape = {std::size_t{1} << 62, 16};
  EXPECT_FALSE(train(memory_config_, options_, input));
  input = held.all();
  input.samples->training.targets = held.part(0, 10).targets;
  expect_refused(memory_config_, input, Code::ShapeMismatch, "targets");
  const auto config = read_train_config(config_, folder_.path);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(TrainingRun::create(*config, {}, held.all()).error().code, Code::InvalidArgument);
}

}  // namespace
}  // namespace loom::host_train_test
