#pragma once
// Text out of a session: tokens are drawn one by one, decoded as they settle, and watched for stop strings (engine
//

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lm/language_model.h"
#include "lm/sampling.h"
#include "lm/session.h"

namespace loom {

struct GenerationOptions {
  std::size_t max_tokens = 128;
  std::size_t min_tokens = 0;  // end-of-sequence tokens are banned before
  SamplingOptions sampling;
  // the text ends before the first of them; of one that is never completed the beginning is text
  std::vector<std::string> stop;
  std::vector<std::int32_t> stop_ids;  // beside the model's own
  bool ignore_eos = false;             // end-of-sequence tokens are banned throughout
  std::size_t logprobs = 0;            // best n to report per token
  std::uint32_t sampling_session = 0;  // separates the draws of sequences with one seed
};

struct Generation {
  // without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end
  std::string text;
  std::vector<std::int32_t> ids;  // drawn tokens, the end-of-sequence token not included
  std::string stop_reason;        // "eos", "stop", "length", "context", "cancelled"
  std::vector<std::vector<TokenLogprob>> logprobs;
  std::size_t prompt_tokens = 0;
  Digest hash{};  // of the generated ids and the bits of the last logits
  double prefill_seconds = 0, decode_seconds = 0;
  std::size_t decode_steps = 0;
};

// Feeds `prompt` behind what the session already holds and generates. `on_text` gets text that can no longer change;
// returning false stops after the current token. Cancelling through session.cancel() ends with what was generated so
// far; while the prompt is read it is the error Cancelled, and the session holds what it held before. Forwards run: one
// for the prompt, one per token but the last.
Result<Generation> generate(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                            const GenerationOptions& options,
                            const std::function<bool(std::string_view)>& on_text = {});

struct ChatMessage {
  std::string role, content;
};
// The prompt of a conversation by the model's own template; NoTemplate when it has none. `now`: for templates that
// write the date. Setting `*cancel` ends a template that takes long, with Cancelled.
Result<std::string> render_chat(const LanguageModel& model, std::span<const ChatMessage> messages,
                                const std::optional<TemplateTime>& now = {}, bool add_generation_prompt = true,
                                const std::atomic<bool>* cancel = nullptr);

}  // namespace loom
