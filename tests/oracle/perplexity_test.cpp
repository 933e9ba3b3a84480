// Perplexity of the Q4_1 file as it ships, with its weights packed, against transformers with the same weights in f32
// (tools/golden/perplexity.py).

#include <cmath>
#include <cstdlib>

#include "../support/files.h"
#include "lm/language_model.h"
#include "lm/sampling.h"
#include "lm/session.h"

namespace loom {
namespace {

constexpr std::size_t kWindows = 8;  // half a minute of one core; LOOM_LONG_TESTS=1 reads all 98, 50 078 scored tokens
// Loom rounds inputs to int16, the reference does not: a window above this difference is wrong.
constexpr double kOneWindow = 0.005;

TEST(Perplexity, smollm2_q4_1_is_within_half_a_percent) {
  const Json reference = test::read_json(test::source_path("tests/golden/perplexity.json"));
  ASSERT_TRUE(reference.is_object());
  const auto text = read_text_file(test::data_path(*as_string(reference["text"])));
  ASSERT_TRUE(text) << text.error().text();
  Sha256 hash;
  hash.update(std::as_bytes(std::span(*text)));
  ASSERT_EQ(to_hex(hash.finish()), *as_string(reference["text_sha256"]));

  auto model = load_language_model(test::data_path("llm/" + *as_string(reference["model"])));
  ASSERT_TRUE(model) << model.error().text();
  std::vector<std::int32_t> ids;
  ASSERT_TRUE(model->tokenizer->encode(*text, {.add_special_tokens = false, .parse_special = false}, ids));
  EXPECT_EQ(static_cast<std::int64_t>(ids.size()), *as_int(reference["text_ids"]));
  const std::vector<std::int32_t> first_ids = test::ids_of(reference["first_ids"]);
  ASSERT_TRUE(std::equal(first_ids.begin(), first_ids.end(), ids.begin()));

  const auto window = static_cast<std::size_t>(*as_int(reference["window"]));
  const std::vector<double> expected = test::numbers_of(reference["window_nll"]);
  const auto all = static_cast<std::size_t>(*as_int(reference["windows"]));
  const std::size_t windows = std::getenv("LOOM_LONG_TESTS") != nullptr ? all : kWindows;
  ASSERT_GE(expected.size(), kWindows);
  ASSERT_GE(ids.size(), windows * window);
  auto session = Session::create(model->decoder, {.context_tokens = window});
  ASSERT_TRUE(session) << session.error().text();
  double sum = 0, expected_sum = 0;
  for (std::size_t w = 0; w < windows; ++w) {
    ASSERT_TRUE((*session)->rewind(0));
    const auto part = std::span<const std::int32_t>(ids).subspan(w * window, window);
    double nll = 0;
    ASSERT_TRUE((*session)->feed_all(part, [&](std::size_t i, std::span<const float> row) {
      if (i + 1 < window) nll -= static_cast<double>(logprobs(row, part[i + 1], 0)[0].logprob);
    }));
    nll /= static_cast<double>(window - 1);
    sum += nll;
    if (w >= expected.size()) continue;
    expected_sum += expected[w];
    EXPECT_NEAR(std::exp(nll - expected[w]), 1, kOneWindow) << "window " << w;
  }
  if (windows == all) expected_sum = *as_number(reference["nll"]) * static_cast<double>(all);
  const double ratio = std::exp((sum - expected_sum) / static_cast<double>(windows));
  RecordProperty("perplexity_over_reference", fmt::format("{:.5f}", ratio));
  EXPECT_NEAR(ratio, 1, 0.005);
}

}  // namespace
}  // namespace loom
