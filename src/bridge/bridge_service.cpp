#include "bridge/bridge_service.h"

#include <algorithm>

#include "core/json.h"

namespace loom {
namespace {

constexpr std::size_t kMaxStreamBytes = std::size_t{64} << 20, kMaxReportBytes = std::size_t{32} << 20;
constexpr std::string_view kStream = "/api/v1/loom/stream", kImport = "/api/v1/loom/import",
                           kCompare = "/api/v1/compare";

HttpResponse json_response(const Json& json, int status = 200) {
  return {status, "application/json", dump_json(json) + "\n"};
}
HttpResponse text_response(std::string_view type, std::string text) {
  return {200, fmt::format("{}; charset=utf-8", type), std::move(text)};
}

// A bad payload is the client's fault; a fixture or a folder that is not there is ours.
int status_of(const Error& error) {
  switch (error.code) {
    case Code::NotFound:
    case Code::IoError:
    case Code::DiskFull:
    case Code::InvalidState: return 500;
    case Code::OutOfMemory: return 507;
    case Code::LimitExceeded: return 413;
    case Code::Cancelled: return 503;
    default: return 400;
  }
}
HttpResponse error_response(const Error& error) { return json_response(stream_error(error), status_of(error)); }

bool is_tab(std::string_view name) {
  const auto tabs = bedrock_tabs();
  return std::ranges::find(tabs, name) != tabs.end();
}

// Returns the rest of a path after `base` ("/api/v1/loom/stream") and a slash; nothing for another path.
std::optional<std::string_view> rest_after(std::string_view path, std::string_view base) {
  if (path == base) return std::string_view();
  if (path.starts_with(base) && path[base.size()] == '/') return path.substr(base.size() + 1);
  return std::nullopt;
}

constexpr std::string_view kGetPaths[] = {"/",
                                          "/health",
                                          "/PROGRESS.md",
                                          "/certificate",
                                          "/api/v1/certificate",
                                          "/api/v1/reports",
                                          "/api/v1/compare.txt",
                                          "/api/v1/loom/catalog"};

}  // namespace

Result<BridgeService> BridgeService::create(const BridgeServiceOptions& options) {
  LOOM_TRY(auto store, ReportStore::open(options.reports));
  return BridgeService(options, std::move(store));
}

HttpResponse BridgeService::handle(const HttpRequest& request) const {
  if (request.method == "GET") return get(request);
  if (request.method == "POST") return post(request);
  return http_error(405, "GET and POST are served");
}

HttpResponse BridgeService::get(const HttpRequest& request) const {
  const std::string& path = request.path;
  const std::string tab = query_value(request.query, "tab").value_or("");
  if (path == "/") return text_response("text/html", comparison_page(*store_, tab));
  if (path == "/health") return json_response({{"status", "ok"}});
  if (path == "/PROGRESS.md") return text_response("text/markdown", progress_text(*store_));
  if (path == "/certificate") return certificate(request, true);
  if (path == "/api/v1/certificate") return certificate(request, false);
  if (path == "/api/v1/reports") return all_reports();
  if (path == "/api/v1/loom/catalog") return catalog();
  const std::string bedrock = query_value(request.query, "bedrock").value_or("dense");
  if (path == "/api/v1/compare.txt")
    return is_tab(bedrock) ? text_response("text/plain", comparison_text(*store_, bedrock))
                           : http_error(404, "unknown layer kind");
  if (const auto kind = rest_after(path, kCompare)) {
    const std::string_view kind_name = kind->empty() ? std::string_view("dense") : *kind;
    return is_tab(kind_name) ? json_response(comparison_json(*store_, kind_name))
                             : http_error(404, "unknown layer kind");
  }
  if (path == "/api/v1/report" || rest_after(path, kStream) || rest_after(path, kImport))
    return http_error(405, "this path takes POST");
  return http_error(404, "unknown path");
}

HttpResponse BridgeService::post(const HttpRequest& request) const {
  if (request.path == "/api/v1/report") return report(request);
  for (const std::string_view base : {kStream, kImport})
    if (const auto kind = rest_after(request.path, base)) {
      if (!kind->empty() && *kind != "chain" && !is_tab(*kind)) return http_error(404, "there is no such stream");
      return stream(request, *kind);
    }
  const bool known =
      std::ranges::find(kGetPaths, request.path) != std::end(kGetPaths) || rest_after(request.path, kCompare);
  return known ? http_error(405, "this path takes GET") : http_error(404, "unknown path");
}

HttpResponse BridgeService::stream(const HttpRequest& request, std::string_view kind) const {
  auto payload = parse_json(request.body, {.max_bytes = kMaxStreamBytes});
  if (!payload) return error_response(payload.error());
  if (!payload->is_object()) return http_error(400, "expected a payload: an object with layers");
  if (!kind.empty()) {
    const Json* given = find(*payload, "bedrock");
    if (given != nullptr && !given->is_null() && *given != kind)
      return http_error(400, "the `bedrock` of the payload differs from that of the path");
    if (kind != "network") (*payload)["bedrock"] = kind;
  }
  StreamOptions options;
  options.models = options_.models, options.fixtures = options_.fixtures, options.threads = options_.threads;
  options.isa = options_.isa, options.max_bytes = options_.max_bytes, options.cancel = options_.cancel;
  const auto bedrock = payload_bedrock(*payload);
  if (!bedrock) return error_response(bedrock.error());
  const auto id = [&](const char* key) {
    const Json* given = find(*payload, key);
    const std::string* text = given == nullptr ? nullptr : as_string(*given);
    return safe_file_name(text == nullptr ? std::string() : *text, key).value_or("");
  };
  const ReportPtr native = store_->native(*bedrock, id("planet"), id("model_id"));
  if (native != nullptr) options.native = &native->outputs;
  const auto result = stream_payload(*payload, options);
  if (!result) return error_response(result.error());
  keep(*result, *payload);
  return json_response(to_json(*result));
}

// The stream's outputs are a report too, so that comparisons show them.
void BridgeService::keep(const StreamResult& result, const Json& payload) const {
  Json report = to_json(result);
  Json certificate = report.contains("certificate") ? report["certificate"] : Json();
  for (const char* key :
       {"certificate", "status", "message", "entity_path", "max_abs_diff", "mean_abs_diff", "exact_match"})
    report.erase(key);
  report["planet"] = result.planet, report["model_id"] = result.model_id;
  report["stage"] = "loom", report["format"] = "entity", report["engine"] = "loom";
  report["artifact_paths"] = Json::array({result.entity_path});
  if (const Json* version = find(payload, "fixture_version")) report["fixture_version"] = *version;
  // A store that is full keeps no more of them; the stream itself has succeeded.
  if (store_->add(std::move(report)) && !certificate.is_null())
    store_->keep_certificate(result.bedrock, result.planet, result.model_id, std::move(certificate));
}

HttpResponse BridgeService::report(const HttpRequest& request) const {
  auto json = parse_json(request.body, {.max_bytes = kMaxReportBytes});
  if (!json) return error_response(json.error());
  const auto saved = store_->add(std::move(*json));
  if (!saved) return error_response(saved.error());
  return json_response({{"saved", *saved}}, 201);
}

HttpResponse BridgeService::all_reports() const {
  std::string text = "[";
  for (const ReportPtr& report : store_->reports()) text += (text.size() > 1 ? ",\n" : "") + report->text;
  return {200, "application/json", text + "]\n"};
}

HttpResponse BridgeService::certificate(const HttpRequest& request, bool as_page) const {
  const auto value = [&](const char* key) { return query_value(request.query, key).value_or(""); };
  const auto found = store_->certificate(value("bedrock"), value("planet"), value("model"));
  if (found == nullptr)
    return http_error(404, "there is no certificate for these values of `bedrock`, `planet` and `model`");
  return as_page ? text_response("text/html", certificate_page(*found)) : json_response(*found);
}

HttpResponse BridgeService::catalog() const {
  Json models = Json::array(), streams = Json::array();
  for (const std::string_view tab : bedrock_tabs()) streams.push_back(fmt::format("{}/{}", kStream, tab));
  for (const ReportPtr& report : store_->reports())
    if (report->stage == "loom")
      models.push_back({{"bedrock", report->bedrock}, {"planet", report->planet}, {"model_id", report->model_id}});
  return json_response(
      {{"fixture", options_.fixtures}, {"streams", std::move(streams)}, {"models", std::move(models)}});
}

}  // namespace loom
