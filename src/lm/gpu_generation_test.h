#pragma once
// Generations on a graphics card and on the CPU, with all that they leave: tests compare them.

#include <gtest/gtest.h>

#include "lm/generator.h"
#include "support/faulty_driver.h"
#include "support/files.h"

namespace loom::gpu_generation_test {

using Ids = std::vector<std::int32_t>;

inline LanguageModel small_model(const std::string& name = "llama2_untied") {
  auto model = load_language_model(test::source_path("tests/golden/models/" + name));
  EXPECT_TRUE(model) << model.error().text();
  return *std::move(model);
}

inline Ids some_ids(std::size_t n, std::size_t first = 0) {
  Ids ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>((i + first) * 37 % 50 + (i + first) % 7);
  return ids;
}

inline std::unique_ptr<Session> session_on(const LanguageModel& model, Device* device, std::size_t context = 200,
                                           std::size_t sequences = 1, DType kv_dtype = DType::float32) {
  SessionOptions options;
  options.threads = 1, options.context_tokens = context, options.chunk_rows = 16, options.sequences = sequences;
  options.device = device, options.kv_dtype = kv_dtype;
  auto made = Session::create(model.decoder, options);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : nullptr;
}

inline std::vector<std::uint32_t> bits_of(const Result<std::span<const float>>& row) {
  EXPECT_TRUE(row) << row.error().text();
  if (!row) return {};
  const auto* const bits = reinterpret_cast<const std::uint32_t*>(row->data());
  return {bits, bits + row->size()};
}

inline void did(const Result<void>& call) { EXPECT_TRUE(call) << call.error().text(); }

// Everything that a generation leaves, of its session too.
struct Left {
  Ids ids, tokens;
  std::string text, hash, error;
  StopReason stop_reason = StopReason::NotYet;
  std::vector<std::byte> snapshot;
  std::size_t prompt_tokens = 0, decode_steps = 0;
  std::vector<std::uint32_t> logits_behind;  // another prompt, read next
  bool operator==(const Left&) const = default;
};

// Cancels before step number `cancelled`.
inline Left run(Session& session, const LanguageModel& model, const Ids& prompt, const GenerationOptions& options,
                std::size_t cancelled = 1 << 20) {
  Left left;
  auto generator = Generator::create(session, model, prompt, options);
  EXPECT_TRUE(generator) << generator.error().text();
  if (!generator) return left;
  std::atomic<bool> cancel{false};
  for (std::size_t step = 0; !generator->done() && left.error.empty(); ++step) {
    cancel = step >= cancelled;
    if (auto done = generator->next(&cancel); !done) left.error = done.error().text();
  }
  const Generation& out = generator->result();
  left.ids = out.ids, left.text = out.text, left.stop_reason = out.stop_reason, left.hash = to_hex(out.hash);
  left.prompt_tokens = out.prompt_tokens, left.decode_steps = out.decode_steps;
  left.tokens.assign(session.tokens().begin(), session.tokens().end());
  auto snapshot = session.snapshot();
  EXPECT_TRUE(snapshot) << snapshot.error().text();
  if (snapshot) left.snapshot = *std::move(snapshot);
  if (session.length() + 3 <= session.context_tokens()) left.logits_behind = bits_of(session.feed(Ids{3, 1, 4}));
  return left;
}

// Compared part by part, so that a test that fails says what differs.
inline void expect_equal(const Left& got, const Left& wanted) {
  EXPECT_EQ(got.ids, wanted.ids);
  EXPECT_EQ(got.tokens, wanted.tokens);
  EXPECT_EQ(got.text, wanted.text);
  EXPECT_EQ(got.stop_reason, wanted.stop_reason);
  EXPECT_EQ(got.error, wanted.error);
  EXPECT_EQ(got.hash, wanted.hash);
  EXPECT_TRUE(got.snapshot == wanted.snapshot) << "snapshots differ";
  EXPECT_TRUE(got == wanted);
}

// The model with a token, if any, that makes an infinity of values of attention; others do not know of it.
inline LanguageModel model_with_broken(std::int32_t broken) {
  LanguageModel model = small_model();
  const auto width = static_cast<std::size_t>(model.decoder->config.hidden_size);
  std::size_t found = 0;
  const_cast<DecoderModel&>(*model.decoder).network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    const bool is_table = w.name() == "table";
    if (!is_table && (w.name() != "v.weight" || found++ != 0)) return;  // of the first block
    std::vector<float> values(w.elements());
    w.decode(0, values.size(), values.data());
    for (std::size_t row = 0; row < values.size() / width; ++row)
      values[row * width] = !is_table ? 3e38f : static_cast<std::int32_t>(row) == broken ? 100.0f : 0.0f;
    ASSERT_TRUE(w.set(std::span<const float>(values)));
  });
  return model;
}

}  // namespace loom::gpu_generation_test
