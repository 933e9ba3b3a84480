#pragma once
// Text out of a session: tokens are drawn one by one, decoded as they settle, and watched for stop strings (engine
//

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "lm/card_draws.h"
#include "lm/language_model.h"
#include "lm/sampling.h"
#include "lm/session.h"
#include "lm/speculation.h"

namespace loom {

// Most tokens of an answer where nobody gives a number. Every answer ends with the context at the latest.
struct DefaultLength {
  static constexpr std::size_t kCall = 128;                    // of the C ABI, the bindings and pages
  static constexpr std::size_t kText = 256;                    // loom generate
  static constexpr std::size_t kMessage = 1024;                // loom chat
  static constexpr std::size_t kCompletion = 16;               // /v1/completions, as OpenAI has it
  static constexpr std::size_t kWhole = std::size_t{1} << 24;  // /v1/chat/completions: up to the context's end
};

struct GenerationOptions {
  std::size_t max_tokens = DefaultLength::kCall;
  std::size_t min_tokens = 0;  // end-of-sequence tokens are banned before
  SamplingOptions sampling;
  // the text ends before the first of them; of one that is never completed the beginning is text
  std::vector<std::string> stop;
  std::vector<std::int32_t> stop_ids;  // beside the model's own
  bool ignore_eos = false;             // end-of-sequence tokens are banned throughout
  std::size_t logprobs = 0;            // best n to report per token
  // special tokens whose spelling is text of the answer, as "[TOOL_CALLS]"; others have no text
  std::vector<std::int32_t> visible_ids{};
  std::uint32_t sampling_session = 0;  // separates the draws of sequences with one seed
  // proposes tokens (lm/speculation.h), which changes the time that a generation takes and nothing of what it gives;
  // serves one generation at a time; null: none
  std::shared_ptr<Drafter> drafter{};
  // The text satisfies it, or is the beginning of one that does where the generation ends early (max_tokens, a full
  // context, a stop text). End-of-sequence tokens are allowed where the text is complete. Null: any text.
  std::shared_ptr<const Grammar> grammar{};
};

// Why a generation ended. The order is that of LOOM_STOP_* in loom.h; files and messages have the names.
enum class StopReason : std::uint8_t { NotYet, Eos, Text, Length, Context, Cancelled };
inline constexpr std::string_view kStopReasons[] = {"", "eos", "stop", "length", "context", "cancelled"};
constexpr std::string_view name(StopReason reason) { return kStopReasons[static_cast<std::size_t>(reason)]; }

struct Generation {
  // without stop text and end-of-sequence token; bytes, which a model may leave without a UTF-8 end
  std::string text;
  std::vector<std::int32_t> ids;  // drawn tokens, the end-of-sequence token not included
  StopReason stop_reason = StopReason::NotYet;
  std::vector<std::vector<TokenLogprob>> logprobs;
  std::size_t prompt_tokens = 0;         // that were read; 0 when that was cancelled
  std::vector<std::int32_t> prompt_ids;  // all that stands before the first drawn token, also what the session held
  Digest hash{};                         // of the generated ids and the bits of the last logits
  // of work: what a host does between two steps does not count
  double prefill_seconds = 0, decode_seconds = 0;
  std::size_t decode_steps = 0;   // tokens that were fed
  SpeculationCounts speculation;  // zeros without a drafter
};

// The hash of generated ids and the bits of the last logits (Generation::hash).
Digest generation_hash(std::span<const std::int32_t> ids, std::span<const float> logits);

// One generation, which the application drives. next() does a bounded piece of work, so an application that calls it
// once per frame keeps its frame rate; next() until done gives the bits of generate(). The session outlives the
// generator, which has it alone: nobody else feeds or rewinds it between two steps. A generator that is destroyed early
// leaves the session with the tokens that were fed so far.
class Generator {
 public:
  struct Step {
    std::size_t prompt_tokens_read = 0;  // by this step, which then drew no token
    std::string text{};                  // that settled; may be empty, while what was drawn may become a stop string
    bool done = false;                   // the generation has ended
  };
  // Copies the prompt, which continues the tokens of the session, and feeds nothing yet. Checks the options, and the
  // prompt as Session::feed() does. A grammar needs the model's tokenizer.
  static Result<Generator> create(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                                  const GenerationOptions& options, std::size_t sequence = 0);

