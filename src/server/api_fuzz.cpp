// Any text as the body of a request of every kind: read, or an Error with the interface's object for it. The same text
// as an answer is searched for calls.

#include "core/json.h"
#include "server/call_reader.h"
#include "server/chat_request.h"
#include "server/errors.h"
#include "server/ollama.h"
#include "server/response_request.h"

namespace {

using namespace loom;

void check_error(const Error& error) {
  for (const server::ErrorStyle style : {server::ErrorStyle::OpenAi, server::ErrorStyle::Ollama}) {
    const HttpResponse response = server::error_response(error, style);
    LOOM_ASSERT(response.status >= 400 && response.status < 600);
    LOOM_ASSERT(find(parse_json(response.body).value(), "error") != nullptr);
  }
}

template <class T>
bool is_read(const Result<T>& read) {
  if (!read) check_error(read.error());
  return read.has_value();
}

void check_chat(const server::ChatRequest& chat) {
  LOOM_ASSERT(chat.messages.is_array() && chat.generation.max_tokens > 0);
  LOOM_ASSERT(chat.stream || !chat.include_usage);
  LOOM_ASSERT(chat.tools.list.is_null() == chat.tools.functions.empty());
}

// Every byte is text or in a call, however the text is cut. Where a text stands among the calls is not kept.
void search(std::string_view text, const server::CallForm& form) {
  std::string texts[2], calls[2];
  for (const std::size_t piece : {std::size_t{1}, text.size() + 1}) {
    server::CallReader reader(form, {"f", "get_weather"});
    const std::size_t way = piece == 1 ? 0 : 1;
    const auto add = [&](const server::CallReader::Found& part) {
      texts[way] += part.text;
      for (const server::ToolCall& call : part.calls) {
        LOOM_ASSERT(parse_json(call.arguments)->is_object());
        calls[way] += call.name + call.arguments + '\n';
      }
    };
    for (std::size_t at = 0; at < text.size(); at += piece) add(reader.push(text.substr(at, piece)));
    add(reader.finish());
  }
  LOOM_ASSERT(texts[0] == texts[1] && calls[0] == calls[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto text = server::read_completion_request(body); is_read(text)) {
    LOOM_ASSERT(text->messages.is_null() && (text->text.empty() || text->ids.empty()));
    LOOM_ASSERT(text->generation.max_tokens > 0 && text->generation.logprobs == 0);
  }
  if (const auto chat = server::read_chat_request(body); is_read(chat)) check_chat(*chat);
  if (const auto response = server::read_response_request(body); is_read(response)) check_chat(response->chat);
  if (const auto chat = server::read_ollama_chat(body); is_read(chat) && chat->done_reason.empty())
    check_chat(chat->chat);
  if (const auto text = server::read_ollama_generate(body); is_read(text))
    LOOM_ASSERT(text->chat.generation.max_tokens > 0);
  (void)is_read(server::read_fields<server::EmbeddingFields>(body));
  (void)is_read(server::read_fields<server::RerankFields>(body));
  (void)is_read(server::read_fields<server::TokenizeFields>(body));
  (void)is_read(server::read_fields<server::DetokenizeFields>(body));
  server::CallForm form{.kind = server::CallForm::Kind::Json, .open = "<tool_call>{\"name\": \""};
  form.middle = "\", \"arguments\": ", form.marker = "<tool_call>", form.ending = "</tool_call>";
  search(body, form);
  form.marker.clear(), form.ending.clear();
  search(body, form);
  form.kind = server::CallForm::Kind::Named, form.marker = "[CALL]", form.middle = "[ARGS]";
  search(body, form);
  return 0;
}
