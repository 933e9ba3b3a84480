// Generators of loom.h: text out of a session, step by step.

#include <algorithm>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/conversation.h"
#include "host/logprobs.h"
#include "host/prompts.h"

namespace loom::capi {
namespace {

// A field that is 0 means its default.
template <class T>
void take_over(T given, T& to) {
  if (given != 0) to = given;
}

loom_stop stop_of(const std::string& reason) {
  constexpr const char* kReasons[] = {"", "eos", "stop", "length", "context", "cancelled"};  // as LOOM_STOP_*
  return static_cast<loom_stop>(std::ranges::find(kReasons, reason) - std::begin(kReasons));
}

Result<std::shared_ptr<Drafter>> drafter_of(const loom_generation_options& given, const SessionObject& session) {
  if (given.draft_model != 0) {
    LOOM_TRY(const auto draft, Use<ModelObject>::of(given.draft_model));
    return ModelDrafter::create(draft->model, session.model->model, *session.session);
  }
  return given.speculate != 0 ? std::make_shared<NgramDrafter>() : nullptr;
}

Result<std::size_t> max_tokens_of(const loom_generation_options& given) {
  if (given.prompt_only == 0)
    return given.max_tokens == 0 ? GenerationOptions().max_tokens : static_cast<std::size_t>(given.max_tokens);
  if (given.max_tokens != 0)
    return fail(Code::InvalidArgument, "max_tokens is {} beside prompt_only: set one of them", given.max_tokens);
  return std::size_t{0};
}

Result<std::vector<std::pair<std::int32_t, float>>> logit_bias_of(const loom_generation_options& given) {
  LOOM_TRY(const auto ids, need_array(given.bias_ids, given.bias_ids_count, "bias_ids"));
  LOOM_TRY(const auto biases, need_array(given.biases, given.biases_count, "biases"));
  if (ids.size() != biases.size())
    return fail(Code::ShapeMismatch, "{} bias_ids and {} biases: expected as many", ids.size(), biases.size());
  std::vector<std::pair<std::int32_t, float>> out;
  out.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) out.emplace_back(ids[i], biases[i]);
  return out;
}

}  // namespace

Result<GenerationOptions> generation_options_of(const loom_generation_options& given, const SessionObject& session) {
  GenerationOptions out;
  LOOM_TRY(out.max_tokens, max_tokens_of(given));
  out.min_tokens = given.min_tokens;
  out.ignore_eos = given.ignore_eos != 0;
  SamplingOptions& s = out.sampling;
  s.seed = given.seed, s.temperature = given.temperature, s.top_k = given.top_k;
  s.min_p = given.min_p, s.frequency_penalty = given.frequency_penalty, s.presence_penalty = given.presence_penalty;
  take_over(given.top_p, s.top_p);
  take_over(given.typical_p, s.typical_p);
  take_over(given.repetition_penalty, s.repetition_penalty);
  take_over(given.repetition_window, s.repetition_window);
  LOOM_TRY(const auto stops, need_array(given.stop, given.stop_count, "stop"));
  for (const char* const stop : stops) {
    LOOM_TRY(const std::string_view text, need_text(stop, "a stop string"));
    if (text.empty()) return fail(Code::InvalidArgument, "a stop string is empty");
    out.stop.emplace_back(text);
  }
  LOOM_TRY(s.logit_bias, logit_bias_of(given));
  LOOM_TRY(const auto ends, need_array(given.stop_ids, given.stop_ids_count, "stop_ids"));
  out.stop_ids.assign(ends.begin(), ends.end());
  out.logprobs = given.logprobs;
  LOOM_TRY(out.drafter, drafter_of(given, session));
  return out;
}

void give_step(const std::string& piece, const Generation& so_far, loom_step* to, std::uint32_t room) {
  loom_step out{};
  out.text = piece.c_str(), out.text_size = piece.size();
  out.prompt_tokens = so_far.prompt_tokens, out.generated_tokens = so_far.ids.size();
  out.stop = stop_of(so_far.stop_reason);
  write_struct(out, to, room);
}

void give_generation(const Generation& g, std::size_t dropped_bytes, loom_generation* to, std::uint32_t room) {
  loom_generation out{};
  out.text = g.text.c_str(), out.text_size = g.text.size();
  out.ids = g.ids.data(), out.ids_count = g.ids.size();
  out.prompt_tokens = g.prompt_tokens, out.dropped_bytes = dropped_bytes;
  out.prefill_seconds = g.prefill_seconds, out.decode_seconds = g.decode_seconds;
  out.stop = stop_of(g.stop_reason);
  std::memcpy(out.hash, g.hash.data(), sizeof out.hash);
  out.drafted = g.speculation.drafted, out.accepted = g.speculation.accepted, out.passes = g.speculation.passes;
  write_struct(out, to, room);
}