  // Reads one chunk of the prompt (Session::chunk_rows), or feeds and draws tokens until a piece of text has settled,
  // kTokensPerStep of them at most and one where the model brings no tokenizer. Setting `*cancel` ends the generation
  // with "cancelled" and what was generated so far; while the prompt is read the session then holds what it held before
  // the generation. InvalidState where no token of the vocabulary continues the text by the grammar. Forwards run:
  // those of the prompt, and one per token but the last. A generation that has ended is done again. NonFinite for
  // logits; InvalidState where the session has another length than the last step left. After an error every further
  // call returns it, but OutOfMemory, after which next() tries once more; an error that came while the prompt was read
  // leaves the session as before.
  Result<Step> next(const std::atomic<bool>* cancel = nullptr);
  static constexpr int kTokensPerStep = 8;

  // In place of next(), for a caller that feeds several sequences in one pass (Session::feed_pass); a drafter has no
  // effect. due() returns the ids to feed before a token can be drawn: the rest of the prompt, or the last drawn token;
  // none when done. After the first `count` of them were fed, take() draws a token from the logits that follow them,
  // unless ids of the prompt are left: then `logits` is empty. Tokens and bits are those of next(). NonFinite.
  std::span<const std::int32_t> due() const;
  bool reads_prompt() const { return result_.prompt_tokens < prompt_.size(); }
  Result<Step> take(std::size_t count, std::span<const float> logits);
  // Whether the session may choose in its place, so that the feed asks for a choice by these options (Feed::chooses),
  // and take() gets that in place of the logits.
  bool may_session_choose() const;
  const SamplingOptions& sampling() { return sampler().options(); }
  Result<Step> take(std::size_t count, std::int32_t choice);
  // Ends the generation with "cancelled" and what it has written.
  Result<Step> stop();

  bool done() const { return result_.stop_reason != StopReason::NotYet; }
  // Filled as it goes; stop_reason and hash when done.
  const Generation& result() const { return result_; }
  const GenerationOptions& options() const { return options_; }

 private:
  // Holds back text that may be the beginning of a stop string.
  class StopStrings {
   public:
    explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}
    // Text that is safe to show; met() says whether a stop string has come.
    std::string push(std::string_view piece);
    std::string finish() { return std::exchange(held_, {}); }
    bool met() const { return met_; }

   private:
    std::vector<std::string> stops_;
    std::string held_;
    bool met_ = false;
  };

  Generator(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
            const GenerationOptions& options, std::size_t sequence);
  Result<Step> read(const std::atomic<bool>* cancel);
  Result<Step> write(const std::atomic<bool>* cancel);
  Result<void> feed_drawn(const std::atomic<bool>* cancel);
  Result<void> feed(const Session::Feed& one, const std::atomic<bool>* cancel);
  Result<void> finish();
  Result<Step> close(Step step);
  // The part of take() before a token is drawn; whether one is due.
  bool count_fed(std::size_t count, Step& step);
  Result<Step> draw_into(Step step);
  Result<std::int32_t> choose();
  // Chooses among the tokens that the grammar allows; kNoToken at the end of a text that cannot go on.
  Result<std::int32_t> choose_by_grammar();
  Sampler& sampler() { return is_endless() ? endless_sampler_ : sampler_; }
  bool is_endless() const { return options_.ignore_eos || result_.ids.size() < options_.min_tokens; }
  Result<std::span<const std::int32_t>> drafts(const std::atomic<bool>* cancel);
  Result<std::string> draw();
  std::string text_of(std::int32_t id);
  std::string rest_of_text();

  Session* session_;
  std::size_t sequence_;  // of the session
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<std::int32_t> prompt_;
  GenerationOptions options_;
  std::vector<std::int32_t> ends_;     // tokens that end the text
  Sampler sampler_, endless_sampler_;  // the second one never draws an end
  std::optional<text::IncrementalDecoder> decoder_;
  StopStrings stops_;
  std::optional<Speculation> speculation_;
  std::optional<GrammarState> grammar_;
  Generation result_;
  std::size_t before_ = 0;             // tokens of the session, before the generation
  std::uint64_t revision_ = 0;         // of the session, after the last step
  std::vector<float> logits_;          // of the last token that was fed; others may feed other sequences meanwhile
  bool may_session_choose_ = false;    // a card, ahead of the reader
  CardDraws card_draws_;               // whether it draws the next token
  bool session_chooses_ = false;       // the card chose after the last token that was fed, and keeps the logits
  std::int32_t choice_ = 0;            // of the last token that was fed, by the session
  std::optional<std::int32_t> drawn_;  // and not fed yet
  std::optional<Error> failed_;
};

// A Generator that is run to its end. `on_text` gets text that can no longer change; returning false stops after the
// current token. `cancel` and errors are as in Generator::next().
Result<Generation> generate(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                            const GenerationOptions& options, const std::function<bool(std::string_view)>& on_text = {},
                            const std::atomic<bool>* cancel = nullptr);

}  // namespace loom
