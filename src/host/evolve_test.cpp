#include "host/evolve.h"

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/prover.h"
#include "core/json.h"
#include "support/files.h"
#include "support/gpu.h"

namespace loom::host_evolve_test {
namespace {

class HostEvolve : public testing::Test {
 protected:
  void SetUp() override {
    config_ = {{"task", {{"name", "xor"}, {"target", 0.99}}},
               {"population", 20},
               {"generations", 12},
               {"seed", 4},
               {"islands", 2},
               {"migrate_every", 3},
               {"network",
                {{"seed", 1},
                 {"layers",
                  {{{"type", "dense"}, {"input_height", 2}, {"output_height", 4}, {"activation", "tanh"}},
                   {{"type", "dense"}, {"input_height", 4}, {"output_height", 1}}}}}}};
    options_.threads = 1;
  }
  EvolveResult whole() {
    const auto result = evolve(config_, options_);
    EXPECT_TRUE(result) << result.error().text();
    return result ? *result : EvolveResult{};
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  test::TempFolder folder_;
  Json config_;
  EvolveOptions options_;
};

TEST_F(HostEvolve, a_config_file_leaves_its_record_and_says_what_came_of_it) {
  test::write_all(path("xor.json"), dump_json(config_));
  std::size_t begun = 0;
  std::vector<std::uint32_t> told;
  options_.out = path("run"), options_.keep_history = true;
  options_.begun = [&](EvolveRun& run) {
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(run.islands().generation(), 0u);
    ++begun;
  };
  options_.progress = [&](const EvolveProgress& p) {
    EXPECT_EQ(p.total, 12u);
    EXPECT_NE(p.best, nullptr);
    told.push_back(p.done);
    return Continue::yes;
  };
  const auto result = evolve_file(path("xor.json"), options_);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(begun, 1u);
  EXPECT_EQ(told.size(), result->generations);
  EXPECT_EQ(result->history.size(), result->generations);
  EXPECT_FALSE(result->stopped);
  for (const char* name : {"lineage.jsonl", "state.json", "best.entity"})
    EXPECT_TRUE(is_file(options_.out + "/" + name)) << name;
  const Json said = to_json(*result);
  EXPECT_EQ(said["task"], "xor");
  EXPECT_EQ(said["hash"], result->hash);
  EXPECT_EQ(said["history"].size(), result->generations);
  EXPECT_EQ(said.contains("ensemble"), false);
  options_ = {.threads = 3};
  EXPECT_EQ(whole().hash, result->hash);
}

TEST_F(HostEvolve, a_run_that_is_stopped_goes_on_to_the_hash_of_one_that_never_was) {
  const EvolveResult wanted = whole();
  ASSERT_GT(wanted.generations, 6u);
  options_.out = path("run");
  options_.progress = [](const EvolveProgress& p) { return p.done == 4 ? Continue::stop : Continue::yes; };
  const EvolveResult cut = whole();
  EXPECT_TRUE(cut.stopped);
  EXPECT_EQ(cut.generations, 4u);
  const std::atomic<bool> cancel = true;
  options_.progress = nullptr, options_.cancel = &cancel, options_.start = RunStart::resume;
  EXPECT_EQ(whole().generations, 4u);
  options_.cancel = nullptr;
  const EvolveResult resumed = whole();
  EXPECT_EQ(resumed.hash, wanted.hash);
  EXPECT_EQ(resumed.best, wanted.best);
  EXPECT_FALSE(resumed.stopped);
  config_["seed"] = 5;
  EXPECT_EQ(evolve(config_, options_).error().code, Code::InvalidConfig);
}

// The caller knows the task; the run knows its shape alone.
TEST_F(HostEvolve, fitness_from_outside_gives_the_hash_and_the_lineage_of_the_task) {
  options_.out = path("asked");
  const EvolveResult wanted = whole();
  const auto task = xor_task();
  const FitnessFunction fitness = fitness_of(*task, {"score"}).value();
  auto runner = Runner::create().value();
  config_.erase("task");
  options_.out = path("told"), options_.outside = OutsideTask{task->input(), 0.99};
  auto run = EvolveRun::create(config_, options_);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ((*run)->step().error().code, Code::InvalidState);
  while (!(*run)->done()) {
    std::vector<Fitness> told;
    for (const Islands::Place& place : (*run)->ask())
      told.push_back(fitness(*runner, (*run)->islands().member(place).candidate()).value());
    EXPECT_EQ((*run)->tell(std::span(told).first(told.size() - 1)).error().code, Code::InvalidArgument);
    ASSERT_TRUE((*run)->tell(told));
  }
  const auto result = (*run)->finish();
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->hash, wanted.hash);
  EXPECT_EQ(result->best, wanted.best);
  EXPECT_EQ(test::read_all(path("told/lineage.jsonl")), test::read_all(path("asked/lineage.jsonl")));
  run->reset();  // its folder is free
  options_.start = RunStart::resume, options_.outside->input = Shape::of({8, 2});
  EXPECT_EQ(EvolveRun::create(config_, options_).error().code, Code::InvalidConfig);
}

// docs/guide/evolution.md: the file, beside the configuration.
TEST_F(HostEvolve, samples_are_found_beside_the_configuration_wherever_the_program_runs) {
  test::write_all(path("points.csv"), "a,b,class\n0,0,p\n0,1,q\n1,0,q\n1,1,p\n");
  config_["task"] = {{"name", "csv"}, {"path", "points.csv"}};
  config_["generations"] = 2;
  test::write_all(path("csv.json"), dump_json(config_));
  const auto result = evolve_file(path("csv.json"), options_);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->task, "csv");
  options_.folder = folder_ / "";
  EXPECT_EQ(whole().hash, result->hash);
  config_["task"]["path"] = "none.csv";
  EXPECT_EQ(evolve(config_, options_).error().code, Code::NotFound);
}

TEST_F(HostEvolve, what_does_not_fit_together_is_refused) {
  options_.outside = OutsideTask{Shape::of({4, 2}), 1};
  EXPECT_EQ(evolve(config_, options_).error().code, Code::InvalidConfig);
  config_.erase("task");
  EXPECT_EQ(evolve(config_, options_).error().code, Code::InvalidState);
  options_.outside->input = Shape::of({4, 3});
  const auto narrow = evolve(config_, options_);
  ASSERT_FALSE(narrow);
  EXPECT_NE(narrow.error().text().find("does not fit the task"), std::string::npos) << narrow.error().text();
  options_ = {.save_every = 0};
  EXPECT_EQ(evolve(config_, options_).error().code, Code::InvalidArgument);
  EXPECT_EQ(evolve_file(path("none.json"), {}).error().code, Code::NotFound);
}

// Networks of every sort that mutation makes, types that no card computes among them; threads take turns.
using GpuEvolve = HostEvolve;
TEST_F(GpuEvolve, a_card_judges_to_the_files_of_the_cpu) {
  if (test::gpu_device() == nullptr) GTEST_SKIP() << "no graphics card";
  config_["task"] = {{"name", "spirals"}, {"points", 40}};
  config_["population"] = 12, config_["generations"] = 6, config_["ensemble"] = true;
  config_["mutation"] = {
      {"weight_perturb_rate", 0.5}, {"activation_rate", 0.3}, {"dtype_rate", 0.4}, {"node_rate", 0.1}};
  config_["network"]["layers"] = {{{"type", "dense"}, {"input_height", 2}, {"output_height", 33}},
                                  {{"type", "rmsnorm"}, {"input_height", 33}},
                                  {{"type", "dense"}, {"input_height", 33}, {"output_height", 1}}};
  const auto run = [&](const std::string& device, int threads) {
    options_ = {.out = path(fmt::format("{} {}", device.substr(0, 3), threads)), .device = device, .threads = threads};
    const EvolveResult result = whole();
    return result.hash + test::read_all(options_.out + "/lineage.jsonl") +
           test::read_all(options_.out + "/best.entity");
  };
  const std::string wanted = run("cpu", 1);
  EXPECT_GT(wanted.size(), 1000u);
  Device* const card = device_from_name("gpu").value();
  const std::uint64_t before = card->gpu()->counters().dispatches;
  for (const int threads : {1, 3}) EXPECT_TRUE(run("gpu", threads) == wanted) << threads;
  EXPECT_GT(card->gpu()->counters().dispatches, before + 100);
  EXPECT_TRUE(card->gpu()->prover().report().refused.empty());
}

TEST_F(HostEvolve, auto_says_why_a_small_population_stays_here_and_precision_fast_is_refused) {
  std::vector<std::string> lines;
  options_.device = "auto";
  options_.device_told = [&](const Device* chosen, const std::string& line) {
    EXPECT_EQ(chosen, nullptr);
    lines.push_back(line);
  };
  const std::string hash = whole().hash;
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("device auto: cpu: ")) << lines[0];
  options_ = {.threads = 1};
  EXPECT_EQ(whole().hash, hash);
  for (const char* const name : {"gpu:fast", "auto:fast", "tpu"}) {
    options_.device = name;
    EXPECT_EQ(evolve(config_, options_).error().code, Code::InvalidArgument) << name;
  }
  options_ = {.outside = OutsideTask{.input = Shape::of({4, 2})}, .device = "gpu"};
  config_.erase("task");
  EXPECT_EQ(EvolveRun::create(config_, options_).error().code, Code::InvalidArgument);
}

}  // namespace
}  // namespace loom::host_evolve_test
