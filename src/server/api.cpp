#include "server/api.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/json.h"
#include "server/embeddings.h"
#include "server/openapi.h"
#include "server/response_reply.h"
#include "server/response_request.h"
#include "server/tokens.h"

namespace loom::server {
namespace {

using Needs = Route::Needs;

constexpr std::string_view kModelPath = "/v1/models/{model}", kModelPrefix = "/v1/models/";

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpResponse json_response(const Json& json) { return {200, "application/json", dump_json(json) + "\n"}; }

ErrorStyle style_of(std::string_view path) {
  return path.starts_with("/api/") ? ErrorStyle::Ollama : ErrorStyle::OpenAi;
}

bool matches(const Route& route, std::string_view path) {
  return route.path == kModelPath ? path.starts_with(kModelPrefix) : route.path == path;
}

HttpResponse wrong_method(std::string_view path, std::string_view expected) {
  HttpResponse response =
      error_response(405, "method_not_allowed", fmt::format("this path takes {}", expected), style_of(path));
  response.headers.emplace_back("Allow", expected);
  return response;
}

// Cards with the facts that need no files.
std::vector<ModelCard> cards_of(const ApiModels& models) {
  std::vector<ModelCard> cards;
  if (models.engine) {
    const ModelConfig& config = models.engine->model().decoder->config;
    cards.push_back({.name = models.answers.name,
                     .format = "",
                     .family = config.architecture,
                     .types = "",
                     .context_tokens = models.engine->context_tokens(),
                     .answers = true});
  }
  if (models.embedder)
    cards.push_back({.name = models.embedder->name(),
                     .format = "safetensors",
                     .family = "bert",
                     .types = "",
                     .context_tokens = models.embedder->encoder().max_tokens(),
                     .embeds = true});
  return cards;
}

ApiModels with_cards(ApiModels models) {
  if (models.cards.empty()) models.cards = cards_of(models);
  return models;
}

}  // namespace

std::span<const Route> routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/v1/models", "The models that are served", Needs::Nothing, &Api::models},
      {"GET", kModelPath, "One of the models", Needs::Nothing, &Api::models},
      {"POST", "/v1/chat/completions", "Answers a conversation", Needs::Language, &Api::chat, table_of<ChatFields>},
      {"POST", "/v1/completions", "Continues a text", Needs::Language, &Api::completions, table_of<TextFields>},
      {"POST", "/v1/responses", "Answers a conversation in items", Needs::Language, &Api::responses,
       table_of<ResponseFields>},
      {"POST", "/v1/embeddings", "Vectors of texts", Needs::Encoder, &Api::embeddings, table_of<EmbeddingFields>},
      {"POST", "/v1/rerank", "Orders texts by their nearness to a question", Needs::Encoder, &Api::rerank,
       table_of<RerankFields>},
      {"POST", "/tokenize", "Ids of a text or of messages", Needs::Language, &Api::tokenize, table_of<TokenizeFields>},
      {"POST", "/detokenize", "The text of ids", Needs::Language, &Api::detokenize, table_of<DetokenizeFields>},
      {"GET", "/api/version", "The version of Loom", Needs::Nothing, &Api::version},
      {"GET", "/api/tags", "The models that are served, for clients of Ollama", Needs::Nothing, &Api::tags},
      {"GET", "/api/ps", "The models in memory: all that are served", Needs::Nothing, &Api::running},
      {"POST", "/api/show", "Facts of a model", Needs::Nothing, &Api::show, table_of<OllamaShowFields>},
      {"POST", "/api/chat", "Answers a conversation, as Ollama", Needs::Language, &Api::ollama_chat,
       table_of<OllamaChatFields>},
      {"POST", "/api/generate", "Answers a prompt, as Ollama", Needs::Language, &Api::ollama_generate,
       table_of<OllamaGenerateFields>},
      {"POST", "/api/embed", "Vectors of texts, as Ollama", Needs::Encoder, &Api::ollama_embed,
       table_of<OllamaEmbedFields>},
      {"POST", "/api/embeddings", "The vector of one text, as Ollama", Needs::Encoder, &Api::ollama_embedding,
       table_of<OllamaEmbeddingFields>},
      {"GET", "/health", "Whether the server runs, and how many requests are under way", Needs::Nothing, &Api::health},
      {"GET", "/metrics", "Counts in the text format of Prometheus", Needs::Nothing, &Api::metrics},
      {"GET", "/openapi.json", "This description", Needs::Nothing, &Api::openapi}};
  return kRoutes;
}

