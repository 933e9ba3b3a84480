// Receipts over loom.h.

#include <filesystem>
#include <string>

#include "capi/capi_test.h"
#include "core/json.h"
#include "support/files.h"
#include "support/small_model.h"

namespace loom::capi_receipts_test {
namespace {

using test::sized;
using test::take;

class CapiReceipts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(test::write_small_model(path_));
    ASSERT_EQ(loom_model_open(path_.c_str(), nullptr, &model_), LOOM_OK) << loom_last_error();
    auto compute = sized<loom_compute_options>();
    auto options = sized<loom_session_options>();
    options.compute = &compute;
    compute.thread_count = 1;
    ASSERT_EQ(loom_session_create(model_, &options, &session_), LOOM_OK) << loom_last_error();
  }
  void TearDown() override { loom_release(session_), loom_release(model_); }
  static Json replay(const std::string& receipt, const char* model = nullptr) {
    loom_blob report = 0;
    EXPECT_EQ(loom_receipt_replay(receipt.data(), receipt.size(), model, nullptr, nullptr, 0, &report), LOOM_OK)
        << loom_last_error();
    return parse_json(take(report)).value_or(Json::object());
  }
  test::TempFolder folder_;
  std::string path_ = folder_ / "model.gguf";
  loom_model model_ = 0;
  loom_session session_ = 0;
};

TEST_F(CapiReceipts, AnAnswerHasOneAndItsReplayIsEqual) {
  auto options = sized<loom_generation_options>();
  options.max_tokens = 5, options.temperature = 0.5f, options.seed = 9;
  loom_generator generator = 0;
  ASSERT_EQ(loom_generator_from_text(session_, "Hello", 5, LOOM_PROMPT_AUTO, &options, &generator), LOOM_OK);
  loom_blob receipt = 0;
  EXPECT_EQ(loom_generator_receipt(generator, &receipt), LOOM_INVALID_STATE);
  for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
    ASSERT_EQ(loom_generator_next(generator, 0, &step), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_generator_receipt(generator, &receipt), LOOM_OK) << loom_last_error();
  const std::string text = take(receipt);
  const Json json = parse_json(text).value();
  EXPECT_EQ(json["generation"]["seed"], "9");
  EXPECT_EQ(json["prompt"]["is_exact"], true);
  loom_blob hash = 0;
  ASSERT_EQ(loom_file_hash(path_.c_str(), &hash), LOOM_OK);
  EXPECT_EQ(json["model"]["sha256"], take(hash));
  EXPECT_EQ(replay(text)["equal"], true);
  std::filesystem::rename(path_, folder_ / "moved.gguf");
  loom_blob report = 0;
  EXPECT_EQ(loom_receipt_replay(text.data(), text.size(), nullptr, nullptr, nullptr, 0, &report), LOOM_NOT_FOUND);
  EXPECT_EQ(replay(text, (folder_ / "moved.gguf").c_str())["equal"], true);
  EXPECT_EQ(loom_receipt_replay("{", 1, nullptr, nullptr, nullptr, 0, &report), LOOM_CORRUPT_DATA);
  EXPECT_EQ(loom_receipt_replay(text.data(), text.size(), nullptr, nullptr, "gpu:fast", 0, &report),
            LOOM_INVALID_ARGUMENT);
  loom_release(generator);
}

TEST_F(CapiReceipts, AChatGivesThatOfItsLastAnswer) {
  auto options = sized<loom_generation_options>();
  options.max_tokens = 4;
  loom_chat chat = 0;
  loom_blob receipt = 0;
  ASSERT_EQ(loom_chat_create(session_, nullptr, &options, &chat), LOOM_OK) << loom_last_error();
  EXPECT_EQ(loom_chat_receipt(chat, &receipt), LOOM_INVALID_STATE);
  for (const char* const text : {"Hello", "Again"}) {
    ASSERT_EQ(loom_chat_say(chat, text, 5, 0), LOOM_OK) << loom_last_error();
    for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
      ASSERT_EQ(loom_chat_next(chat, 0, &step), LOOM_OK) << loom_last_error();
  }
  ASSERT_EQ(loom_chat_receipt(chat, &receipt), LOOM_OK) << loom_last_error();
  EXPECT_EQ(replay(take(receipt))["equal"], true);
  loom_release(chat);
}

TEST_F(CapiReceipts, AModelFromMemoryHasNoFileToName) {
  const std::string bytes = test::read_all(path_);
  loom_model model = 0;
  loom_session session = 0;
  loom_generator generator = 0;
  loom_blob receipt = 0;
  ASSERT_EQ(loom_model_from_memory(bytes.data(), bytes.size(), nullptr, &model), LOOM_OK) << loom_last_error();
  ASSERT_EQ(loom_session_create(model, nullptr, &session), LOOM_OK);
  auto options = sized<loom_generation_options>();
  options.max_tokens = 2;
  ASSERT_EQ(loom_generator_from_text(session, "Hello", 5, LOOM_PROMPT_RAW, &options, &generator), LOOM_OK);
  for (auto step = sized<loom_step>(); step.stop == LOOM_STOP_NOT_YET;)
    ASSERT_EQ(loom_generator_next(generator, 0, &step), LOOM_OK);
  EXPECT_EQ(loom_generator_receipt(generator, &receipt), LOOM_NOT_FOUND) << loom_last_error();
  for (const loom_handle each : {generator, session, model}) loom_release(each);
}

}  // namespace
}  // namespace loom::capi_receipts_test
