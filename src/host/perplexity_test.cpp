#include "host/perplexity.h"

#include <cmath>

#include "support/files.h"
#include "support/small_model.h"

namespace loom::host_perplexity_test {
namespace {

class HostPerplexity : public testing::Test {
 protected:
  void SetUp() override {
    const auto written = test::write_small_model(folder_ / "model.gguf");
    ASSERT_TRUE(written) << written.error().text();
    auto loaded = load_language_model(folder_ / "model.gguf");
    ASSERT_TRUE(loaded) << loaded.error().text();
    model_ = std::move(*loaded);
    auto session = Session::create(model_.decoder, {.threads = 1, .context_tokens = 64});
    ASSERT_TRUE(session) << session.error().text();
    session_ = std::move(*session);
    for (int i = 0; i < 60; ++i) text_ += fmt::format("The {} wheel turns {} times. ", i % 7, i * i % 11);
  }
  test::TempFolder folder_;
  LanguageModel model_;
  std::unique_ptr<Session> session_;
  std::string text_;
};

TEST_F(HostPerplexity, windows_are_scored_and_reported_one_by_one) {
  const auto text = text_to_score(model_, text_);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(text->dropped_bytes, 0u);
  std::vector<double> told;
  PerplexityOptions options;
  options.window = 32;
  options.progress = [&](std::size_t done, std::size_t total, double so_far) {
    EXPECT_EQ(done, told.size() + 1);
    EXPECT_EQ(total, text->ids.size() / 32);
    told.push_back(so_far);
    return true;
  };
  const auto result = perplexity(*session_, text->ids, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->stopped);
  EXPECT_EQ(result->windows, text->ids.size() / 32);
  EXPECT_EQ(result->scored, result->windows * 31);
  EXPECT_EQ(told.back(), result->perplexity);
  double sum = 0;
  for (const double nll : result->window_nll) sum += nll;
  EXPECT_NEAR(result->perplexity / std::exp(sum / static_cast<double>(result->windows)), 1, 1e-12);
  const Json said = to_json(*result, text->dropped_bytes);
  EXPECT_EQ(said["tokens"], text->ids.size());
  EXPECT_EQ(said["window_nll"].size(), result->windows);
}

// A window's score does not know what was scored before it.
TEST_F(HostPerplexity, a_window_alone_has_the_bits_that_it_has_among_others) {
  const auto text = text_to_score(model_, text_);
  ASSERT_TRUE(text);
  const auto all = perplexity(*session_, text->ids, {.window = 32});
  const auto second = perplexity(*session_, std::span(text->ids).subspan(32), {.window = 32, .max_windows = 1});
  ASSERT_TRUE(all && second);
  EXPECT_EQ(second->windows, 1u);
  EXPECT_EQ(second->window_nll[0], all->window_nll[1]);
}

TEST_F(HostPerplexity, an_answer_of_false_stops_behind_a_window) {
  const auto text = text_to_score(model_, text_);
  ASSERT_TRUE(text);
  const auto result = perplexity(
      *session_, text->ids, {.window = 32, .progress = [](std::size_t done, std::size_t, double) { return done < 2; }});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->stopped);
  EXPECT_EQ(result->windows, 2u);
}

TEST_F(HostPerplexity, a_text_that_is_too_short_or_a_window_that_scores_nothing_is_refused) {
  const std::vector<std::int32_t> ids = {1, 2, 3};
  for (const std::size_t window : {0, 1, 4}) {
    const auto result = perplexity(*session_, ids, {.window = window});
    ASSERT_FALSE(result) << window;
    EXPECT_EQ(result.error().code, Code::InvalidArgument) << window;
  }
}

}  // namespace
}  // namespace loom::host_perplexity_test