Api::Api(std::shared_ptr<Engine> engine, std::string name)
    : Api(ApiModels{.engine = std::move(engine), .answers = {.name = std::move(name)}}) {}

Api::Api(ApiModels models) : models_(with_cards(std::move(models))) {
  if (models_.engine) answers_.emplace(models_.engine, models_.answers);
}

HttpResponse Api::handle(const HttpRequest& request) {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  const ErrorStyle style = style_of(request.path);
  for (const Route& route : routes()) {
    if (!matches(route, request.path)) continue;
    if (route.method != method) return wrong_method(request.path, route.method);
    if (route.needs == Needs::Language && !answers_)
      return error_response(
          {Code::Unsupported, fmt::format("{}: a text encoder is served, which writes no text", route.path)}, style);
    if (route.needs == Needs::Encoder && !models_.embedder)
      return error_response(
          {Code::Unsupported,
           fmt::format("{}: no text encoder is served; loom serve takes the folder of one", route.path)},
          style);
    auto response = (this->*route.handler)(request);
    return response ? std::move(*response) : error_response(response.error(), style);
  }
  return error_response(404, "not_found",
                        fmt::format("{}: there is no such path; {} are served", request.path, served()), style);
}

std::string Api::served() const {
  std::string out;
  for (const Route& route : routes()) out += fmt::format("{}{}", out.empty() ? "" : ", ", route.path);
  return out;
}

Result<HttpResponse> Api::health(const HttpRequest&) {
  std::size_t requests = models_.engine ? models_.engine->under_way() : 0;
  if (models_.embedder) requests += models_.embedder->under_way();
  return json_response({{"status", "ok"}, {"requests", requests}});
}

// The text format of Prometheus, version 0.0.4.
Result<HttpResponse> Api::metrics(const HttpRequest&) {
  const EngineCounts counts = models_.engine ? models_.engine->counts() : EngineCounts();
  std::string text;
  const auto describe = [&text](std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  };
  describe("loom_requests_total", "counter", "Requests by their end.");
  const std::pair<std::string_view, std::uint64_t> ends[] = {{"answered", counts.answered},
                                                             {"cancelled", counts.cancelled},
                                                             {"failed", counts.failed},
                                                             {"refused", counts.refused}};
  for (const auto& [end, count] : ends) text += fmt::format("loom_requests_total{{end=\"{}\"}} {}\n", end, count);
  const auto add = [&](std::string_view name, std::string_view type, std::uint64_t value, std::string_view help) {
    describe(name, type, help);
    text += fmt::format("{} {}\n", name, value);
  };
  add("loom_prompt_tokens_total", "counter", counts.prompt_tokens, "Tokens of prompts of ended requests.");
  add("loom_cached_tokens_total", "counter", counts.cached_tokens, "Tokens of prompts that were not read again.");
  add("loom_generated_tokens_total", "counter", counts.written_tokens, "Generated tokens of ended requests.");
  add("loom_passes_total", "counter", counts.passes, "Forward passes on the CPU.");
  add("loom_rows_total", "counter", counts.rows, "Tokens in these passes.");
  add("loom_requests_running", "gauge", counts.running, "Requests that are answered now.");
  add("loom_requests_waiting", "gauge", counts.waiting, "Requests that wait now.");
  add("loom_cache_blocks", "gauge", counts.blocks, "Blocks of keys and values in memory, shared ones once.");
  add("loom_cache_blocks_running", "gauge", counts.blocks_running, "Blocks of the requests that are answered now.");
  add("loom_cache_blocks_limit", "gauge", counts.most_blocks, "Blocks that may be in memory.");
  add("loom_cache_stored_total", "counter", counts.stored, "Sequences that left memory for a file.");
  add("loom_cache_restored_total", "counter", counts.restored, "Sequences that came back from a file.");
  add("loom_cache_storage_errors_total", "counter", counts.storage_errors, "Files that were not written or read.");
  add("loom_cache_stored_bytes", "gauge", counts.stored_bytes, "Bytes of these files.");
  return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
}

