// serve: answers requests of OpenAI's and Ollama's HTTP interfaces, with the bits of `loom generate` and `loom embed`.

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/serving.h"
#include "core/file.h"
#include "core/json.h"
#include "core/path.h"
#include "host/prompt.h"
#include "http/http_access.h"
#include "http/http_server.h"
#include "server/api.h"
#include "server/model_card.h"
#include "server/openai_error.h"

namespace loom::cli {
namespace {

struct ServerFlags {
  CommonOptions common;
  std::string model, name, encoder, chat_template, key_file;
  HttpServerOptions http;
  server::EngineOptions engine;
  server::AnswerOptions answers;
  double timeout = 0;                            // seconds
  std::vector<const CLI::Option*> of_answers{};  // options with a value by themselves that only answers read
};

// The name by which clients ask for a model: that of the file, without its end.
std::string name_of(const std::string& model) {
  std::filesystem::path path = loom::path_of(model);
  if (!path.has_filename()) path = path.parent_path();  // a folder with a slash at its end
  const std::string extension = text_of(path.extension());
  return extension == ".gguf" || extension == ".entity" ? text_of(path.stem()) : text_of(path.filename());
}

Result<std::unique_ptr<Session>> open_for_requests(const LanguageModel& model, const ServerFlags& o) {
  CommonOptions options = o.common;
  const std::size_t sequences = server::Engine::sequences_for(o.engine.parallel);
  const std::size_t rows = o.engine.batch_tokens + o.engine.parallel;
  constexpr std::size_t kRowsOnCard = 512;  // of a prompt that is read alone
  if (options.device != "cpu") {
    LOOM_TRY(auto session, open_session(model, options, sequences, std::max(kRowsOnCard, rows)));
    if (session->device() != nullptr) return session;
    options.device = "cpu";  // "auto" chose it
  }
  return open_session(model, options, sequences, rows);
}

Result<void> read_key(ServerFlags& o) {
  if (o.key_file.empty()) return {};
  constexpr std::size_t kLongestKey = 4096;
  LOOM_TRY(std::string text, read_text_file(o.key_file, kLongestKey));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.empty() || text.find_first_of("\r\n") != text.npos)
    return fail(Code::InvalidArgument, "{}: expected one line with the key", o.key_file);
  o.http.token = std::move(text);
  return {};
}

Result<void> add_language_model(ServerFlags& o, server::ApiModels& to) {
  LOOM_TRY(LanguageModel model, open_model(o.model, o.common));
  if (!o.chat_template.empty()) {
    auto chosen = chosen_template(model, o.chat_template, TemplateSetting::FileOrName);
    if (!chosen) return at("--chat-template", std::move(chosen).error());
    o.answers.chat_template = *std::move(chosen);
  }
  LOOM_TRY(auto session, open_for_requests(model, o));
  // A request that finds too little memory reports it; memory may suffice for the requests that come.
  if (auto ready = server::Engine::prepare(*session, o.engine); !ready && ready.error().code != Code::OutOfMemory)
    return tl::make_unexpected(std::move(ready).error());
  LOOM_TRY(auto engine, server::Engine::start(std::move(model), std::move(session), o.engine));
  to.engine = std::move(engine);
  o.answers.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(o.timeout * 1000));
  to.answers = o.answers;
  const server::Answers answers(to.engine, to.answers);
  to.cards.push_back(server::card_of(to.engine->model(), o.model, to.answers.name, to.engine->context_tokens(),
                                     answers.form().has_value()));
  return {};
}

Result<void> add_encoder(ServerFlags& o, const std::string& folder, const std::string& name, server::ApiModels& to) {
  EncoderOptions options;
  LOOM_TRY(options.session, session_options(o.common));
  if (!o.common.dtype.empty()) {
    LOOM_TRY(options.dtype, network_dtype_from_name(o.common.dtype));
  }
  LOOM_TRY(TextEncoder encoder, TextEncoder::load(folder, options));
  to.cards.push_back(server::card_of(encoder, folder, name));
  to.embedder = std::make_shared<server::Embedder>(std::move(encoder), name, o.engine.most_waiting);
  return {};
}

