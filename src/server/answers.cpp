#include "server/answers.h"

#include <algorithm>
#include <utility>

#include "core/config_reader.h"
#include "core/nearest.h"
#include "core/sha256.h"
#include "host/conversation.h"
#include "host/prompt.h"

namespace loom::server {
namespace {

using Clock = std::chrono::steady_clock;

Result<CallForm> form_of(const LanguageModel& model, const AnswerOptions& options) {
  PromptRequest request;
  request.tools = Json::array();
  request.chat_template = options.chat_template;
  if (!request.chat_template && !has_template(model))
    return fail(Code::NoTemplate, "the model brings no chat template");
  LOOM_TRY_VOID(choose_template(model, request));
  CallFormTexts texts{.bos_token = model.bos_token, .eos_token = model.eos_token};
  for (const std::int32_t id : model.stop_ids) texts.ends.emplace_back(model.tokenizer->token_text(id));
  return call_form_of(*request.chat_template, texts);
}

std::string template_source_of(const LanguageModel& model, const AnswerOptions& options) {
  PromptRequest request;
  request.chat_template = options.chat_template;
  if (!request.chat_template && (!has_template(model) || !choose_template(model, request))) return {};
  return request.chat_template ? request.chat_template->source() : std::string();
}

bool has_calls(const Json& messages) {
  return std::ranges::any_of(
      messages, [](const Json& message) { return message.contains("tool_calls") || message["role"] == "tool"; });
}

std::string id_seed_of(std::span<const std::int32_t> prompt, const GenerationOptions& generation) {
  Sha256 hash;
  for (const std::int32_t id : prompt) hash.update_u32(static_cast<std::uint32_t>(id));
  hash.update_u32(static_cast<std::uint32_t>(generation.sampling.seed));
  hash.update_u32(static_cast<std::uint32_t>(generation.sampling.seed >> 32));
  return to_hex(hash.finish());
}

// Whether an expression or statement of the template has the name as a variable: outside of texts, after no dot.
bool has_variable(std::string_view source, std::string_view name) {
  const auto is_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  bool is_code = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::string_view rest = source.substr(i);
    if (!is_code) {
      is_code = rest.starts_with("{{") || rest.starts_with("{%");
      i += is_code ? 1 : 0;
    } else if (rest.starts_with("}}") || rest.starts_with("%}")) {
      is_code = false;
    } else if (source[i] == '\'' || source[i] == '"') {
      const char quote = source[i];
      for (++i; i < source.size() && source[i] != quote; ++i)
        if (source[i] == '\\') ++i;
    } else if (is_in_name(source[i])) {
      const std::size_t begin = i;
      while (i + 1 < source.size() && is_in_name(source[i + 1])) ++i;
      if (source.substr(begin, i + 1 - begin) == name && source[begin - 1] != '.') return true;
    }
  }
  return false;
}

}  // namespace

std::optional<CallReader> Prepared::reader() const {
  if (!form) return std::nullopt;
  std::vector<std::string> names;
  names.reserve(request.tools.functions.size());
  for (const Function& function : request.tools.functions) names.push_back(function.name);
  CallReader out(*form, std::move(names), request.tools.is_parallel ? static_cast<std::size_t>(-1) : 1);
  if (form->kind == CallForm::Kind::Tagged)
    for (const Function& function : request.tools.functions) out.describe(function.name, function.parameters);
  return out;
}

