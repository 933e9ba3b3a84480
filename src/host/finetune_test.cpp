#include "host/finetune.h"

#include "core/json.h"
#include "host/train.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::host_finetune_test {
namespace {

class HostFinetune : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::write_small_model(folder_ / "model.gguf"));
    std::string text;
    for (int i = 0; i < 120; ++i) text += fmt::format("The {} wheel turns {} times. ", i % 7, i * i % 11);
    test::write_all(folder_ / "text.txt", text);
    options_.out = folder_ / "adapter";
    options_.sources.model = folder_ / "model.gguf", options_.sources.text = folder_ / "text.txt";
    options_.config.length = 16, options_.config.batch_size = 2, options_.config.steps = 6;
    options_.config.adapter.rank = 2, options_.config.validation_windows = 2;
    options_.config.session.threads = 2;
  }
  FinetuneOutcome whole() {
    const auto outcome = finetune_file(options_);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return outcome ? *outcome : FinetuneOutcome{};
  }
  void expect_refused(Code code, const std::string& named) {
    const auto outcome = finetune_file(options_);
    ASSERT_FALSE(outcome) << named;
    EXPECT_EQ(outcome.error().code, code) << outcome.error().text();
    EXPECT_NE(outcome.error().text().find(named), std::string::npos) << outcome.error().text();
  }
  test::TempFolder folder_;
  FinetuneOptions options_;
};

TEST_F(HostFinetune, a_run_leaves_an_adapter_and_a_journal_that_replays) {
  std::vector<std::string> order;
  options_.look = [&](const FinetuneConfig& config, const FinetuneSources& sources) -> Result<void> {
    EXPECT_EQ(config.adapter.rank, 2u);
    EXPECT_EQ(sources.text, std::string(folder_ / "text.txt"));
    order.emplace_back("look");
    return {};
  };
  options_.begun = [&](const FinetuneInput& input) {
    EXPECT_EQ(input.windows->info().input.elements(), 16u);
    order.emplace_back("begun");
  };
  options_.progress = [&](const FinetuneProgress& p) -> Result<Continue> {
    if (!p.validation_loss) order.push_back(fmt::format("{}", p.step));
    return Continue::yes;
  };
  const FinetuneOutcome outcome = whole();
  EXPECT_EQ(order, (std::vector<std::string>{"look", "begun", "1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(outcome.result.steps, 6u);
  EXPECT_TRUE(is_file(options_.out + "/adapter_model.safetensors"));
  EXPECT_EQ(to_json(outcome)["hash"], to_hex(outcome.result.hash));
  std::size_t steps = 0;
  const auto replayed =
      replay_file(options_.out, {.finetune_progress = [&](const FinetuneProgress&) -> Result<Continue> {
                    ++steps;
                    return Continue::yes;
                  }});
  ASSERT_TRUE(replayed) << replayed.error().text();
  EXPECT_EQ(replayed->hash, outcome.result.hash);
  EXPECT_GE(steps, 6u);
}

TEST_F(HostFinetune, a_cancelled_run_goes_on_with_what_it_began_with) {
  const FinetuneOutcome wanted = whole();
  std::atomic<bool> cancel = false;
  options_.out = folder_ / "cut", options_.cancel = &cancel;
  options_.progress = [&](const FinetuneProgress& p) -> Result<Continue> {
    cancel = cancel || p.step == 3;
    return Continue::yes;
  };
  const FinetuneOutcome cut = whole();
  EXPECT_TRUE(cut.result.stopped);
  EXPECT_EQ(cut.result.steps, 3u);
  EXPECT_TRUE(replay_file(options_.out, {}));
  FinetuneOptions resumed{.out = options_.out, .start = RunStart::resume};
  options_ = resumed;
  const FinetuneOutcome rest = whole();
  EXPECT_EQ(rest.config.adapter.rank, 2u);
  EXPECT_EQ(rest.result.new_steps, 3u);
  EXPECT_EQ(rest.result.hash, wanted.result.hash);
  EXPECT_EQ(rest.result.losses, wanted.result.losses);
  // More steps are another run: the schedule spans all of them.
  options_.config.steps = 9, options_.given = {"steps"};
  EXPECT_EQ(finetune_file(options_).error().code, Code::InvalidConfig);
}

TEST_F(HostFinetune, what_does_not_go_together_is_refused) {
  options_.look = [](const FinetuneConfig&, const FinetuneSources&) -> Result<void> {
    return fail(Code::InvalidArgument, "not so");
  };
  expect_refused(Code::InvalidArgument, "not so");
  options_.look = nullptr;
  whole();
  expect_refused(Code::InvalidArgument, "adapter");  // which exists
  options_.sources.from = options_.out, options_.start = RunStart::overwrite;
  expect_refused(Code::InvalidArgument, "would overwrite it");
  options_.out = folder_ / "other", options_.start = RunStart::fresh, options_.given = {"rank"};
  expect_refused(Code::InvalidArgument, "rank has no effect");
  options_.given.clear(), options_.sources.text.clear();
  expect_refused(Code::InvalidArgument, "model and text are expected");
}

}  // namespace
}  // namespace loom::host_finetune_test