// Refuses options that only an answer reads.
Result<void> check_encoder_flags(const ServerFlags& o) {
  const CommonOptions standard;
  const std::pair<bool, std::string_view> flags[] = {{!o.encoder.empty(), "--encoder"},
                                                     {!o.chat_template.empty(), "--chat-template"},
                                                     {o.engine.cache_tokens != 0, "--cache-tokens"},
                                                     {!o.engine.cache_folder.empty(), "--cache-folder"},
                                                     {o.answers.most_tokens != 0, "--max-tokens"},
                                                     {o.timeout != 0, "--timeout"},
                                                     {o.common.context != 0, "--ctx"},
                                                     {!o.common.adapters.empty(), "--adapter"},
                                                     {!o.common.use_adapters.empty(), "--use-adapters"},
                                                     {o.common.kv_dtype != standard.kv_dtype, "--kv-dtype"},
                                                     {o.common.activations != standard.activations, "--activations"}};
  const auto refused = [](std::string_view flag) {
    return fail(Code::InvalidArgument, "{}: has no effect on a text encoder, which writes no text", flag);
  };
  for (const auto& [is_given, flag] : flags)
    if (is_given) return refused(flag);
  for (const CLI::Option* option : o.of_answers)
    if (option->count() > 0) return refused(option->get_name());
  return {};
}

// An error that names none of the files is one of the model.
Result<void> named(const std::string& model, const std::vector<std::string>& files, Result<void> added) {
  const auto is_in_error = [&](const std::string& file) {
    return !file.empty() && added.error().text().find(file) != std::string::npos;
  };
  if (added || std::ranges::any_of(files, is_in_error)) return added;
  return naming({model}, std::move(added).map([] { return 0; })).map([](int) {});
}

// Loads what is served.
Result<void> add_models(ServerFlags& o, const std::string& name, server::ApiModels& to) {
  if (server::is_encoder(o.model)) return named(o.model, {}, add_encoder(o, o.model, name, to));
  LOOM_TRY_VOID(named(o.model, {o.chat_template, o.engine.cache_folder}, add_language_model(o, to)));
  return o.encoder.empty() ? Result<void>() : named(o.encoder, {}, add_encoder(o, o.encoder, name_of(o.encoder), to));
}

// Before the model is loaded, by the names of the flags.
Result<void> check_access(const ServerFlags& o) {
  if (!o.http.token.empty()) return {};
  if (!is_loopback(without_brackets(o.http.address)))
    return fail(Code::InvalidArgument,
                "--host {}: other computers reach this address: expected --api-key or --api-key-file, or 127.0.0.1",
                o.http.address);
  if (std::ranges::find(o.http.origins, "*") != o.http.origins.end())
    return fail(Code::InvalidArgument,
                "--cors-origin *: pages of every site may ask: expected --api-key or --api-key-file beside it");
  return {};
}

Result<int> run_serve(ServerFlags& o) {
  watch_interrupts();
  LOOM_TRY_VOID(read_key(o));
  LOOM_TRY_VOID(check_access(o));
  if (server::is_encoder(o.model)) LOOM_TRY_VOID(check_encoder_flags(o));
  const std::string name = o.name.empty() ? name_of(o.model) : o.name;
  o.answers.name = name;
  server::ApiModels models;
  LOOM_TRY_VOID(add_models(o, name, models));
  const std::size_t context = models.cards[0].context_tokens;
  server::Api api(std::move(models));
  o.http.format_error = server::path_error;
  // One for every request that may run or wait, and some that are refused or ask for the models.
  constexpr std::size_t kMostConnections = 1024, kOthers = 32;
  o.http.max_connections =
      std::min(kMostConnections, std::min(o.engine.most_waiting, kMostConnections) + o.engine.parallel + kOthers);
  LOOM_TRY(const auto server,
           HttpServer::listen(o.http, [&](const HttpRequest& request) { return api.handle(request); }));
  const std::string url = url_of(*server, o.http) + "/v1";
  const Json json{{"url", url}, {"model", name}, {"context_tokens", context}};
  return serve_until_stopped(*server, o.common, url, json, name);
}

}  // namespace

