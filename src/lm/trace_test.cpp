// Traces: the same in every chunk size and number of threads, and a changed weight shows in its layer.

#include "lm/trace.h"

#include "support/files.h"

namespace loom::lm_trace_test {
namespace {

LanguageModel tiny() {
  ModelOptions options;
  options.threads = 1;
  return load_language_model(test::source_path("tests/golden/models/llama2_untied"), options).value();
}

TEST(Trace, IsThatOfTheGenerationInEveryChunkSize) {
  const LanguageModel model = tiny();
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  GenerationOptions options;
  options.max_tokens = 9, options.ignore_eos = true;
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  const Generation answer = generate(*session, model, prompt, options).value();
  const std::vector<std::int32_t> ids = fed_ids(prompt, answer.ids, false);
  ASSERT_EQ(ids.size(), prompt.size() + 8);
  std::optional<Trace> first;
  for (const std::size_t rows : {1u, 3u, 64u})
    for (const int threads : {1, 2}) {
      const auto fed =
          Session::create(model.decoder, {.threads = threads, .context_tokens = 64, .chunk_rows = rows}).value();
      std::vector<float> logits;
      const Trace trace = trace_tokens(*fed, ids, prompt.size(), logits).value();
      EXPECT_EQ(generation_hash(answer.ids, logits), answer.hash) << rows;
      EXPECT_EQ(trace.tokens.size(), ids.size());
      EXPECT_EQ(trace.layers.size(), model.decoder->network.num_cells());
      EXPECT_EQ(fed->length(0), 0u);
      if (!first) first = trace;
      EXPECT_EQ(trace.tokens, first->tokens) << rows;
      EXPECT_EQ(trace.layers, first->layers) << rows;
    }
}

TEST(Trace, ATokenShowsFromItsPlaceOnAndInEveryLayer) {
  const LanguageModel model = tiny();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 64}).value();
  std::vector<std::int32_t> ids{3, 1, 4, 1, 5};
  std::vector<float> logits;
  const Trace before = trace_tokens(*session, ids, 2, logits).value();
  ids[3] = 7;
  const Trace after = trace_tokens(*session, ids, 2, logits).value();
  for (std::size_t t = 0; t < ids.size(); ++t) EXPECT_EQ(before.tokens[t] == after.tokens[t], t < 3) << t;
  for (std::size_t l = 0; l < before.layers.size(); ++l) EXPECT_NE(before.layers[l], after.layers[l]) << l;
}

TEST(Trace, WeightsHaveADigestPerLayerThatThreadsDoNotChange) {
  const LanguageModel model = tiny();
  const auto one = ThreadPool::given_or_new(nullptr, 1).value(), two = ThreadPool::given_or_new(nullptr, 2).value();
  const auto digests = weight_digests(*model.decoder, nullptr, *one);
  EXPECT_EQ(digests, weight_digests(*model.decoder, nullptr, *two));
  EXPECT_EQ(digests.size(), model.decoder->network.num_cells());
  EXPECT_NE(digests[1], digests[2]);  // two blocks
  EXPECT_EQ(trace_layer_name(0, 5), "embedding");
  EXPECT_EQ(trace_layer_name(1, 5), "layer 0");
  EXPECT_EQ(trace_layer_name(3, 5), "norm");
  EXPECT_EQ(trace_layer_name(4, 5), "head");
}

// Computed with Python's hashlib by the definition of RFC 6962, section 2.1, from leaves of 32 bytes 0, 1, 2.
TEST(Trace, TheMerkleRootIsThatOfRfc6962) {
  std::vector<Digest> leaves(3);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].fill(static_cast<std::uint8_t>(i));
  EXPECT_EQ(to_hex(merkle_root({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(merkle_root(std::span(leaves).first(1))),
            "7f9c9e31ac8256ca2f258583df262dbc7d6f68f2a03043d5c99a4ae5a7396ce9");
  EXPECT_EQ(to_hex(merkle_root(leaves)), "ba8d94b7fbcecae7b81c4c80574fe24734a6917bf9c1ecd66ff3e0c34ead4620");
}

TEST(Trace, IsRefusedWithoutAPrompt) {
  const LanguageModel model = tiny();
  const auto session = Session::create(model.decoder, {.threads = 1, .context_tokens = 8}).value();
  std::vector<float> logits;
  const std::vector<std::int32_t> ids(9, 3);
  EXPECT_EQ(trace_tokens(*session, std::span(ids).first(2), 0, logits).error().code, Code::InvalidArgument);
  EXPECT_EQ(trace_tokens(*session, std::span(ids).first(2), 3, logits).error().code, Code::InvalidArgument);
  EXPECT_EQ(trace_tokens(*session, ids, 2, logits).error().code, Code::ContextFull);
  EXPECT_EQ(session->length(0), 0u);
}

}  // namespace
}  // namespace loom::lm_trace_test
