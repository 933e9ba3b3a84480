#include "lm/generator.h"

#include <algorithm>
#include <chrono>

#include "core/fp_environment.h"
#include "ops/choice/choice.h"

namespace loom {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::size_t vocab_of(const LanguageModel& model) { return static_cast<std::size_t>(model.decoder->config.vocab_size); }

std::vector<std::int32_t> ends_of(const LanguageModel& model, const GenerationOptions& options) {
  std::vector<std::int32_t> ends;
  for (const std::vector<std::int32_t>* ids : {&model.stop_ids, &options.stop_ids})
    for (const std::int32_t id : *ids)
      // a file may name an id that its model lacks
      if (id >= 0 && static_cast<std::size_t>(id) < vocab_of(model)) ends.push_back(id);
  return ends;
}

// Bans the end-of-sequence tokens, before min_tokens or for the whole generation: after such a token a model would
// write the next turn of its training texts.
SamplingOptions without_ends(const std::vector<std::int32_t>& ends, SamplingOptions options) {
  options.banned.insert(options.banned.end(), ends.begin(), ends.end());
  return options;
}

// A choice is written as a whole: a stop text inside of one would end it early.
Result<void> check_choices(const GenerationOptions& options) {
  if (!options.grammar || options.grammar->source().kind != "choices") return {};
  for (const std::string& choice : options.grammar->source().texts)
    for (const std::string& stop : options.stop)
      if (choice.find(stop) != choice.npos)
        return fail(Code::InvalidArgument,
                    "stop: \"{}\" is a part of the choice \"{}\", which would end early: expected texts of no choice",
                    printable(stop), printable(choice));
  return {};
}

}  // namespace

Digest generation_hash(std::span<const std::int32_t> ids, std::span<const float> logits) {
  Sha256 hash;
  for (const std::int32_t id : ids) hash.update_u32(static_cast<std::uint32_t>(id));
  hash.update_floats(logits);
  return hash.finish();
}

std::string Generator::StopStrings::push(std::string_view piece) {
  held_ += piece;
  std::size_t cut = held_.npos;
  for (const std::string& stop : stops_) cut = std::min(cut, held_.find(stop));
  if (cut != held_.npos) {
    met_ = true;
    held_.resize(cut);
    return std::exchange(held_, {});
  }
  std::size_t keep = 0;
  for (const std::string& stop : stops_)
    for (std::size_t n = std::min(stop.size(), held_.size()); n > keep; --n)
      if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) keep = n;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

Generator::Generator(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                     const GenerationOptions& options, std::size_t sequence)
    : session_(&session),
      sequence_(sequence),
      tokenizer_(model.tokenizer),
      prompt_(prompt.begin(), prompt.end()),
      options_(options),
      ends_(ends_of(model, options)),
      sampler_(options.sampling, vocab_of(model)),
      endless_sampler_(without_ends(ends_, options.sampling), vocab_of(model)),
      stops_(options.stop),
      before_(session.length(sequence)),
      revision_(session.revision(sequence)) {
  const std::span<const std::int32_t> held = session.tokens(sequence);
  result_.prompt_ids.assign(held.begin(), held.end());
  result_.prompt_ids.insert(result_.prompt_ids.end(), prompt_.begin(), prompt_.end());
  if (tokenizer_) decoder_.emplace(*tokenizer_, text::DecodeOptions{.skip_special_tokens = true});
  if (options.drafter) speculation_.emplace(options.drafter);
  const bool bans_change = !options.ignore_eos && options.min_tokens != 0 && !ends_.empty();
  may_session_choose_ = session.device() != nullptr && session.device()->records() &&
                        DrawRow::takes(sampler().options(), session.context_tokens()) && !bans_change &&
                        options.logprobs == 0 && !options.drafter && !options.grammar;
}

