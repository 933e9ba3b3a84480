// A training whose graphics card is lost, or full, ends with an error; its last checkpoint goes on to the files of an
// undisturbed run, on the CPU or on another card.

#include "support/faulty_driver.h"
#include "training/checkpoint.h"
#include "training/training_test.h"

namespace loom::training_test {
namespace {

Json losable_config() {
  Json config = small_config();
  config["epochs"] = 2;
  config["checkpoint"] = {{"every_steps", 3}};
  return config;
}

std::string text_of_file(const Folder& folder, const std::string& name) {
  const auto text = read_text_file(folder.file(name));
  EXPECT_TRUE(text) << name;
  return text ? *text : std::string();
}

RunOptions options_of(const Folder& folder, Device* device, RunStart start, const std::string& run = "run") {
  RunOptions options{.out = folder.file(run), .start = start};
  options.session.device = device, options.session.threads = 1;
  return options;
}

// A folder with a run "whole" that nothing has happened to.
class Runs : public Folder {
 public:
  Runs() {
    write("blobs.csv", blobs(200, 8, 4));
    run_all(losable_config(), *this, options_of(*this, nullptr, RunStart::fresh, "whole"));
  }
};

// The run in "run" goes on to the files of "whole".
void expect_goes_on(const Runs& folder, Device* device) {
  const auto checkpoint = read_checkpoint(folder.file("run/checkpoint.entity"));
  ASSERT_TRUE(checkpoint) << checkpoint.error().text();
  run_all(losable_config(), folder, options_of(folder, device, RunStart::resume));
  for (const std::string name : {"/journal.jsonl", "/model.entity", "/checkpoint.entity"})
    EXPECT_EQ(text_of_file(folder, "run" + name), text_of_file(folder, "whole" + name)) << name;
}

// Runs with faults; returns whether it has ended by itself.
bool runs_with(const test::Faults& faults, const Runs& folder, Code code, bool continues_on_host) {
  std::filesystem::remove_all(folder.file("run"));
  auto card = test::open_faulty_card();
  EXPECT_TRUE(card) << card.error().text();
  if (!card || card->device == nullptr) return true;
  test::Faults& set = *card->faults;
  const auto behind = [](std::uint64_t count, std::uint64_t n) { return n == test::Faults::kNever ? n : count + n; };
  set.lost_at_submit = behind(set.submits, faults.lost_at_submit);
  set.memory_is_full_from = behind(set.buffers, faults.memory_is_full_from);
  {
    auto config = read_train_config(losable_config(), folder.path);
    EXPECT_TRUE(config) << config.error().text();
    const auto run = TrainingRun::create(std::move(*config), options_of(folder, card->device.get(), RunStart::fresh));
    if (!run) {
      EXPECT_EQ(run.error().code, code) << run.error().text();
      EXPECT_FALSE(is_directory(folder.file("run")));
      return false;
    }
    const auto result = (*run)->run();
    if (result) {
      EXPECT_EQ(text_of_file(folder, "run/model.entity"), text_of_file(folder, "whole/model.entity"));
      return true;
    }
    const std::string text = result.error().text();
    EXPECT_EQ(result.error().code, code) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text.find(card->device->adapter().name), std::string::npos) << text;
    if (!is_file(folder.file("run/checkpoint.entity"))) return false;  // before the first one
    EXPECT_NE(text.find("--resume goes on"), std::string::npos) << text;
  }
  EXPECT_EQ(set.calls_after_told, 0u);
  if (continues_on_host) {
    expect_goes_on(folder, nullptr);
  } else {
    const auto other = test::open_faulty_card();
    EXPECT_TRUE(other);
    if (other) expect_goes_on(folder, other->device.get());
  }
  return false;
}

TEST(GpuTrainingLoss, a_run_whose_card_is_lost_goes_on_from_its_checkpoint_to_the_same_files) {
  const Runs folder;
  bool continues_on_host = false;
  for (std::uint64_t n = 0; n < 5000; n += 23) {
    SCOPED_TRACE(n);
    test::Faults faults;
    faults.lost_at_submit = n;
    if (runs_with(faults, folder, Code::DeviceLost, continues_on_host = !continues_on_host)) return;
  }
  ADD_FAILURE() << "no run has ended";
}

TEST(GpuTrainingLoss, a_run_whose_card_is_full_says_so_and_goes_on_from_its_checkpoint) {
  const Runs folder;
  for (std::uint64_t n = 0; n < 100; ++n) {
    SCOPED_TRACE(n);
    test::Faults faults;
    faults.memory_is_full_from = n;
    if (runs_with(faults, folder, Code::OutOfMemory, true)) return;
  }
  ADD_FAILURE() << "no run has ended";
}

// When a card that has updated weights is lost, the host's copies are stale: every later request for them fails.
TEST(GpuTrainingLoss, weights_of_a_lost_card_are_not_given_out) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  Network network = network_of(losable_config()["network"]);
  ASSERT_TRUE(network.initialise());
  const Shape shape = Shape::of({16, 8});
  TrainerConfig config;
  config.loss.kind = LossKind::SoftmaxCrossEntropy, config.session.device = card->device.get(),
  config.session.threads = 1;
  const auto trainer = Trainer::create(network, shape, config);
  ASSERT_TRUE(trainer) << trainer.error().text();
  const std::vector<float> x(shape.elements(), 0.5f);
  const std::vector<std::int32_t> classes(16, 1);
  const Samples batch{{x.data(), shape, Element::f32}, classes, {}};
  ASSERT_TRUE((*trainer)->step(batch));
  card->faults->lost_at_submit = 0;
  EXPECT_EQ((*trainer)->step(batch).error().code, Code::DeviceLost);
  EXPECT_EQ((*trainer)->step(batch).error().code, Code::DeviceLost);
  for (int again = 0; again < 2; ++again) EXPECT_EQ((*trainer)->fetch_weights().error().code, Code::DeviceLost);
}

}  // namespace
}  // namespace loom::training_test
