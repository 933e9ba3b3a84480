// A step that is cancelled after any layer, forward or backward, leaves everything as it was, and the training goes on
// to the bits of one that was not cancelled.

#include <limits>

#include "support/cancels_behind.h"
#include "training/training_test.h"

namespace loom::cancel_test {
namespace {

using training_test::network_of;

class Learner {
 public:
  Learner(const Json& layers, const Json& training) : network_(network_of({{"seed", 3}, {"layers", layers}})) {
    Json json = training;
    json["loss"] = "mse";
    const bool undo = json.value("undo", false);  // which is no key of a config
    json.erase("undo");
    const auto config = read_train_config(json, "", {.network = true, .samples = true});
    EXPECT_TRUE(config) << (config ? "" : config.error().text());
    TrainerConfig trainer = config->trainer;
    trainer.session.threads = 1;
    if (trainer.tween) trainer.tween->undo_velocities = undo;
    auto made = Trainer::create(network_, input(), trainer);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    trainer_ = std::move(*made);
  }
  static Shape input() { return Shape::of({4, 6, 5}); }

  Result<StepReport> step(std::uint64_t number, const std::atomic<bool>* cancel = nullptr) {
    const RandomStream stream{number, RandomDomain::Noise, 0, random_site("samples")};
    std::vector<float> x(input().elements()), t(output().elements());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = stream.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = stream.uniform(x.size() + i) - 0.5f;
    return trainer_->step({{x.data(), input()}, {}, {t.data(), output()}}, cancel);
  }
  Shape output() const { return *trainer_->session().output_shape(input()); }
  // Weights, running statistics, slots, states of layers, counters.
  std::string everything() {
    std::string out = to_hex(weight_hash(network_));
    for (const Trainer::Slot& slot : trainer_->slots())
      out.append(static_cast<const char*>(slot.values.data), slot.values.bytes());
    for (const auto& state : trainer_->save_states())
      out.append(reinterpret_cast<const char*>(state.data()), state.size());
    for (const Lbfgs::Pair& pair : trainer_->lbfgs_pairs())
      for (const auto* part : {&pair.s, &pair.y})
        out.append(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(double));
    const TrainerState& state = trainer_->state();
    return out + fmt::format("{} {} {} {} {}", state.steps, state.optimizer_steps, state.good_steps, state.skipped,
                             state.loss_scale);
  }
  Trainer& trainer() { return *trainer_; }

