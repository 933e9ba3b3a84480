// serve: answers requests of OpenAI's HTTP interface, with the bits of `loom generate`.

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/serving.h"
#include "core/json.h"
#include "http/http_server.h"
#include "server/api.h"
#include "server/openai_error.h"

namespace loom::cli {
namespace {

struct ServerFlags {
  CommonOptions common;
  std::string model, name;
  HttpServerOptions http;
  server::EngineOptions engine;
};

// The name by which clients ask for the model: that of the file, without its end.
std::string model_name(const ServerFlags& o) {
  if (!o.name.empty()) return o.name;
  std::filesystem::path path(o.model);
  if (!path.has_filename()) path = path.parent_path();  // a folder with a slash at its end
  const std::string extension = path.extension().string();
  return extension == ".gguf" || extension == ".entity" ? path.stem().string() : path.filename().string();
}

// A graphics card answers one request at a time: its session has one sequence, and passes of its own size.
Result<std::unique_ptr<Session>> open_for_requests(const LanguageModel& model, const ServerFlags& o) {
  CommonOptions options = o.common;
  if (options.device != "cpu") {
    LOOM_TRY(auto session, open_session(model, options));
    if (session->device() != nullptr) return session;
    options.device = "cpu";  // "auto" chose it
  }
  return open_session(model, options, server::Engine::sequences_for(o.engine.parallel),
                      o.engine.batch_tokens + o.engine.parallel);
}

Result<int> run_serve(ServerFlags& o) {
  watch_interrupts();
  LOOM_TRY(LanguageModel model, open_model(o.model, o.common));
  LOOM_TRY(auto session, open_for_requests(model, o));
  LOOM_TRY(auto engine, server::Engine::start(std::move(model), std::move(session), o.engine));
  const std::string name = model_name(o);
  const std::shared_ptr<server::Engine> shared(std::move(engine));
  server::Api api(shared, name);
  o.http.max_body = std::size_t{16} << 20;
  o.http.format_error = server::path_error;
  // One for every request that may run or wait, and some that are refused or ask for the models.
  constexpr std::size_t kMostConnections = 1024, kOthers = 32;
  o.http.max_connections =
      std::min(kMostConnections, std::min(o.engine.most_waiting, kMostConnections) + o.engine.parallel + kOthers);
  LOOM_TRY(const auto server,
           HttpServer::listen(o.http, [&](const HttpRequest& request) { return api.handle(request); }));
  const std::string url = url_of(*server, o.http) + "/v1";
  const Json json{{"url", url}, {"model", name}, {"context_tokens", shared->context_tokens()}};
  return serve_until_stopped(*server, o.common, url, json, name);
}

}  // namespace

Run serve_command(CLI::App& app) {
  auto o = std::make_shared<ServerFlags>();
  constexpr std::uint16_t kPort = 18931;
  o->http.port = kPort;
  app.footer(
      "loom serve answers requests of OpenAI's HTTP interface, several at once, until Ctrl-C:\n"
      "  GET /v1/models, POST /v1/chat/completions and /v1/completions (whole or streamed), GET /health, GET /metrics\n"
      "An answer does not depend on other requests: its hash is that of loom generate");
  add_path(app, "MODEL", o->model, "GGUF file, Hugging Face folder or .entity of a language model")->required();
  app.add_option("--port", o->http.port, "Port; 0 takes one that is free and prints it")->capture_default_str();
  app.add_option("--host", o->http.address, "Address to listen on; one that other computers reach needs --api-key")
      ->capture_default_str()
      ->check(not_empty());
  app.add_option("--api-key", o->http.token, "Key that requests must bring as Authorization: Bearer KEY")
      ->envname("LOOM_API_KEY")
      ->check(not_empty());
  app.add_option("--name", o->name, "Name by which clients ask for the model (default: that of its file)")
      ->check(not_empty());
  app.add_option("--max-waiting", o->engine.most_waiting, "Requests that may wait; more get status 429")
      ->capture_default_str()
      ->check(whole_number(1));
  app.add_option("--parallel", o->engine.parallel, "Requests that are answered at once; on a graphics card 1")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--batch-tokens", o->engine.batch_tokens, "Tokens of prompts in one pass, beside one of each answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
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
  app.add_flag("--json", o->common.json, "Print the address and the model as one JSON object");
  add_common(app, o->common, true);
  return [o] { return finish(naming({o->model}, run_serve(*o))); };
}

}  // namespace loom::cli