Run serve_command(CLI::App& app) {
  auto o = std::make_shared<ServerFlags>();
  constexpr std::uint16_t kPort = 18931;
  o->http.port = kPort;
  o->http.max_body = std::size_t{16} << 20;
  app.footer(
      "loom serve answers requests of OpenAI's and Ollama's HTTP interfaces, several at once, until Ctrl-C:\n"
      "  /v1/models, /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /v1/rerank\n"
      "  /api/chat, /api/generate, /api/embed, /api/tags, /api/show, /tokenize, /detokenize, /health, /metrics\n"
      "GET /openapi.json describes them. An answer does not depend on other requests: its hash is that of loom "
      "generate");
  add_path(app, "MODEL", o->model,
           "GGUF file, Hugging Face folder or .entity of a language model, or the folder of a text encoder")
      ->required();
  add_path(app, "--encoder", o->encoder, "Folder of a text encoder that is served too, for embeddings");
  add_path(app, "--chat-template", o->chat_template,
           "In place of the model's own: a file, or a name as loom generate --chat-template takes it")
      ->type_name("FILE|NAME");
  app.add_option("--port", o->http.port, "Port; 0 takes one that is free and prints it")
      ->capture_default_str()
      ->check(port_number());
  app.add_option("--host", o->http.address, "Address to listen on; one that other computers reach needs --api-key")
      ->capture_default_str()
      ->check(not_empty());
  auto* const key =
      app.add_option("--api-key", o->http.token, "Key that requests must bring as Authorization: Bearer KEY")
          ->envname("LOOM_API_KEY")
          ->check(not_empty());
  add_path(app, "--api-key-file", o->key_file,
           "File with the key in one line; other users see --api-key in lists of processes")
      ->excludes(key);
  app.add_option("--cors-origin", o->http.origins,
                 "Site whose pages may ask, as https://app.example; may be repeated; * for all needs a key")
      ->check(not_empty());
  app.add_option("--name", o->name, "Name by which clients ask for the model (default: that of its file)")
      ->check(not_empty());
  app.add_option("--max-waiting", o->engine.most_waiting, "Requests that may wait; more get status 429")
      ->capture_default_str()
      ->check(whole_number(1));
  o->of_answers.push_back(app.add_option("--parallel", o->engine.parallel, "Requests that are answered at once")
                              ->capture_default_str()
                              ->check(CLI::Range(1, 256)));
  o->of_answers.push_back(app.add_option("--batch-tokens", o->engine.batch_tokens,
                                         "Tokens of prompts in one pass, beside one of each answer")
                              ->capture_default_str()
                              ->check(CLI::Range(1, 4096)));
  app.add_option("--cache-tokens", o->engine.cache_tokens,
                 "Tokens of keys and values in memory, of answers and of finished requests; at least the context "
                 "(default: the context times --parallel)")
      ->check(whole_number(1));
  auto* const folder = app.add_option("--cache-folder", o->engine.cache_folder,
                                      "Folder for keys and values that leave memory, and come back with the same bits "
                                      "(default: they are computed again)")
                           ->check(not_empty());
  app.add_option("--cache-folder-size", o->engine.cache_folder_bytes, "Bytes in it at most, as 4G")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4G")
      ->needs(folder);
  app.add_option("--max-body", o->http.max_body, "Bytes of a request; a larger one gets status 413")
      ->capture_default_str()
      ->check(whole_number(1));
  app.add_option("--max-tokens", o->answers.most_tokens,
                 "Tokens of an answer; a request that asks for more is refused (default: the context's end)")
      ->check(whole_number(1));
  app.add_option(
         "--timeout", o->timeout,
         "Seconds that an answer may take, waiting included; then it ends as if it had no tokens left (default: none)")
      ->check(number_within(0.001, 1e6));
  app.add_flag("--json", o->common.json, "Print the address and the model as one JSON object");
  add_common(app, o->common, true);
  return [o] { return finish(run_serve(*o)); };
}

}  // namespace loom::cli