Result<HttpResponse> Api::models(const HttpRequest& request) {
  Json list = Json::array();
  for (const ModelCard& card : models_.cards) {
    list.push_back({{"id", card.name},
                    {"object", "model"},
                    {"created", card.modified},
                    {"owned_by", "loom"},
                    {"context_length", card.context_tokens}});
    if (request.path == fmt::format("{}{}", kModelPrefix, card.name)) return json_response(list.back());
  }
  if (!request.path.starts_with(kModelPrefix)) return json_response({{"object", "list"}, {"data", std::move(list)}});
  std::string names;
  for (const ModelCard& card : models_.cards) names += (names.empty() ? "" : ", ") + card.name;
  return fail(Code::NotFound, "there is no such model; {} is served", names);
}

Result<HttpResponse> Api::openapi(const HttpRequest&) { return json_response(openapi_json()); }

ChatNames Api::names_of_answer() {
  const std::int64_t created = seconds_since_1970();
  return {fmt::format("{}-{}", created, ++count_), models_.answers.name, created};
}

Result<HttpResponse> Api::answer(ChatRequest chat) {
  LOOM_TRY(const Prepared prepared, answers_->prepare(std::move(chat)));
  const auto later = std::make_shared<HttpReply>();
  ChatNames names = names_of_answer();
  names.id = fmt::format("{}-{}", prepared.request.messages.is_null() ? "cmpl" : "chatcmpl", names.id);
  LOOM_TRY_VOID(answers_->submit(
      prepared, std::make_shared<ChatReply>(later, models_.engine->model().tokenizer, std::move(names), prepared)));
  HttpResponse response;
  response.later = later;
  return response;
}

Result<HttpResponse> Api::chat(const HttpRequest& request) {
  LOOM_TRY(ChatRequest read, read_chat_request(request.body));
  return answer(std::move(read));
}

Result<HttpResponse> Api::completions(const HttpRequest& request) {
  LOOM_TRY(ChatRequest read, read_completion_request(request.body));
  return answer(std::move(read));
}

Result<HttpResponse> Api::responses(const HttpRequest& request) {
  LOOM_TRY(ResponseRequest read, read_response_request(request.body));
  const auto made = answers_->prepare(std::move(read.chat));
  if (!made) return tl::make_unexpected(placed_in_input(made.error(), read.places));
  const Prepared& prepared = *made;
  const auto later = std::make_shared<HttpReply>();
  LOOM_TRY_VOID(
      answers_->submit(prepared, std::make_shared<ResponseReply>(later, models_.engine->model().tokenizer,
                                                                 names_of_answer(), prepared, std::move(read.echo))));
  HttpResponse response;
  response.later = later;
  return response;
}

Result<HttpResponse> Api::embeddings(const HttpRequest& request) {
  return server::embeddings(*models_.embedder, request.body);
}
Result<HttpResponse> Api::rerank(const HttpRequest& request) { return server::rerank(*models_.embedder, request.body); }
Result<HttpResponse> Api::ollama_embed(const HttpRequest& request) {
  return server::ollama_embed(*models_.embedder, request.body);
}
Result<HttpResponse> Api::ollama_embedding(const HttpRequest& request) {
  return server::ollama_embedding(*models_.embedder, request.body);
}

Result<HttpResponse> Api::tokenize(const HttpRequest& request) {
  return server::tokenize(*answers_, request.body).map(json_response);
}
Result<HttpResponse> Api::detokenize(const HttpRequest& request) {
  return server::detokenize(*answers_, request.body).map(json_response);
}

Result<HttpResponse> Api::version(const HttpRequest&) { return json_response(ollama_version()); }
Result<HttpResponse> Api::tags(const HttpRequest&) { return json_response(ollama_tags(models_.cards)); }
Result<HttpResponse> Api::running(const HttpRequest&) { return json_response(ollama_ps(models_.cards)); }
Result<HttpResponse> Api::show(const HttpRequest& request) {
  return ollama_show(models_.cards, answers_ ? &*answers_ : nullptr, request.body).map(json_response);
}
Result<HttpResponse> Api::ollama_chat(const HttpRequest& request) {
  return server::ollama_chat(*answers_, request.body);
}
Result<HttpResponse> Api::ollama_generate(const HttpRequest& request) {
  return server::ollama_generate(*answers_, request.body);
}

}  // namespace loom::server
