// stream: makes networks of the weights that a program of another framework holds in memory. bridge serve: does so over
// HTTP, with comparisons.

#include <algorithm>

#include "bridge/bridge_service.h"
#include "bridge/stream.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/serving.h"
#include "core/file.h"
#include "core/json.h"

namespace loom::cli {
namespace {

constexpr std::size_t kMostRequest = std::size_t{1} << 30;  // bytes of JSON

struct StreamFlags {
  CommonOptions common;
  StreamOptions stream;
  std::string page;
  bool overwrite = false, no_certificate = false;
};

Result<StreamResult> answer(StreamFlags& o) {
  LOOM_TRY(const std::string text, read_stream(kInput, "standard input", kMostRequest));
  auto request = parse_json(text, {.max_bytes = kMostRequest});
  if (!request) return at("standard input", std::move(request).error());
  o.stream.threads = o.common.threads, o.stream.max_bytes = static_cast<std::size_t>(o.common.max_memory);
  o.stream.certify = !o.no_certificate, o.stream.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(o.stream.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY(StreamResult result, stream_envelope(*request, o.stream));
  if (o.page.empty()) return result;
  if (!result.certificate)
    return fail(Code::InvalidArgument, "--page: there is no certificate without a run and its checks");
  const std::string page = certificate_page(to_json(*result.certificate));
  LOOM_TRY_VOID(write_file_atomically(o.page, std::as_bytes(std::span(page))));
  return result;
}

// A client reads one JSON object from standard output, whatever happens.
Result<int> run_stream(StreamFlags& o) {
  if (!o.page.empty()) LOOM_TRY_VOID(check_output(o.page, OutputKind::html, o.overwrite));
  if (!o.stream.output.empty()) LOOM_TRY_VOID(check_output(o.stream.output, OutputKind::network, o.overwrite));
  watch_interrupts();
  auto result = answer(o);
  print_json(result ? to_json(*result) : stream_error(result.error()));
  if (!result) return tl::make_unexpected(std::move(result).error());
  remark(o.common, fmt::format("{} {} of {}: {} layers, {} bytes of weights -> {}", result->bedrock, result->model_id,
                               result->planet, result->layer_count, result->weight_bytes, result->entity_path));
  return kOk;
}

struct ServeFlags {
  std::string action;
  CommonOptions common;
  BridgeServiceOptions service;
  HttpServerOptions server;
};

// Runs until a signal ends it: an error of a request goes to its client, an error of the arguments ends the program.
Result<int> run_server(ServeFlags& o) {
  o.service.threads = o.common.threads, o.service.max_bytes = static_cast<std::size_t>(o.common.max_memory);
  o.service.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(o.service.isa, isa_from_name(o.common.isa));
  }
  watch_interrupts();
  LOOM_TRY(const BridgeService service, BridgeService::create(o.service));
  LOOM_TRY(const auto server, HttpServer::listen(o.server, [&](const HttpRequest& r) { return service.handle(r); }));
  return serve_until_stopped(*server, o.common, url_of(*server, o.server) + "/", {});
}

CLI::Validator token_text() {
  return CLI::Validator(
      [](std::string& text) {
        constexpr std::size_t kLeast = 16, kMost = 256;
        const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
        const bool good = text.size() >= kLeast && text.size() <= kMost && plain;
        return good ? std::string() : "a token has 16 to 256 visible characters of ASCII without ':'";
      },
      "");
}

}  // namespace

Run bridge_command(CLI::App& app) {
  auto o = std::make_shared<ServeFlags>();
  constexpr std::uint16_t kPort = 9876;  // planetbridging's
  o->server.port = kPort;
  app.footer(
      "loom bridge serve takes streams and reports of other frameworks over HTTP and shows how outputs compare, until "
      "Ctrl-C. docs/reference/bridge.md lists the requests");
  app.add_option("ACTION", o->action, "serve")->required()->check(CLI::IsMember({"serve"}));
  add_common(app, o->common, false);
  add_max_memory(app, o->common);
  app.add_option("--bind", o->server.address, "Address; one that other computers reach needs --token")
      ->check(not_empty())
      ->capture_default_str();
  app.add_option("--port", o->server.port, "Port; 0 takes one that is free and prints it")
      ->capture_default_str()
      ->check(port_number());
  app.add_option("--token", o->server.token, "Requests must have the header Authorization: Bearer TOKEN")
      ->check(token_text())
      ->envname("LOOM_BRIDGE_TOKEN");
  add_path(app, "--models", o->service.models, "Folder for the .entity files of streams")->capture_default_str();
  add_path(app, "--fixtures", o->service.fixtures, "Folder of fixture files, for streams without inputs");
  add_path(app, "--reports", o->service.reports, "Folder of reports, read when the server starts")
      ->capture_default_str();
  return [o] { return finish(run_server(*o)); };
}

Run stream_command(CLI::App& app) {
  auto o = std::make_shared<StreamFlags>();
  app.footer(
      "Reads one JSON object from standard input, {\"payload\": {\"layers\": [..]}, \"inputs\", ..}, makes a network "
      "of "
      "the layers and their weights, writes it as .entity, runs it and prints one JSON object: outputs, differences, a "
      "certificate. docs/reference/bridge.md describes the payload");
  add_common(app, o->common, false);
  add_max_memory(app, o->common);
  add_path(app, "--models", o->stream.models, "Folder for MODELS/PLANET/MODEL/MODEL.stream.entity")
      ->capture_default_str();
  add_path(app, "--fixtures", o->stream.fixtures, "Folder of fixture files, for requests without inputs");
  add_path(app, "-o,--output", o->stream.output, "The .entity to write; a request's output_path comes first");
  add_path(app, "--page", o->page, "Writes the certificate as a page");
  app.add_flag("--no-certificate", o->no_certificate, "Leaves out float64, layers and the run of the written file");
  add_overwrite(app, o->overwrite);
  return [o] { return finish(run_stream(*o)); };
}

}  // namespace loom::cli