 private:
  Network network_;
  std::unique_ptr<Trainer> trainer_;
};

Json dense(std::size_t in, std::size_t out, const char* type = "float32") {
  return {{"type", "dense"}, {"input_height", in}, {"output_height", out}, {"activation", "tanh"}, {"dtype", type}};
}

// Two whole steps, a third that is cancelled after each layer until none is left, and a fourth.
void expect_no_trace(const Json& layers, const Json& training, std::size_t least) {
  SCOPED_TRACE(dump_json(training) + " " + dump_json(layers));
  Learner undisturbed(layers, training), disturbed(layers, training);
  for (std::uint64_t s = 0; s < 2; ++s) ASSERT_TRUE(undisturbed.step(s) && disturbed.step(s));
  const std::string before = disturbed.everything();
  ASSERT_EQ(before, undisturbed.everything());
  std::size_t cancelled = 0;
  for (bool done = false; !done;) {
    test::CancelsBehind watch(cancelled + 1);
    disturbed.trainer().session().watch(&watch);
    const auto report = disturbed.step(2, &watch.flag);
    disturbed.trainer().session().watch(nullptr);
    done = report.has_value();
    if (done) break;
    ASSERT_EQ(report.error().code, Code::Cancelled) << report.error().text();
    ASSERT_EQ(disturbed.everything(), before) << "cancelled behind layer " << cancelled + 1;
    ++cancelled;
    ASSERT_LT(cancelled, 2000u);
  }
  EXPECT_GE(cancelled, least);
  ASSERT_TRUE(undisturbed.step(2));
  EXPECT_EQ(disturbed.everything(), undisturbed.everything());
  ASSERT_TRUE(undisturbed.step(3) && disturbed.step(3));
  EXPECT_EQ(disturbed.everything(), undisturbed.everything());
}

Json chain(const char* type = "float32") { return {dense(5, 8, type), dense(8, 7, type), dense(7, 3, type)}; }

TEST(Cancel, a_step_by_gradients_that_is_cancelled_leaves_no_trace) {  // N-12
  const Json recurrent = {
      dense(5, 4), {{"type", "lstm"}, {"input_height", 4}, {"output_height", 4}, {"stateful", true}}, dense(4, 2)};
  const Json measuring = {dense(5, 4), {{"type", "batchnorm"}, {"input_height", 6}}, dense(4, 2)};
  for (const char* optimizer : {"sgd", "adam"}) expect_no_trace(chain(), {{"optimizer", optimizer}}, 5);
  expect_no_trace(chain("int8"), {{"optimizer", "adamw"}}, 5);
  expect_no_trace(chain("ternary"), {{"optimizer", "adam"}, {"clip_norm", 0.5}}, 5);
  expect_no_trace(recurrent, {{"optimizer", "adam"}}, 5);
  expect_no_trace(measuring, {{"optimizer", "adam"}}, 5);
  expect_no_trace(chain(), {{"optimizer", "adam"}, {"micro_batch", 1}, {"mixed", "f16"}}, 20);
  expect_no_trace(chain(), {{"optimizer", "adam"}, {"shards", 4}, {"workers", 2}}, 5);
  expect_no_trace(chain(), {{"optimizer", "adam"}, {"tbptt_steps", 2}}, 15);
}

TEST(Cancel, a_step_of_lbfgs_that_is_cancelled_leaves_no_trace) {  // N-12
  expect_no_trace(chain(), {{"optimizer", {{"name", "lbfgs"}, {"history", 4}}}}, 10);
  // So long a step that the search along the line does not end before its last try.
  expect_no_trace(chain(), {{"optimizer", {{"name", "lbfgs"}, {"history", 4}}}, {"learning_rate", 1e9}}, 130);
}

TEST(Cancel, a_step_by_targets_that_is_cancelled_leaves_no_trace) {  // N-12
  for (const char* mode : {"chain", "layerwise"})
    for (const bool undo : {false, true})
      expect_no_trace(chain(), {{"tween", {{"mode", mode}, {"momentum", 0.9}}}, {"undo", undo}}, 5);
  expect_no_trace(chain("int8"), {{"tween", {{"mode", "chain"}, {"momentum", 0.9}, {"recompute_every", 1}}}}, 5);
  for (const char* mode : {"mirror", "dtp"})
    expect_no_trace(chain(), {{"tween", {{"mode", mode}}}, {"optimizer", "adam"}}, 5);
}

// A step that is not finite lets velocities restart, whether or not somebody might have cancelled it.
TEST(Cancel, a_flag_that_nobody_sets_changes_no_bit) {  // N-12
  const std::atomic<bool> flag = false;
  Learner plain(chain(), {{"tween", {{"mode", "chain"}, {"momentum", 0.9}}}}),
      watched(chain(), {{"tween", {{"mode", "chain"}, {"momentum", 0.9}}}});
  const float bad = std::numeric_limits<float>::infinity();
  for (std::uint64_t s = 0; s < 5; ++s) {
    if (s == 2) {
      std::vector<float> x(Learner::input().elements(), bad), t(plain.output().elements(), 0);
      for (Learner* each : {&plain, &watched}) {
        const auto report = each->trainer().step({{x.data(), Learner::input()}, {}, {t.data(), each->output()}},
                                                 each == &watched ? &flag : nullptr);
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_TRUE(report->skipped);
      }
    }
    ASSERT_TRUE(plain.step(s) && watched.step(s, &flag));
    EXPECT_EQ(plain.everything(), watched.everything()) << s;
  }
}

TEST(Cancel, a_run_drops_the_step_that_is_cancelled_and_resumes_to_the_same_bits) {  // N-12
  const training_test::Folder folder;
  folder.write("blobs.csv", training_test::blobs(200, 8, 4));
  const Json config = training_test::small_config();
  const Digest wanted = training_test::run_all(config, folder).hash;
  test::CancelsBehind watch(57);
  RunOptions options{.out = folder.file("run"), .cancel = &watch.flag};
  {
    const auto run = training_test::open_run(config, folder, options);
    run->trainer().session().watch(&watch);
    const auto result = run->run();
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->stop_reason, TrainingStop::Stopped);
    EXPECT_EQ(result->steps, 9u);  // of three layers and their gradients each
  }
  options.start = RunStart::resume, options.cancel = nullptr;
  EXPECT_EQ(training_test::run_all(config, folder, options).hash, wanted);
}

// Wherever the flag is set, in the validation after an epoch and in the last one too, the run stops at once, and goes
// on to the same weights, figures and journal.
TEST(Cancel, a_validation_that_is_cancelled_runs_again_when_the_run_is_resumed) {  // N-12
  const training_test::Folder folder;
  folder.write("blobs.csv", training_test::blobs(200, 8, 4));
  Json config = training_test::small_config();
  config["epochs"] = 2, config["early_stop"] = {{"metric", "loss"}, {"patience", 5}, {"restore_best", true}};
  const RunOptions whole{.out = folder.file("whole")};
  const TrainResult wanted = training_test::run_all(config, folder, whole);
  int in_validations = 0, in_the_last = 0;
  for (std::size_t events = 1;; events += 5) {
    SCOPED_TRACE(events);
    test::CancelsBehind watch(events);
    RunOptions options{.out = folder.file(fmt::format("run{}", events)), .cancel = &watch.flag};
    {
      const auto run = training_test::open_run(config, folder, options);
      run->trainer().session().watch(&watch);
      const auto result = run->run();
      ASSERT_TRUE(result) << result.error().text();
      if (result->stop_reason == TrainingStop::Finished) break;
      ASSERT_EQ(result->stop_reason, TrainingStop::Stopped);
      in_validations += result->steps == 10 || result->steps == 20;
      in_the_last += result->loss_history.size() == 2;
    }
    options.start = RunStart::resume, options.cancel = nullptr;
    const TrainResult resumed = training_test::run_all(config, folder, options);
    EXPECT_EQ(resumed.hash, wanted.hash);
    ASSERT_TRUE(resumed.validation);
    EXPECT_EQ(resumed.validation->to_json(), wanted.validation->to_json());
    EXPECT_EQ(resumed.loss_history, wanted.loss_history);
  }
  EXPECT_GT(in_validations, 2);
  EXPECT_GT(in_the_last, 0);
}

}  // namespace
}  // namespace loom::cancel_test
