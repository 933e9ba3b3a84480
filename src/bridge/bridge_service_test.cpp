#include "bridge/bridge_service.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "support/files.h"

namespace loom::bridge_service_test {
namespace {

struct Bridge {
  test::TempFolder folder;
  Result<BridgeService> service = BridgeService::create(
      {.models = folder / "models", .fixtures = folder / "fixtures", .reports = folder / "reports"});

  HttpResponse get(const std::string& path, const std::string& query = {}) const {
    return service->handle({"GET", path, query, {}});
  }
  HttpResponse post(const std::string& path, const std::string& body) const {
    return service->handle({"POST", path, {}, body});
  }
};

constexpr const char* kReport =
    R"({"bedrock":"dense","planet":"pytorch","model_id":"m","stage":"native","format":"pt","outputs":[[5.0],[11.0]]})";
constexpr const char* kPayload = R"({"planet":"pytorch","model_id":"m","inputs":[[1,2],[3,4]],)"
                                 R"("layers":[{"input_dim":2,"output_dim":1,"weights":[1,2]}]})";

TEST(BridgeService, a_stream_is_compared_with_its_report) {  // F-70
  const Bridge bridge;
  ASSERT_TRUE(bridge.service) << bridge.service.error().text();
  EXPECT_EQ(bridge.get("/health").body, "{\"status\":\"ok\"}\n");
  EXPECT_EQ(bridge.post("/api/v1/report", kReport).status, 201);
  for (const char* path : {"/api/v1/loom/stream", "/api/v1/loom/stream/dense", "/api/v1/loom/import"}) {
    const HttpResponse response = bridge.post(path, kPayload);
    EXPECT_EQ(response.status, 200) << response.body;
    const Json json = *parse_json(response.body);
    EXPECT_EQ(json["exact_match"], true);
    EXPECT_EQ(json["sample_count"], 2);
    EXPECT_TRUE(is_file(json["entity_path"].get<std::string>()));
  }
  const Json compare = *parse_json(bridge.get("/api/v1/compare").body);
  EXPECT_EQ(compare["report_count"], 2);
  EXPECT_EQ(compare["models"][0]["pipelines"][0]["compare"][0]["exact_match"], true);
  EXPECT_EQ(parse_json(bridge.get("/api/v1/reports").body)->size(), 2u);
  EXPECT_NE(bridge.get("/api/v1/compare.txt", "bedrock=dense").body.find("EXACT"), std::string::npos);
  EXPECT_NE(bridge.get("/PROGRESS.md").body.find("| dense | 1 | 1 |"), std::string::npos);
  EXPECT_NE(bridge.get("/", "tab=dense").body.find("class=\"EXACT\""), std::string::npos);
  EXPECT_EQ(bridge.get("/certificate", "bedrock=dense&planet=pytorch&model=m").status, 200);
  // Another server finds the reports that were written.
  const auto again = BridgeService::create({.reports = bridge.folder / "reports"});
  EXPECT_EQ(parse_json(again->handle({"GET", "/api/v1/reports", {}, {}}).body)->size(), 2u);
}

TEST(BridgeService, the_page_has_a_tab_for_every_bedrock_and_nothing_from_elsewhere) {  // F-70
  const Bridge bridge;
  const std::string page = bridge.get("/", "tab=%3Cscript%3E").body;
  for (const char* tab : {"dense", "cnn1", "cnn2", "cnn3", "mha", "lstm", "rnn", "layernorm", "embedding", "rmsnorm",
                          "swiglu", "residual", "mixer", "gru", "network"})
    EXPECT_NE(page.find(fmt::format("<section id=\"p-{}\"", tab)), std::string::npos) << tab;
  for (const char* foreign : {"<script", "src=", "@import", "url(", "//"})
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
}

TEST(BridgeService, bad_requests_get_a_status) {  // F-70
  const Bridge bridge;
  const auto status = [&](const std::string& path, const std::string& body) { return bridge.post(path, body).status; };
  EXPECT_EQ(status("/api/v1/loom/stream", ""), 400);
  EXPECT_EQ(status("/api/v1/loom/stream", "[]"), 400);
  EXPECT_EQ(status("/api/v1/loom/stream", "{\"layers\":[]}"), 400);
  EXPECT_EQ(status("/api/v1/loom/stream/mha", R"({"bedrock":"dense","layers":[{}]})"), 400);
  EXPECT_EQ(status("/api/v1/loom/stream/nothing", kPayload), 404);
  EXPECT_EQ(status("/api/v1/loom/streams", kPayload), 404);
  EXPECT_EQ(status("/health", ""), 405);
  EXPECT_EQ(status("/api/v1/report", R"({"planet":"x","outputs":[]})"), 400);
  EXPECT_EQ(status("/api/v1/report", R"({"planet":"../x","model_id":"m"})"), 400);
  EXPECT_EQ(status("/api/v1/report", R"({"planet":"x","model_id":"m","stage":"../../y"})"), 400);
  EXPECT_EQ(bridge.get("/api/v1/loom/stream").status, 405);
  EXPECT_EQ(bridge.get("/api/v1/compare/../../etc").status, 404);
  EXPECT_EQ(bridge.get("/models/../secret").status, 404);
  EXPECT_EQ(bridge.service->handle({"PUT", "/", {}, {}}).status, 405);
  // A payload of weights alone is the sender's fault, a fixture that does not exist one of the server.
  EXPECT_EQ(status("/api/v1/loom/stream/dense", R"({"layers":[{"input_dim":1,"output_dim":1,"weights":[1]}]})"), 400);
  EXPECT_EQ(status("/api/v1/loom/stream",
                   R"({"fixture_version":"f","layers":[{"input_dim":1,"output_dim":1,"weights":[1]}]})"),
            500);
  // Members that only `loom stream` may give have no effect in a request.
  std::string elsewhere = kPayload;
  elsewhere.insert(1, fmt::format("\"output_path\":\"{}\",", bridge.folder / "elsewhere.entity"));
  EXPECT_EQ(status("/api/v1/loom/stream", elsewhere), 200);
  EXPECT_FALSE(is_file(bridge.folder / "elsewhere.entity"));
}

TEST(BridgeService, text_from_outside_is_no_markup) {  // F-70
  const Bridge bridge;
  EXPECT_EQ(bridge.post("/api/v1/report", R"({"planet":"<b>","model_id":"m"})").status, 400);
  EXPECT_EQ(bridge.get("/", "tab=\"><script>").body.find("<script"), std::string::npos);
  const HttpResponse missing = bridge.get("/certificate", "bedrock=<script>&planet=x&model=y");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.content_type, "application/json");
}

}  // namespace
}  // namespace loom::bridge_service_test
