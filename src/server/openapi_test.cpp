// The description of the paths says what requests are read by.

#include "server/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "support/api_fixture.h"

namespace loom::server_openapi_test {
namespace {

using server::Api;
using server::Route;

Json schema_of(const Json& paths, const Route& route) {
  return paths[std::string(route.path)]["post"]["requestBody"]["content"]["application/json"]["schema"];
}

class OpenApi : public test::ApiFixture {};

TEST_F(OpenApi, IsServedAndListsEveryPath) {
  Api api(engine(), "small");
  const Json served = read(api.handle({"GET", "/openapi.json", "", ""}));
  EXPECT_EQ(served, server::openapi_json());
  EXPECT_EQ(served["openapi"], "3.1.0");
  std::size_t operations = 0;
  for (const auto& [path, item] : served["paths"].items()) operations += item.size();
  EXPECT_EQ(operations, server::routes().size());
}

// Every member that is described is read: with a value that no member takes, the error names the member as wrong, not
// as unknown; a member that is not described is unknown.
TEST_F(OpenApi, MembersAreThoseThatAreRead) {
  Api api(engine(), "small");
  const Json paths = server::openapi_json()["paths"];
  for (const Route& route : server::routes()) {
    if (route.body == nullptr || route.needs == Route::Needs::Encoder) continue;
    const Json schema = schema_of(paths, route);
    ASSERT_TRUE(schema["properties"].size() > 1) << route.path;
    Json body = Json::object();
    for (const Json& member : schema["required"]) body[*as_string(member)] = "x";
    if (route.path.starts_with("/api/")) body["model"] = "small";
    std::set<std::string> described;
    for (const auto& [member, property] : schema["properties"].items()) {
      described.insert(member);
      Json wrong = body;
      wrong[member] = Json{{"no", "value"}};
      const HttpResponse response = post(api, std::string(route.path), wrong);
      EXPECT_EQ(response.body.find(fmt::format("/{}: unknown key", member)), std::string::npos)
          << route.path << " " << member << response.body;
    }
    for (const char* member : {"messages", "prompt", "tools", "temperature", "n", "options", "surprise"}) {
      if (described.contains(member)) continue;
      Json more = body;
      more[member] = 1;
      const HttpResponse response = post(api, std::string(route.path), more);
      EXPECT_EQ(response.status, 400) << route.path << " " << member;
      EXPECT_NE(response.body.find(member), std::string::npos) << route.path << " " << member << response.body;
    }
  }
}

// No member is described as anything.
TEST_F(OpenApi, EveryMemberHasASchema) {
  const Json paths = server::openapi_json()["paths"];
  for (const Route& route : server::routes()) {
    if (route.body == nullptr) continue;
    const Json schema = schema_of(paths, route);
    for (const auto& [member, property] : schema["properties"].items())
      EXPECT_FALSE(property.empty()) << route.path << " " << member;
  }
}

}  // namespace
}  // namespace loom::server_openapi_test