Result<Generator> Generator::create(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                                    const GenerationOptions& options, std::size_t sequence) {
  LOOM_TRY_VOID(check(options.sampling, vocab_of(model)));
  if (std::ranges::find(options.stop, "") != options.stop.end())
    return fail(Code::InvalidArgument, "stop: an empty text, expected the text before which the answer ends");
  LOOM_TRY_VOID(check_choices(options));
  for (const std::int32_t id : options.stop_ids)
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_of(model))
      return fail(Code::InvalidArgument, "stop_ids has {}: expected ids of the vocabulary, 0 to {}", id,
                  vocab_of(model) - 1);
  const Session::Feed whole{sequence, prompt};
  LOOM_TRY_VOID(session.check(std::span(&whole, 1)));
  Generator generator(session, model, prompt, options, sequence);
  if (options.grammar) {
    LOOM_TRY(auto trie, model.token_trie(options.visible_ids));
    LOOM_TRY(generator.grammar_,
             GrammarState::create(options.grammar, std::move(trie), generator.ends_, vocab_of(model)));
  }
  return generator;
}

Result<Generator::Step> Generator::next(const std::atomic<bool>* cancel) {
  if (failed_) return tl::make_unexpected(*failed_);
  if (done()) return Step{.done = true};
  if (session_->revision(sequence_) != revision_) {
    failed_ = Error{Code::InvalidState, "the sequence was changed after the last step: begin a new generation"};
    return tl::make_unexpected(*failed_);
  }
  const FpEnvironment environment;
  const auto begin = Clock::now();
  const bool reads = reads_prompt();
  auto step = reads ? read(cancel) : write(cancel);
  if (step && done())
    if (auto finished = finish(); !finished) step = tl::make_unexpected(std::move(finished).error());
  (reads ? result_.prefill_seconds : result_.decode_seconds) += seconds_since(begin);
  revision_ = session_->revision(sequence_);
  if (!step) {
    if (done() || step.error().code != Code::OutOfMemory) failed_ = step.error();
  } else if (done()) {
    step->done = true;
  }
  return step;
}

std::span<const std::int32_t> Generator::due() const {
  if (done() || failed_) return {};
  if (reads_prompt()) return std::span(prompt_).subspan(result_.prompt_tokens);
  return drawn_ ? std::span(&*drawn_, 1) : std::span<const std::int32_t>();
}

Result<Generator::Step> Generator::take(std::size_t count, std::span<const float> logits) {
  if (failed_) return tl::make_unexpected(*failed_);
  Step step;
  if (!count_fed(count, step)) return step;
  session_chooses_ = false;
  logits_.assign(logits.begin(), logits.end());
  return draw_into(std::move(step));
}

Result<Generator::Step> Generator::take(std::size_t count, std::int32_t choice) {
  if (failed_) return tl::make_unexpected(*failed_);
  Step step;
  if (!count_fed(count, step)) return step;
  session_chooses_ = true, choice_ = choice;
  return draw_into(std::move(step));
}

bool Generator::may_session_choose() const {
  return may_session_choose_ && card_draws_.tries() && session_->device() != nullptr && session_->device()->records();
}

bool Generator::count_fed(std::size_t count, Step& step) {
  LOOM_ASSERT(count > 0 && count <= due().size());
  revision_ = session_->revision(sequence_);
  if (reads_prompt()) {
    step.prompt_tokens_read = count, result_.prompt_tokens += count;
    return !reads_prompt();
  }
  drawn_.reset();
  ++result_.decode_steps;
  return true;
}

Result<Generator::Step> Generator::draw_into(Step step) {
  const FpEnvironment environment;
  auto text = draw();
  revision_ = session_->revision(sequence_);  // which a lost card moves while a row is read
  if (!text) {
    failed_ = text.error();
    return tl::make_unexpected(std::move(text).error());
  }
  step.text = *std::move(text);
  return close(std::move(step));
}

Result<Generator::Step> Generator::stop() {
  if (failed_) return tl::make_unexpected(*failed_);
  if (done()) return Step{.done = true};
  const FpEnvironment environment;
  result_.stop_reason = StopReason::Cancelled;
  return close({});
}

