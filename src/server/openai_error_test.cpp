#include "server/openai_error.h"

#include <gtest/gtest.h>

#include <string>

#include "core/json.h"

namespace loom::server_openai_error_test {
namespace {

TEST(OpenaiError, RequestsWithoutAHandlerGetTheErrorObjectBelowV1) {
  struct Expected {
    int status;
    std::string type, code;
  };
  const std::string request = "invalid_request_error";
  for (const Expected& e :
       {Expected{400, request, "invalid_request"}, Expected{401, request, "invalid_api_key"},
        Expected{403, request, "forbidden"}, Expected{408, request, "request_timeout"},
        Expected{413, request, "request_too_large"}, Expected{431, request, "header_too_large"},
        Expected{500, "server_error", "out_of_memory"}, Expected{503, "server_error", "overloaded"}}) {
    const HttpResponse response = server::path_error("/v1/x", e.status, "why");
    EXPECT_EQ(response.status, e.status);
    const Json expected{{"message", "why"}, {"type", e.type}, {"param", nullptr}, {"code", e.code}};
    EXPECT_EQ(parse_json(response.body).value(), (Json{{"error", expected}})) << e.status;
  }
  const Json unlisted = parse_json(server::path_error("/v1/x", 418, "why").body).value();
  EXPECT_EQ(unlisted["error"]["type"], request);
  EXPECT_TRUE(unlisted["error"]["code"].is_null());
}

TEST(OpenaiError, OtherPathsHaveTheErrorOfTheOtherServices) {
  for (const char* const path : {"/v1x", "/health", "/", ""})
    EXPECT_EQ(server::path_error(path, 413, "why").body, http_error(413, "why").body) << path;
}

TEST(OpenaiError, OllamasPathsHaveItsError) {
  EXPECT_EQ(server::path_error("/api/chat", 413, "large").body, "{\"error\":\"large\"}\n");
}

}  // namespace
}  // namespace loom::server_openai_error_test
