#include "lm/generate.h"

#include <algorithm>
#include <chrono>

#include "core/fp_environment.h"

namespace loom {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Holds back text that may be the beginning of a stop string.
class StopWatch {
 public:
  explicit StopWatch(const std::vector<std::string>& stops) : stops_(stops) {}

  // Text that is safe to show; stopped() says whether a stop string has been met.
  std::string push(std::string_view piece) {
    held_ += piece;
    std::size_t cut = held_.npos;
    for (const std::string& stop : stops_)
      if (!stop.empty()) cut = std::min(cut, held_.find(stop));
    if (cut != held_.npos) {
      stopped_ = true;
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
  std::string finish() { return std::exchange(held_, {}); }
  bool stopped() const { return stopped_; }

 private:
  const std::vector<std::string>& stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace

Result<Generation> generate(Session& session, const LanguageModel& model, std::span<const std::int32_t> prompt,
                            const GenerationOptions& options, const std::function<bool(std::string_view)>& on_text) {
  const FpEnvironment environment;
  const auto vocab = static_cast<std::size_t>(model.decoder->config.vocab_size);
  LOOM_TRY_VOID(check(options.sampling, vocab));
  Generation out;
  out.prompt_tokens = prompt.size();
  std::vector<std::int32_t> ends;
  for (const std::vector<std::int32_t>* ids : {&model.stop_ids, &options.stop_ids})
    for (const std::int32_t id : *ids)
      // a file may name an id that its model lacks
      if (id >= 0 && static_cast<std::size_t>(id) < vocab) ends.push_back(id);
  // Behind an end-of-sequence token a model writes the next turn of its training texts, so before min_tokens, or for
  // good, it is never drawn.
  SamplingOptions without_end = options.sampling;
  without_end.banned.insert(without_end.banned.end(), ends.begin(), ends.end());
  Sampler sampler(options.sampling, vocab), endless_sampler(std::move(without_end), vocab);

  const auto begin = Clock::now();
  auto fed = session.feed(prompt);
  if (!fed) return tl::make_unexpected(std::move(fed).error());
  std::span<const float> logits = *fed;
  out.prefill_seconds = seconds_since(begin);
  const auto decode_begin = Clock::now();

  std::optional<text::IncrementalDecoder> decoder;
  if (model.tokenizer) decoder.emplace(*model.tokenizer, text::DecodeOptions{.skip_special_tokens = true});
  StopWatch watch(options.stop);
  const auto show = [&](const std::string& piece) {
    out.text += piece;
    return piece.empty() || !on_text || on_text(piece);
  };
  bool go_on = true;
  while (out.stop_reason.empty()) {
    if (out.ids.size() >= options.max_tokens) {
      out.stop_reason = "length";
      break;
    }
    const bool endless = options.ignore_eos || out.ids.size() < options.min_tokens;
    auto chosen = (endless ? endless_sampler : sampler).choose(logits, session.tokens(), options.sampling_session);
    if (!chosen) return tl::make_unexpected(std::move(chosen).error());
    const std::int32_t id = *chosen;
    if (std::find(ends.begin(), ends.end(), id) != ends.end()) {  // also when a vocabulary holds nothing else to draw
      out.stop_reason = "eos";
      break;
    }
    out.ids.push_back(id);
    if (options.logprobs > 0) out.logprobs.push_back(logprobs(logits, id, options.logprobs));
    if (decoder) go_on = show(watch.push(decoder->push(id))) && go_on;
    if (watch.stopped())
      out.stop_reason = "stop";
    else if (!go_on)
      out.stop_reason = "cancelled";
    else if (out.ids.size() >= options.max_tokens)
      out.stop_reason = "length";
    else if (session.length() >= session.context_tokens())
      out.stop_reason = "context";
    if (!out.stop_reason.empty()) break;
    fed = session.feed(std::span(&id, 1));
    if (!fed) {
      if (fed.error().code != Code::Cancelled) return tl::make_unexpected(std::move(fed).error());
      out.stop_reason = "cancelled";
      break;
    }
    logits = *fed;
    ++out.decode_steps;
  }
  if (decoder && !watch.stopped()) {
    show(watch.push(decoder->finish()));
    if (!watch.stopped()) show(watch.finish());
  }
  out.decode_seconds = seconds_since(decode_begin);
  Sha256 hash;
  for (const std::int32_t id : out.ids) hash.update_u32(static_cast<std::uint32_t>(id));
  hash.update_floats(logits);
  out.hash = hash.finish();
  return out;
}

Result<std::string> render_chat(const LanguageModel& model, std::span<const ChatMessage> messages,
                                const std::optional<TemplateTime>& now, bool add_generation_prompt,
                                const std::atomic<bool>* cancel) {
  LOOM_TRY(const ChatTemplate* const chat_template, model.need_template());
  ChatContext context;
  for (const ChatMessage& m : messages) context.messages.push_back(Json{{"role", m.role}, {"content", m.content}});
  context.add_generation_prompt = add_generation_prompt;
  context.bos_token = model.bos_token;
  context.eos_token = model.eos_token;
  LOOM_TRY(const Json variables, chat_context(context));
  return chat_template->render(variables, {.cancel = cancel}, now);
}

}  // namespace loom
