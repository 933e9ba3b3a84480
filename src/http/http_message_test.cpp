#include <gtest/gtest.h>

#include "http/http_access.h"
#include "http/http_message.h"

namespace loom::http_message_test {
namespace {

TEST(HttpMessage, a_target_is_a_path_and_a_query) {  // F-71
  HttpRequest request;
  ASSERT_TRUE(split_target("/api/v1/compare%2etxt?bedrock=mha&x=a+b%21", request));
  EXPECT_EQ(request.path, "/api/v1/compare.txt");
  EXPECT_EQ(query_value(request.query, "bedrock"), "mha");
  EXPECT_EQ(query_value(request.query, "x"), "a b!");
  EXPECT_FALSE(query_value(request.query, "y"));
  for (const char* bad : {"", "x", "*", "http://a/b", "/%", "/%4", "/%zz", "/a%00b", "/%0d%0aX: y"}) {
    HttpRequest other;
    EXPECT_FALSE(split_target(bad, other)) << bad;
  }
}

TEST(HttpMessage, who_may_ask) {  // F-71
  for (const char* near : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) EXPECT_TRUE(is_loopback(near)) << near;
  for (const char* far : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example", "example.com", ""})
    EXPECT_FALSE(is_loopback(far)) << far;
  EXPECT_EQ(refusal({"", "localhost:9876", ""}, ""), 0);
  EXPECT_EQ(refusal({"", "[::1]:9876", ""}, ""), 0);
  EXPECT_EQ(refusal({"", "evil.example:9876", ""}, ""), 403);  // a name that resolves to this computer
  EXPECT_EQ(refusal({"", "", ""}, ""), 403);
  EXPECT_EQ(refusal({"", "localhost:9876", "http://localhost:9876"}, ""), 0);
  EXPECT_EQ(refusal({"", "localhost:9876", "https://evil.example"}, ""), 403);
  EXPECT_EQ(refusal({"", "localhost:9876", "null"}, ""), 403);
  EXPECT_EQ(refusal({"", "host", ""}, "secret"), 401);
  EXPECT_EQ(refusal({"Bearer secret", "host", ""}, "secret"), 0);
  EXPECT_EQ(refusal({"Bearer secre", "host", ""}, "secret"), 401);
  EXPECT_EQ(refusal({"Basic dTpzZWNyZXQ=", "host", ""}, "secret"), 0);    // u:secret
  EXPECT_EQ(refusal({"Basic dTpzZWNyZXg=", "host", ""}, "secret"), 401);  // u:secrex
  EXPECT_EQ(refusal({"Basic ???", "host", ""}, "secret"), 401);
}

}  // namespace
}  // namespace loom::http_message_test
