// Files over HTTP without a network: paths, ranges, methods and the headers of a site.

#include "http/static_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "http/http_server.h"

namespace loom::static_site_test {
namespace {

class StaticSite : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("site{}", ::getpid());
    write("web/index.html", "<p>page</p>");
    write("web/.secret", "hidden");
    write("js/a.js", "export {}");
    write("secret.txt", "outside");
    write("model.bin", "0123456789");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string ask(const std::string& line, const std::string& headers = {}) const {
    const std::vector<SiteFolder> folders = {{"/js/", path("js")}, {"/model", path("model.bin")}, {"/", path("web")}};
    return http_answers(line + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n", {},
                        [&](const HttpRequest& r) { return with_site_headers(site_response(folders, r)); });
  }
  static std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  std::filesystem::path folder_;
};

#define SKIP_WITHOUT_SERVER() \
  if (ask("GET /").empty()) GTEST_SKIP() << "this build has no server"

TEST_F(StaticSite, ServesFilesOfEveryFolderWithTheirTypes) {
  SKIP_WITHOUT_SERVER();
  EXPECT_EQ(body(ask("GET /")), "<p>page</p>");
  EXPECT_NE(ask("GET /").find("Content-Type: text/html; charset=utf-8"), std::string::npos);
  EXPECT_EQ(body(ask("GET /js/a.js")), "export {}");
  EXPECT_NE(ask("GET /js/a.js").find("Content-Type: text/javascript"), std::string::npos);
}

TEST_F(StaticSite, SendsTheHeadersOfIsolationAndOnePolicy) {
  SKIP_WITHOUT_SERVER();
  const std::string answer = ask("GET /");
  EXPECT_NE(answer.find("Cross-Origin-Opener-Policy: same-origin\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Cross-Origin-Embedder-Policy: require-corp\r\n"), std::string::npos);
  EXPECT_NE(answer.find("script-src 'self' 'wasm-unsafe-eval';"), std::string::npos);
  EXPECT_EQ(answer.find("unsafe-inline"), std::string::npos);  // the server's own policy is replaced
  EXPECT_EQ(answer.find("no-store"), std::string::npos);
}

TEST_F(StaticSite, LeavesNoFolder) {
  SKIP_WITHOUT_SERVER();
  for (const char* bad :
       {"/../secret.txt", "/%2e%2e/secret.txt", "/js/../../secret.txt", "/.secret", "/js", "/nothing", "/model/x"})
    EXPECT_TRUE(ask(std::string("GET ") + bad).starts_with("HTTP/1.1 404 ")) << bad << "\n"
                                                                             << ask(std::string("GET ") + bad);
}

TEST_F(StaticSite, SendsRangesOfBytes) {
  SKIP_WITHOUT_SERVER();
  struct Case {
    const char *range, *status, *content_range, *body;
  };
  for (const Case& c :
       {Case{"bytes=0-3", "206", "bytes 0-3/10", "0123"}, Case{"bytes=8-", "206", "bytes 8-9/10", "89"},
        Case{"bytes=-2", "206", "bytes 8-9/10", "89"}, Case{"bytes=-99", "206", "bytes 0-9/10", "0123456789"},
        Case{"bytes=5-99", "206", "bytes 5-9/10", "56789"}}) {
    const std::string answer = ask("GET /model", fmt::format("Range: {}\r\n", c.range));
    EXPECT_TRUE(answer.starts_with(fmt::format("HTTP/1.1 {} ", c.status))) << c.range << answer;
    EXPECT_NE(answer.find(fmt::format("Content-Range: {}\r\n", c.content_range)), std::string::npos) << c.range;
    EXPECT_EQ(body(answer), c.body) << c.range;
  }
  for (const char* outside : {"bytes=10-", "bytes=10-12", "bytes=-0", "bytes=18446744073709551615-"})
    EXPECT_TRUE(ask("GET /model", fmt::format("Range: {}\r\n", outside)).starts_with("HTTP/1.1 416 ")) << outside;
  for (const char* whole :
       {"bytes=3-1", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=-", "bytes=99999999999999999999-"})
    EXPECT_EQ(body(ask("GET /model", fmt::format("Range: {}\r\n", whole))), "0123456789") << whole;
}

TEST_F(StaticSite, SendsNothingToABrowserThatHasTheFile) {
  SKIP_WITHOUT_SERVER();
  const std::string first = ask("GET /js/a.js");
  const std::size_t begin = first.find("ETag: ");
  ASSERT_NE(begin, std::string::npos) << first;
  const std::string etag = first.substr(begin + 6, first.find("\r\n", begin) - begin - 6);
  const std::string again = ask("GET /js/a.js", fmt::format("If-None-Match: {}\r\n", etag));
  EXPECT_TRUE(again.starts_with("HTTP/1.1 304 ")) << again;
  EXPECT_EQ(body(again), "");
  EXPECT_EQ(again.find("Content-Length"), std::string::npos) << again;
  write("js/a.js", "export const changed = true");
  EXPECT_TRUE(ask("GET /js/a.js", fmt::format("If-None-Match: {}\r\n", etag)).starts_with("HTTP/1.1 200 "));
}

TEST_F(StaticSite, SendsTheHeaderAloneForHead) {
  SKIP_WITHOUT_SERVER();
  const std::string answer = ask("HEAD /model");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_NE(answer.find("Content-Length: 10\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Accept-Ranges: bytes\r\n"), std::string::npos) << answer;
  EXPECT_EQ(body(answer), "");
  EXPECT_TRUE(ask("POST /model", "Content-Length: 0\r\n").starts_with("HTTP/1.1 405 "));
}

}  // namespace
}  // namespace loom::static_site_test
