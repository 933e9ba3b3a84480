#include "server/openai_error.h"

#include "core/json.h"

namespace loom::server {

HttpResponse openai_error(int status, std::string_view type, std::string_view code, std::string_view message) {
  const Json code_json = code.empty() ? Json() : Json(code);
  const Json json{{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", code_json}}}};
  return {status, "application/json", dump_json(json) + "\n"};
}

HttpResponse path_error(std::string_view path, int status, std::string_view message) {
  if (path.starts_with("/api/")) return {status, "application/json", dump_json(Json{{"error", message}}) + "\n"};
  if (!path.starts_with("/v1/")) return http_error(status, message);
  struct Row {
    int status;
    std::string_view type, code;
  };
  constexpr std::string_view kRequest = "invalid_request_error", kServer = "server_error";
  constexpr Row kRows[] = {{400, kRequest, "invalid_request"},    {401, kRequest, "invalid_api_key"},
                           {403, kRequest, "forbidden"},          {404, kRequest, "not_found"},
                           {405, kRequest, "method_not_allowed"}, {408, kRequest, "request_timeout"},
                           {413, kRequest, "request_too_large"},  {431, kRequest, "header_too_large"},
                           {500, kServer, "out_of_memory"},       {503, kServer, "overloaded"}};
  for (const Row& row : kRows)
    if (row.status == status) return openai_error(status, row.type, row.code, message);
  return openai_error(status, status < 500 ? kRequest : kServer, {}, message);
}

}  // namespace loom::server
