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

TEST(HttpMessage, PagesOfAllowedSitesMayAsk) {
  const std::vector<std::string> allowed = {"https://app.example"};
  const HttpAccess near{"", "localhost:1", "https://app.example", "cross-site"};
  EXPECT_EQ(refusal(near, ""), 403);
  EXPECT_EQ(refusal(near, "", allowed), 0);
  EXPECT_EQ(refusal(near, "secret", allowed), 401);
  EXPECT_EQ(refusal({"", "localhost:1", "https://app.example.evil"}, "", allowed), 403);
  EXPECT_EQ(refusal({"", "localhost:1", "http://app.example"}, "", allowed), 403);
  EXPECT_EQ(refusal({"", "evil.example", "https://app.example"}, "", allowed), 403);  // the host counts in any case
  EXPECT_EQ(refusal({"", "localhost:1", "", "cross-site"}, "", allowed), 403);
  EXPECT_TRUE(is_allowed_origin("null", std::vector<std::string>{"*"}));
  EXPECT_FALSE(is_allowed_origin("", std::vector<std::string>{"*"}));
  for (const char* good : {"*", "https://a", "http://a:80", "http://[::1]:80"}) EXPECT_TRUE(is_origin(good)) << good;
  for (const char* bad : {"", "a", "https://", "://a", "https://a/", "https://a, b", "https://a\r\nX: y"})
    EXPECT_FALSE(is_origin(bad)) << bad;
}

}  // namespace
}  // namespace loom::http_message_test
