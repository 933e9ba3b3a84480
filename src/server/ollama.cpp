#include "server/ollama.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/config_reader.h"
#include "core/sha256.h"
#include "host/prompt.h"
#include "server/chat_reply.h"
#include "server/errors.h"

namespace loom::server {
namespace {

using Clock = std::chrono::steady_clock;

std::string with_tag(const std::string& name) { return name.find(':') == name.npos ? name + ":latest" : name; }

// "2026-11-29T11:15:00Z" of seconds since 1970.
std::string time_text(std::int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::string now_text() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return time_text(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

// "135M", "7.2B".
std::string short_count(std::uint64_t count) {
  constexpr double kMillion = 1e6, kBillion = 1e9;
  const auto number = static_cast<double>(count);
  if (number >= kBillion) return fmt::format("{:.1f}B", number / kBillion);
  return number >= kMillion ? fmt::format("{:.0f}M", number / kMillion) : fmt::format("{}", count);
}

Json details_of(const ModelCard& card) {
  return Json{{"parent_model", ""},
              {"format", card.format},
              {"family", card.family},
              {"families", Json::array({card.family})},
              {"parameter_size", short_count(card.parameters)},
              {"quantization_level", card.types}};
}

Json entry_of(const ModelCard& card) {
  return Json{{"name", with_tag(card.name)},
              {"model", with_tag(card.name)},
              {"modified_at", time_text(card.modified)},
              {"size", card.bytes},
              {"digest", ""},
              {"details", details_of(card)}};
}

// Lines of JSON, or one object.
class OllamaReply final : public AnswerReceiver {
 public:
  OllamaReply(std::shared_ptr<HttpReply> to, std::string model, const Prepared& prepared, bool is_chat)
      : to_(std::move(to)),
        model_(std::move(model)),
        is_chat_(is_chat),
        streams_(prepared.request.stream),
        thinking_(prepared.thoughts),
        reader_(prepared.reader()) {}

  bool on_text(std::size_t, std::string_view text) override {
    if (!first_) first_ = Clock::now();
    if (!streams_ || has_failed_) return is_wanted();
    read(text, false);
    return is_wanted();
  }
  bool is_wanted() const override { return !has_failed_ && to_->is_open(); }
  void on_end(std::size_t, Result<Answer> answer) override {
    if (!answer) return fail_with(answer.error());
    read(streams_ ? std::string_view() : std::string_view(answer->generation.text), true);
    Json last = streams_ ? object({}, Json::array(), {}) : object(text_, calls_, thoughts_);
    last["done"] = true;
    last["done_reason"] = std::string_view(finish_reason(answer->generation.stop_reason, false));
    const auto end = Clock::now(), middle = first_.value_or(end);
    const auto nanoseconds = [](Clock::duration d) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    };
    last["total_duration"] = nanoseconds(end - begin_), last["load_duration"] = 0;
    last["prompt_eval_count"] = answer->generation.prompt_ids.size();
    last["prompt_eval_duration"] = nanoseconds(middle - begin_);
    last["eval_count"] = answer->generation.ids.size(), last["eval_duration"] = nanoseconds(end - middle);
    last["loom"] = Json{{"hash", to_hex(answer->generation.hash)}};
    if (!streams_) return to_->send({}, dump_json(last) + "\n");
    line(last);
    to_->finish();
  }

 private:
  Json object(std::string_view text, const Json& calls, std::string_view thoughts) const {
    Json json{{"model", model_}, {"created_at", now_text()}};
    if (!is_chat_) {
      json["response"] = text;
    } else {
      json["message"] = Json{{"role", "assistant"}, {"content", text}};
      if (!calls.empty()) json["message"]["tool_calls"] = calls;
    }
    if (!thoughts.empty()) (is_chat_ ? json["message"] : json)["thinking"] = thoughts;
    json["done"] = false;
    return json;
  }
  // Passes a piece of the answer, or the whole one, on to thoughts, text and calls. `is_last`: nothing comes after it.
  void read(std::string_view text, bool is_last) {
    std::string rest(text);
    if (thinking_) {
      ThoughtReader::Found found = thinking_->push(text);
      if (is_last) {
        const ThoughtReader::Found end = thinking_->finish();
        found.thoughts += end.thoughts, found.text += end.text;
      }
      thoughts_ += found.thoughts;
      if (streams_ && !found.thoughts.empty()) line(object({}, Json::array(), found.thoughts));
      rest = std::move(found.text);
    }
    take(reader_ ? reader_->push(rest) : CallReader::Found{std::move(rest), {}});
    if (reader_ && is_last) take(reader_->finish());
  }
  void line(const Json& json) {
    if (!std::exchange(has_begun_, true)) to_->begin({200, "application/x-ndjson"});
    to_->write(dump_json(json) + "\n");
  }
  void take(const CallReader::Found& found) {
    text_ += found.text;
    Json calls = Json::array();
    for (const ToolCall& call : found.calls) {
      const auto arguments = parse_json(call.arguments);
      calls.push_back({{"function", {{"name", call.name}, {"arguments", arguments ? *arguments : Json::object()}}}});
      calls_.push_back(calls.back());
    }
    if (streams_ && (!found.text.empty() || !calls.empty())) line(object(found.text, calls, {}));
  }
  void fail_with(const Error& error) {
    if (std::exchange(has_failed_, true)) return;
    const HttpResponse response = error_response(error, ErrorStyle::Ollama);
    if (!has_begun_) return to_->send({response.status, response.content_type}, response.body);
    to_->write(response.body);
    to_->finish();
  }

  const std::shared_ptr<HttpReply> to_;
  const std::string model_;
  const bool is_chat_, streams_;
  std::optional<ThoughtReader> thinking_;
  std::optional<CallReader> reader_;
  std::string thoughts_, text_;
  Json calls_ = Json::array();
  const Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> first_;
  bool has_begun_ = false, has_failed_ = false;
};

// The answer to a request that asks for no text.
HttpResponse answer_at_once(const OllamaRequest& request, bool is_chat) {
  Json json{{"model", request.chat.model}, {"created_at", now_text()}};
  if (is_chat)
    json["message"] = Json{{"role", "assistant"}, {"content", ""}};
  else
    json["response"] = "";
  json["done"] = true, json["done_reason"] = request.done_reason;
  return {200, request.chat.stream ? "application/x-ndjson" : "application/json", dump_json(json) + "\n"};
}

Result<HttpResponse> answer(const Answers& answers, OllamaRequest request, bool is_chat) {
  LOOM_TRY_VOID(answers.check_model(request.chat.model));
  if (!request.done_reason.empty()) return answer_at_once(request, is_chat);
  const std::string model = request.chat.model;
  LOOM_TRY(const Prepared prepared, answers.prepare(std::move(request.chat)));
  const auto later = std::make_shared<HttpReply>();
  LOOM_TRY_VOID(answers.submit(prepared, std::make_shared<OllamaReply>(later, model, prepared, is_chat)));
  HttpResponse response;
  response.later = later;
  return response;
}

}  // namespace

Json ollama_version() { return Json{{"version", LOOM_VERSION}}; }

Json ollama_tags(std::span<const ModelCard> cards) {
  Json models = Json::array();
  for (const ModelCard& card : cards) models.push_back(entry_of(card));
  return Json{{"models", std::move(models)}};
}

Json ollama_ps(std::span<const ModelCard> cards) {
  Json models = Json::array();
  for (const ModelCard& card : cards) {
    Json entry = entry_of(card);
    entry.erase("modified_at");
    entry["expires_at"] = "9999-12-31T23:59:59Z";  // the model stays
    entry["size_vram"] = 0, entry["context_length"] = card.context_tokens;
    models.push_back(std::move(entry));
  }
  return Json{{"models", std::move(models)}};
}

Result<Json> ollama_show(std::span<const ModelCard> cards, const Answers* answers, std::string_view body) {
  LOOM_TRY(const OllamaShowFields fields, read_fields<OllamaShowFields>(body));
  const auto card = std::ranges::find_if(
      cards, [&](const ModelCard& each) { return fields.model == each.name || fields.model == with_tag(each.name); });
  if (card == cards.end()) return fail(Code::NotFound, "/model: {} is not served", shown(fields.model));
  Json capabilities = Json::array();
  if (card->answers) capabilities.push_back("completion");
  if (card->has_tools) capabilities.push_back("tools");
  if (card->answers && answers != nullptr && answers->thinks()) capabilities.push_back("thinking");
  if (card->embeds) capabilities.push_back("embedding");
  std::string source;
  if (card->answers && answers != nullptr) {
    PromptRequest request;
    request.chat_template = answers->options().chat_template;
    if (request.chat_template || choose_template(answers->engine().model(), request))
      source = request.chat_template->source();
  }
  return Json{{"modelfile", ""},
              {"parameters", ""},
              {"template", source},
              {"modified_at", time_text(card->modified)},
              {"details", details_of(*card)},
              {"model_info",
               {{"general.architecture", card->family},
                {"general.parameter_count", card->parameters},
                {card->family + ".context_length", card->context_tokens}}},
              {"capabilities", std::move(capabilities)}};
}

Result<HttpResponse> ollama_chat(const Answers& answers, std::string_view body) {
  LOOM_TRY(OllamaRequest request, read_ollama_chat(body));
  return answer(answers, std::move(request), true);
}

Result<HttpResponse> ollama_generate(const Answers& answers, std::string_view body) {
  LOOM_TRY(OllamaRequest request, read_ollama_generate(body));
  return answer(answers, std::move(request), false);
}

}  // namespace loom::server