Answers::Answers(std::shared_ptr<Engine> engine, AnswerOptions options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      form_(form_of(engine_->model(), options_)),
      template_source_(template_source_of(engine_->model(), options_)) {}

bool Answers::is_served(std::string_view model) const {
  if (model.ends_with(":latest") && !options_.name.ends_with(":latest")) model.remove_suffix(7);
  return model == options_.name;
}

Result<void> Answers::check_model(std::string_view model) const {
  if (model.empty() || is_served(model)) return {};
  return fail(Code::NotFound, "/model: {} is served, got {}", options_.name, shown(std::string(model)));
}

Result<void> Answers::limit(ChatRequest& request) const {
  if (options_.most_tokens == 0) return {};
  std::size_t& tokens = request.generation.max_tokens;
  // Where the client names no length, an answer is cut at the longest one.
  if (tokens == kMostTokens || request.has_standard_length) tokens = std::min(tokens, options_.most_tokens);
  if (tokens > options_.most_tokens)
    return fail(Code::InvalidConfig, "{}: an answer has at most {} tokens on this server, got {}",
                request.length_member, options_.most_tokens, tokens);
  return {};
}

// Describes the functions to the model and, where calls are forced or strict, gives the answer their form.
Result<void> Answers::offer_tools(ChatRequest& request, std::optional<CallForm>& form) const {
  Tools& tools = request.tools;
  const bool is_own = form_ && form_->kind == CallForm::Kind::Own;
  if (!tools.are_offered()) {
    if (is_own && has_calls(request.messages)) request.messages = messages_in_own_form(request.messages, {});
    return {};
  }
  if (!form_) return fail(form_.error().code, "/tools: {}", form_.error().text());
  form = *form_;
  GenerationOptions& generation = request.generation;
  generation.visible_ids = visible_ids(*form, *engine_->model().tokenizer);
  if (tools.choice == Tools::Choice::Required || tools.are_strict()) {
    const bool is_optional = tools.choice != Tools::Choice::Required;
    const auto known = [this](const Grammar::Source& source) {
      const Mutex::Guard guard(known_mutex_);
      return known_calls_.of(source);
    };
    LOOM_TRY(generation.grammar, call_grammar(*form, tools.callable(), !tools.is_parallel, is_optional, known));
    const Mutex::Guard guard(known_mutex_);
    generation.grammar = known_calls_.find(std::move(generation.grammar));
  }
  if (!is_own) return {};
  request.messages = messages_in_own_form(request.messages, tools.functions);
  tools.list = nullptr;
  return {};
}

Result<Prompt> Answers::prompt_of(ChatRequest& request, bool add_generation_prompt, bool add_special_tokens) const {
  Prompt given;
  given.ids = std::move(request.ids);
  if (!given.ids.empty()) return given;
  const LanguageModel& model = engine_->model();
  if (request.messages.is_null() && !add_special_tokens) {
    LOOM_TRY_VOID(
        model.tokenizer->encode(request.text, {.add_special_tokens = false}, given.ids).map([](const text::Encoded&) {
        }));
    return given;
  }
  PromptRequest wanted;
  wanted.context_tokens = engine_->context_tokens();
  if (request.messages.is_null()) {
    wanted.form = PromptForm::Raw, wanted.text = std::move(request.text);
  } else {
    // Messages come from strangers: what spells a control token in them is text.
    wanted.form = PromptForm::Chat, wanted.messages = request.messages, wanted.plain_text = true;
    wanted.variables = request.variables, wanted.chat_template = options_.chat_template;
    wanted.add_generation_prompt = add_generation_prompt;
    if (request.tools.are_offered()) wanted.tools = request.tools.list;
  }
  return make_prompt(model, std::move(wanted));
}

// A member that the template does not read is dropped, so one that has a meaning elsewhere is refused.
Result<void> Answers::check_messages(const Json& messages) const {
  constexpr std::string_view kRead[] = {"role", "content", "name", "tool_calls", "tool_call_id", "tool_name"};
  // Servers add them to answers, and clients send these back.
  constexpr std::string_view kHarmless[] = {"id",     "annotations",      "reasoning",     "reasoning_content",
                                            "parsed", "thinking",         "cache_control", "provider_specific_fields",
                                            "status", "reasoning_details"};
  for (std::size_t i = 0; i < messages.size(); ++i)
    for (const auto& [member, value] : messages[i].items()) {
      if (std::ranges::find(kRead, member) != std::end(kRead)) continue;
      if (std::ranges::find(kHarmless, member) != std::end(kHarmless)) continue;
      const auto is_in_template = [&](std::string_view before, std::string_view after) {
        return template_source_.find(fmt::format("{}{}{}", before, member, after)) != std::string::npos;
      };
      if (is_in_template(".", "") || is_in_template("'", "'") || is_in_template("\"", "\"")) continue;
      return fail(Code::UnknownKey,
                  "/messages/{}/{}: the chat template of this model reads no such member, expected {}", i,
                  printable(member), fmt::join(kRead, ", "));
    }
  return {};
}

// A variable that the template never reads would change nothing.
Result<void> Answers::check_variables(const ChatRequest& request) const {
  if (request.wants_thoughts && !thinks())
    return fail(Code::Unsupported, "/think: the chat template of this model writes no thoughts; expected false");
  for (const auto& [name, value] : request.variables.items())
    if (request.are_variables_checked && !has_variable(template_source_, name))
      return fail(Code::Unsupported, "/chat_template_kwargs/{}: the chat template of this model reads no such variable",
                  name);
  return {};
}

// A form of the answer leaves no room for thoughts.
void Answers::separate_thoughts(const Prompt& prompt, ChatRequest& request, Prepared& to) const {
  if (!thinks() || request.messages.is_null() || request.generation.grammar) return;
  to.thoughts.emplace(trimmed(prompt.text).ends_with(ThoughtReader::kOpen));
  const text::Tokenizer& tokenizer = *engine_->model().tokenizer;
  for (const std::string_view mark : {ThoughtReader::kOpen, ThoughtReader::kClose})
    if (const auto id = tokenizer.id_of(mark); id && tokenizer.is_special(*id))
      request.generation.visible_ids.push_back(*id);
}

Result<Prepared> Answers::prepare(ChatRequest request) const {
  LOOM_TRY_VOID(check_model(request.model));
  LOOM_TRY_VOID(limit(request));
  LOOM_TRY_VOID(check_variables(request));
  LOOM_TRY_VOID(check_messages(request.messages));
  Prepared out;
  LOOM_TRY_VOID(offer_tools(request, out.form));
  LOOM_TRY(Prompt prompt, prompt_of(request));
  separate_thoughts(prompt, request, out);
  if (request.most_context != 0) {
    if (prompt.ids.size() >= request.most_context)
      return fail(Code::ContextFull, "the prompt has {} tokens, num_ctx asks for a context of {}", prompt.ids.size(),
                  request.most_context);
    request.generation.max_tokens = std::min(request.generation.max_tokens, request.most_context - prompt.ids.size());
  }
  out.id_seed = id_seed_of(prompt.ids, request.generation);
  out.prompts.push_back({std::move(prompt.ids), std::move(prompt.described)});
  for (TextPrompt& more : request.more_prompts) {
    request.text = std::move(more.text), request.ids = std::move(more.ids);
    LOOM_TRY(Prompt next, prompt_of(request));
    out.prompts.push_back({std::move(next.ids), std::move(next.described)});
  }
  out.request = std::move(request);
  return out;
}

void Answers::attest(Request& request, const Receipt::Prompt& prompt, std::function<bool()> is_wanted) const {
  // The engine outlives its calls of on_end, and holds the request until then: a shared pointer would be a circle.
  request.on_end = [engine = engine_.get(), notary = notary_, options = request.options, prompt,
                    is_wanted = std::move(is_wanted), end = std::move(request.on_end)](Result<Answer> answer) {
    // One that ran out of time ends without a receipt: only a complete answer has one.
    if (!answer || answer->generation.stop_reason == StopReason::Cancelled) return end(std::move(answer));
    auto receipt = receipt_of(engine->model(), engine->session(), options, answer->generation, prompt);
    if (!receipt) return end(tl::make_unexpected(std::move(receipt).error()));
    const auto kept = std::make_shared<Answer>(*std::move(answer));
    notary->submit(*std::move(receipt), engine->session(), is_wanted, [kept, end](Result<Json> sealed) {
      if (!sealed) return end(tl::make_unexpected(std::move(sealed).error()));
      kept->receipt = std::make_shared<const Json>(*std::move(sealed));
      end(std::move(*kept));
    });
  };
}

Result<void> Answers::submit(const Prepared& prepared, const std::shared_ptr<AnswerReceiver>& receiver) const {
  const bool has_limit = options_.timeout.count() != 0;
  const Clock::time_point deadline = Clock::now() + options_.timeout;
  std::vector<Request> requests(prepared.num_choices());
  for (std::size_t choice = 0; choice < requests.size(); ++choice) {
    const Prepared::Reading& reading = prepared.prompts[choice / prepared.request.choices];
    GenerationOptions generation = prepared.request.generation;
    generation.sampling_session = static_cast<std::uint32_t>(choice % prepared.request.choices);
    requests[choice] = {
        .prompt = reading.ids,
        .options = std::move(generation),
        .on_text = [receiver, choice](std::string_view text) { return receiver->on_text(choice, text); },
        .is_wanted = [receiver, has_limit,
                      deadline] { return receiver->is_wanted() && !(has_limit && Clock::now() >= deadline); },
        .on_end =
            [receiver, choice, has_limit, deadline, timeout = options_.timeout](Result<Answer> answer) {
              // A request that waited for all of its time has no text to end with.
              if (!answer && answer.error().code == Code::Cancelled && has_limit && Clock::now() >= deadline)
                answer = fail(Code::Busy, "no answer has begun within {} ms; try again later", timeout.count());
              receiver->on_end(choice, std::move(answer));
            }};
    if (prepared.request.wants_receipt)
      attest(requests[choice], reading.described, [receiver] { return receiver->is_wanted(); });
  }
  return engine_->submit(std::move(requests));
}

}  // namespace loom::server