// Adds the text that was held back at the end of a generation.
Result<Generator::Step> Generator::close(Step step) {
  if (done()) step.text += rest_of_text();
  result_.text += step.text;
  if (!done()) return step;
  LOOM_TRY_VOID(finish());
  step.done = true;
  return step;
}

Result<void> Generator::finish() {
  if (session_chooses_ && result_.prompt_tokens == prompt_.size()) {
    LOOM_TRY(const std::span<const float> last, session_->logits(sequence_));
    logits_.assign(last.begin(), last.end());
  }
  result_.hash = generation_hash(result_.ids, logits_);
  return {};
}

// Leaves the logits, or the choice of a session that keeps them.
Result<void> Generator::feed(const Session::Feed& one, const std::atomic<bool>* cancel) {
  session_chooses_ = may_session_choose_ && card_draws_.tries();
  if (!session_chooses_) {
    LOOM_TRY(const ConstTensor fed, session_->feed(std::span(&one, 1), cancel));
    logits_.assign(fed.row(0), fed.row(0) + fed.cols);
    return {};
  }
  // The last token that is drawn is not fed.
  const std::size_t drawn = result_.ids.size() + 1;
  const std::size_t ahead = options_.max_tokens > drawn ? options_.max_tokens - drawn : 0;
  Session::Feed chooses = one;
  chooses.sampling = &sampling(), chooses.sampling_session = options_.sampling_session;
  LOOM_TRY(choice_, session_->feed_and_choose(chooses, std::min(ahead, card_draws_.ahead()), cancel));
  return {};
}

// Only the last chunk gives logits.
Result<Generator::Step> Generator::read(const std::atomic<bool>* cancel) {
  const std::size_t left = prompt_.size() - result_.prompt_tokens, count = std::min(left, session_->chunk_rows());
  const auto chunk = std::span<const std::int32_t>(prompt_).subspan(result_.prompt_tokens, count);
  auto done = count == left ? feed({sequence_, chunk}, cancel) : session_->prefill(chunk, sequence_, cancel);
  if (done && speculation_) done = speculation_->read(session_->tokens(sequence_), cancel);
  if (done) {
    result_.prompt_tokens += count;
    return Step{.prompt_tokens_read = count};
  }
  LOOM_TRY_VOID(session_->truncate(before_, sequence_));
  result_.prompt_tokens = 0;
  logits_.clear();
  if (done.error().code != Code::Cancelled) return tl::make_unexpected(std::move(done).error());
  result_.stop_reason = StopReason::Cancelled;
  return Step{};
}

// A token is fed by the step after the one that drew it: a host that has seen the text may want no more.
Result<Generator::Step> Generator::write(const std::atomic<bool>* cancel) {
  Step step;
  const int most = decoder_ ? kTokensPerStep : 1;
  for (int token = 0; token < most && step.text.empty() && !done(); ++token) {
    LOOM_TRY_VOID(feed_drawn(cancel));
    if (done()) break;
    LOOM_TRY(step.text, draw());
  }
  if (done()) step.text += rest_of_text();
  result_.text += step.text;
  return step;
}

Result<void> Generator::feed_drawn(const std::atomic<bool>* cancel) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    result_.stop_reason = StopReason::Cancelled;
    return {};
  }
  if (!drawn_) return {};
  LOOM_TRY(const auto proposed, drafts(cancel));
  auto fed = feed({sequence_, std::span(&*drawn_, 1), proposed}, cancel);
  if (!fed) {
    if (fed.error().code != Code::Cancelled) return fed;
    result_.stop_reason = StopReason::Cancelled;
    return {};
  }
  drawn_.reset();
  ++result_.decode_steps;
  return {};
}

