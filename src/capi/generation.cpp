// Generators of loom.h: text out of a session, step by step.

#include <algorithm>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/options.h"
#include "core/json.h"
#include "host/conversation.h"
#include "host/logprobs.h"
#include "host/prompt.h"

namespace loom::capi {
namespace {

// A field that is 0 means its default.
template <class T>
void take_over(T given, T& to) {
  if (given != 0) to = given;
}

static_assert(static_cast<int>(StopReason::Eos) == LOOM_STOP_EOS &&
              static_cast<int>(StopReason::Text) == LOOM_STOP_TEXT);
static_assert(static_cast<int>(StopReason::Length) == LOOM_STOP_LENGTH &&
              static_cast<int>(StopReason::Context) == LOOM_STOP_CONTEXT);
static_assert(static_cast<int>(StopReason::Cancelled) == LOOM_STOP_CANCELLED);
loom_stop stop_of(StopReason reason) { return static_cast<loom_stop>(reason); }

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

Result<std::shared_ptr<const Grammar>> grammar_of(const loom_generation_options& given) {
  LOOM_TRY(const auto texts, need_array(given.choices, given.choices_count, "choices"));
  const int count = (given.schema != nullptr) + (given.grammar != nullptr) + (given.regex != nullptr) + !texts.empty();
  if (count > 1)
    return fail(Code::InvalidArgument, "{} of schema, grammar, regex and choices are set: expected at most one", count);
  if (given.schema != nullptr) return Grammar::from_schema(given.schema);
  if (given.grammar != nullptr) return Grammar::from_gbnf(given.grammar);
  if (given.regex != nullptr) return Grammar::from_regex(given.regex);
  if (texts.empty()) return std::shared_ptr<const Grammar>();
  std::vector<std::string> choices;
  for (const char* const text : texts) {
    LOOM_TRY(const std::string_view choice, need_text(text, "a choice"));
    choices.emplace_back(choice);
  }
  return Grammar::from_choices(choices);
}

// Settings that nothing reads: what only draws look at where the best token is taken, and the window of penalties that
// are off. Numbers out of range are left to check() of lm/sampling.h.
Result<void> check_effects(const SamplingOptions& s) {
  const SamplingOptions standard;
  if (s.repetition_window != standard.repetition_window && s.repetition_penalty == 1 && s.frequency_penalty == 0 &&
      s.presence_penalty == 0)
    return fail(Code::InvalidArgument,
                "repetition_window has no effect without repetition_penalty, frequency_penalty or presence_penalty");
  if (s.temperature != 0) return {};
  const auto unread = [](std::string_view name) {
    return fail(Code::InvalidArgument,
                "{} has no effect at temperature 0, where the best token is taken; a temperature of 0.7 draws", name);
  };
  if (s.top_k > 0) return unread("top_k");
  if (s.top_p > 0 && s.top_p < 1) return unread("top_p");
  if (s.min_p > 0 && s.min_p <= 1) return unread("min_p");
  if (s.typical_p > 0 && s.typical_p < 1) return unread("typical_p");
  if (s.seed != 0) return unread("seed");
  return {};
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
  LOOM_TRY_VOID(check_effects(s));
  LOOM_TRY(const auto stops, need_array(given.stop, given.stop_count, "stop"));
  if (!stops.empty() && given.choices_count != 0)
    return fail(Code::InvalidArgument, "stop has no sense beside choices: the answer is one of them, whole");
  for (const char* const stop : stops) {
    LOOM_TRY(const std::string_view text, need_text(stop, "a stop string"));
    if (text.empty()) return fail(Code::InvalidArgument, "a stop string is empty");
    out.stop.emplace_back(text);
  }
  LOOM_TRY(s.logit_bias, logit_bias_of(given));
  LOOM_TRY(const auto ends, need_array(given.stop_ids, given.stop_ids_count, "stop_ids"));
  out.stop_ids.assign(ends.begin(), ends.end());
  out.logprobs = given.logprobs;
  LOOM_TRY(out.grammar, grammar_of(given));
  LOOM_TRY(out.drafter, drafter_of(given, session));
  return out;
}

// A conversation as chat templates take it.
Result<Json> messages_of(std::string_view text) {
  LOOM_TRY(const Json list, parse_json(text));
  auto messages = conversation_from_json(list);
  if (!messages) return fail(Code::InvalidArgument, "{}", messages.error().text());
  return messages;
}

namespace {

Result<Json> json_or_null(const char* text) { return text == nullptr ? Result<Json>(Json()) : parse_json(text); }

}  // namespace

Result<PromptRequest> prompt_request_of(const loom_generation_options& given, const LanguageModel& model) {
  PromptRequest out;
  out.plain_text = given.plain_text != 0, out.continue_final_message = given.continue_final_message != 0;
  if (given.chat_template != nullptr) {
    auto chosen = chosen_template(model, given.chat_template, TemplateSetting::NameOrText);
    if (!chosen) return at("chat_template", std::move(chosen).error());
    out.chat_template = std::move(*chosen);
  }
  if (given.tools != nullptr) {
    auto tools = tools_from_json(given.tools);
    if (!tools) return fail(Code::InvalidArgument, "tools: {}", tools.error().text());
    out.tools = std::move(*tools);
  }
  auto variables = json_or_null(given.template_variables);
  if (!variables) return at("template_variables", std::move(variables).error());
  if (!variables->is_null() && !variables->is_object())
    return fail(Code::InvalidArgument, "template_variables: expected an object, got {}", variables->type_name());
  if (!variables->is_null()) out.variables = std::move(*variables);
  if (given.date != nullptr) {
    auto date = parse_template_date(given.date);
    if (!date) return at("date", std::move(date).error());
    out.date = *date;
  }
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

// Refuses settings of prompts beside ids.
Result<void> check_ids_alone(const loom_generation_options* options) {
  LOOM_TRY(const loom_generation_options given, read_struct(options));
  const std::pair<const char*, bool> fields[] = {
      {"plain_text", given.plain_text != 0}, {"chat_template", given.chat_template != nullptr},
      {"tools", given.tools != nullptr},     {"template_variables", given.template_variables != nullptr},
      {"date", given.date != nullptr},       {"continue_final_message", given.continue_final_message != 0}};
  for (const auto& [field, is_set] : fields)
    if (is_set) return fail(Code::InvalidArgument, "{} has no effect on ids, which no chat template writes", field);
  return {};
}

Result<Prompt> prompt_of(const LanguageModel& model, std::string_view text, loom_prompt_form form,
                         const loom_generation_options* options, std::size_t context_tokens) {
  if (form < LOOM_PROMPT_AUTO || form > LOOM_PROMPT_MESSAGES)
    return fail(Code::InvalidArgument, "form is {}: expected one of LOOM_PROMPT_*", form);
  LOOM_TRY(const loom_generation_options given, read_struct(options));
  LOOM_TRY(PromptRequest request, prompt_request_of(given, model));
  request.form = form == LOOM_PROMPT_MESSAGES ? PromptForm::Chat : static_cast<PromptForm>(form);
  request.context_tokens = context_tokens;
  if (form == LOOM_PROMPT_MESSAGES) {
    LOOM_TRY(request.messages, messages_of(text));
  } else {
    request.text = text;
  }
  auto made = make_prompt(model, std::move(request));
  if (!made && made.error().code == Code::NoTemplate) return at(model.path, std::move(made).error());
  return made;
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
    LOOM_TRY_VOID(check_ids_alone(options));
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
    LOOM_TRY(const Prompt prompt, prompt_of(use->model->model, given, form, options, use->session->context_tokens()));
    LOOM_TRY(const Turn turn, Turn::of(*use.operator->(), "session"));
    LOOM_TRY(*generator, make_generator(use, prompt.ids, options, prompt.dropped_bytes, prompt.described));
    return {};
  });
}

loom_status loom_model_prompt(loom_model model, const void* text, size_t text_size, loom_prompt_form form,
                              const loom_generation_options* options, loom_blob* prompt) {
  return guard([&]() -> Result<void> {
    LOOM_TRY_VOID(need_results(prompt));
    LOOM_TRY(const std::string_view given, need_bytes(text, text_size, "text"));
    LOOM_TRY(const auto use, Use<ModelObject>::of(model));
    const auto context = static_cast<std::size_t>(use->model.decoder->config.max_position_embeddings);
    LOOM_TRY(const Prompt made, prompt_of(use->model, given, form, options, context));
    LOOM_TRY(*prompt, make_blob(to_json(made)));
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
