#include "lm/generate.h"

#include "../support/files.h"

namespace loom {
namespace {

TEST(Generate, X_21_no_end_before_min_tokens) {
  auto model = load_language_model(test::source_path("tests/golden/models/llama2_untied"));
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<std::int32_t> prompt = {72, 101, 108};
  const auto run = [&](const GenerationOptions& options) {
    auto session = Session::create(model->decoder, {.threads = 1});
    auto out = generate(**session, *model, prompt, options);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Generation();
  };
  GenerationOptions options;
  options.max_tokens = 6;
  const Generation free = run(options);
  ASSERT_EQ(free.ids.size(), 6u);
  EXPECT_EQ(free.stop_reason, "length");
  EXPECT_EQ(free.decode_steps, 5u);   // no forward behind the last token

  // The first token ends the text: by the model, or by the caller. Files may name ids that the vocabulary lacks.
  for (const bool by_model : {true, false}) {
    model->stop_ids = by_model ? std::vector<std::int32_t>{free.ids[0], 1 << 23} : std::vector<std::int32_t>{};
    options.stop_ids = by_model ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{free.ids[0], 1 << 23, -1};
    options.min_tokens = 0;
    const Generation none = run(options);
    EXPECT_EQ(none.stop_reason, "eos");
    EXPECT_TRUE(none.ids.empty());
    options.min_tokens = 3;
    const Generation some = run(options);
    ASSERT_GE(some.ids.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(some.ids[i], free.ids[0]);
  }
}

}  // namespace
}  // namespace loom