// No more than are drawn later, fit the context and one pass.
Result<std::span<const std::int32_t>> Generator::drafts(const std::atomic<bool>* cancel) {
  if (!speculation_) return std::span<const std::int32_t>();
  const std::size_t room = std::min({options_.max_tokens - result_.ids.size() - 1, session_->chunk_rows() - 1,
                                     session_->context_tokens() - session_->length(sequence_) - 1});
  auto out = speculation_->behind(*drawn_, room, cancel);
  result_.speculation = speculation_->counts();
  // the feed that follows hears of it too
  if (!out && out.error().code == Code::Cancelled) return std::span<const std::int32_t>();
  return out;
}

Result<std::string> Generator::draw() {
  std::vector<std::int32_t>& ids = result_.ids;
  if (ids.size() >= options_.max_tokens) {
    result_.stop_reason = StopReason::Length;
    return std::string();
  }
  LOOM_TRY(const std::int32_t id, choose());
  // The end of a text that satisfies its grammar and cannot go on is an end too, whatever the end tokens are.
  if (id == Sampler::kNoToken ||
      std::ranges::find(ends_, id) != ends_.end()) {  // also when a vocabulary holds nothing else to draw
    result_.stop_reason = StopReason::Eos;
    return std::string();
  }
  if (grammar_) LOOM_TRY_VOID(grammar_->advance(id));
  ids.push_back(id);
  drawn_ = id;
  if (options_.logprobs > 0) result_.logprobs.push_back(logprobs(logits_, id, options_.logprobs));
  std::string text = decoder_ ? stops_.push(text_of(id)) : std::string();
  if (stops_.met())
    result_.stop_reason = StopReason::Text;
  else if (ids.size() >= options_.max_tokens)
    result_.stop_reason = StopReason::Length;
  else if (session_->length(sequence_) >= session_->context_tokens())
    result_.stop_reason = StopReason::Context;
  return text;
}

// The text that the token settles.
std::string Generator::text_of(std::int32_t id) {
  if (std::ranges::find(options_.visible_ids, id) == options_.visible_ids.end()) return decoder_->push(id);
  return decoder_->finish() + std::string(tokenizer_->token_text(id));
}

Result<std::int32_t> Generator::choose() {
  if (session_chooses_ && choice_ != kNoChoice) {
    card_draws_.on_drawn();
    return choice_;
  }
  if (!session_chooses_) {
    card_draws_.on_host();
  } else {  // undecided; or a logit is not finite, or none can be drawn: the sampler says which
    card_draws_.on_undecided();
    LOOM_TRY(const std::span<const float> last, session_->logits(sequence_));
    logits_.assign(last.begin(), last.end());
  }
  if (grammar_) return choose_by_grammar();
  return sampler().choose(logits_, session_->tokens(sequence_), options_.sampling_session);
}

Result<std::int32_t> Generator::choose_by_grammar() {
  LOOM_TRY(const TokenMask allowed, grammar_->mask());
  LOOM_TRY(const std::int32_t id,
           sampler().choose(logits_, session_->tokens(sequence_), options_.sampling_session, allowed));
  if (id == Sampler::kNoToken && !grammar_->is_complete())
    return fail(Code::InvalidState, "no token of the vocabulary continues the text by the grammar after {} tokens{}",
                result_.ids.size(), options_.sampling.logit_bias.empty() ? "" : ", with this logit_bias");
  return id;
}

std::string Generator::rest_of_text() {
  if (!decoder_ || stops_.met()) return {};
  std::string text = stops_.push(decoder_->finish());
  return stops_.met() ? text : text + stops_.finish();
}

Result<Generation> generate(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                            const GenerationOptions& options, const std::function<bool(std::string_view)>& on_text,
                            const std::atomic<bool>* cancel) {
  static constexpr std::atomic<bool> kEnough{true};
  LOOM_TRY(Generator generator, Generator::create(session, model, prompt, options));
  while (!generator.done()) {
    LOOM_TRY(const Generator::Step step, generator.next(cancel));
    if (!step.text.empty() && on_text && !on_text(step.text)) cancel = &kEnough;
  }
  return generator.result();
}

}  // namespace loom