Result<std::uint64_t> logprobs_blob(const Generation& g, const GenerationOptions& options) {
  if (options.logprobs == 0) return fail(Code::InvalidState, "the option logprobs is 0: set how many to report");
  return make_blob(logprobs_json(g));
}

namespace {

// Makes a generator of a session that the caller has.
Result<loom_generator> make_generator(const Use<SessionObject>& use, std::span<const std::int32_t> prompt,
                                      const loom_generation_options* options, std::size_t dropped_bytes,
                                      Receipt::Prompt from) {
  LOOM_TRY(const loom_generation_options given, read_struct(options));
  LOOM_TRY(const GenerationOptions wanted, generation_options_of(given, *use.operator->()));
  LOOM_TRY(Generator generator, Generator::create(*use->session, use->model->model, prompt, wanted));
  return make_handle<GeneratorObject>(use.shared(), std::move(generator), dropped_bytes, std::move(from));
}

struct Prompt {
  std::vector<std::int32_t> ids;
  std::size_t dropped_bytes = 0;
  Receipt::Prompt from{};
};
Result<Prompt> prompt_of(const LanguageModel& model, std::string_view text, loom_prompt_form form, bool plain_text) {
  if (form < LOOM_PROMPT_AUTO || form > LOOM_PROMPT_CHAT)
    return fail(Code::InvalidArgument, "form is {}: expected one of LOOM_PROMPT_*", form);
  LOOM_TRY(const text::Tokenizer* const tokenizer, model.need_tokenizer());
  const bool asks = form == LOOM_PROMPT_CHAT || (form == LOOM_PROMPT_AUTO && model.chat_template);
  Prompt out;
  if (!asks) {
    LOOM_TRY(const text::Encoded encoded, tokenizer->encode(text, {}, out.ids));
    out.dropped_bytes = encoded.dropped_bytes;
    out.from = prompt_of_text(text, true);
    return out;
  }
  LOOM_TRY_VOID(model.need_template());
  Prompts prompts = Prompts::of(model);
  prompts.plain_text = plain_text;
  LOOM_TRY(const std::string rendered, prompts.render(Json::array({message("user", std::string(text))})));
  LOOM_TRY(const text::Encoded encoded, prompts.encode(rendered, text::EncodeOptions().max_tokens, out.ids));
  out.dropped_bytes = encoded.dropped_bytes;
  out.from = prompts.describe(rendered);
  return out;
}

}  // namespace
}  // namespace loom::capi

using namespace loom;
using namespace loom::capi;

loom_status loom_generator_create(loom_session session, const int32_t* prompt, size_t prompt_count,
                                  const loom_generation_options* options, loom_generator* generator) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(generator));
    LOOM_TRY(const auto ids, need_array(prompt, prompt_count, "prompt"));
    LOOM_TRY(const auto taken, take<SessionObject>(session, "session"));
    LOOM_TRY(*generator, make_generator(taken.use, ids, options, 0, {}));
    return {};
  });
}

loom_status loom_generator_from_text(loom_session session, const void* text, size_t text_size, loom_prompt_form form,
                                     const loom_generation_options* options, loom_generator* generator) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(generator));
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const auto use, Use<SessionObject>::of(session));
    LOOM_TRY(const loom_generation_options wanted, read_struct(options));
    LOOM_TRY(const Prompt prompt, prompt_of(use->model->model, given, form, wanted.plain_text != 0));
    LOOM_TRY(const Turn turn, Turn::of(*use.operator->(), "session"));
    LOOM_TRY(*generator, make_generator(use, prompt.ids, options, prompt.dropped_bytes, prompt.from));
    return {};
  });
}

loom_status loom_generator_next(loom_generator generator, loom_cancel cancel, loom_step* step) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(step));
    LOOM_TRY(const CancelOf stop, CancelOf::handle(cancel));
    LOOM_TRY(const auto use, take<GeneratorObject>(generator, "generator"));
    LOOM_TRY(const Turn session_turn, Turn::of(*use->session, "session"));
    LOOM_TRY(Generator::Step done, use->generator.next(stop.flag()));
    use->piece = std::move(done.text);
    give_step(use->piece, use->generator.result(), step, room);
    return {};
  });
}

loom_status loom_generator_result(loom_generator generator, loom_generation* result) {
  return guard([&]() -> Result<void> {
    LOOM_TRY(const std::uint32_t room, room_in(result));
    LOOM_TRY(const auto use, take<GeneratorObject>(generator, "generator"));
    give_generation(use->generator.result(), use->dropped_bytes, result, room);
    return {};
  });
}

loom_status loom_generator_logprobs(loom_generator generator, loom_blob* logprobs) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(logprobs));
    LOOM_TRY(const auto use, take<GeneratorObject>(generator, "generator"));
    LOOM_TRY(*logprobs, logprobs_blob(use->generator.result(), use->generator.options()));
    return {};
  });
}
