// loom page as a person starts it: a folder of files, a port, a model, a signal.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "../support/program.h"
#include "../support/small_model.h"
#include "core/json.h"

namespace loom::page_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::Program;

class PageCli : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"web/js/src/wasm", "web/wasm"}) std::filesystem::create_directories(folder_ / folder);
    test::write_all(web() + "/index.html", "<p>page</p>");
    test::write_all(web() + "/js/src/wasm/core.js", "export {}");
    test::write_all(web() + "/wasm/loom-lm.wasm", "none");
  }
  std::string web() const { return folder_ / "web"; }
  void expect_one_line(const Outcome& run, int status, const std::string& named) const {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_TRUE(run.err.starts_with("loom: ")) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(named), std::string::npos) << run.err;
  }

  const test::TempFolder folder_;
};

// A whole answer of the server at 127.0.0.1.
std::string fetch(int port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string text;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      ::send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t n; (n = ::recv(fd, part, sizeof part, 0)) > 0;) text.append(part, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return text;
}

std::string get(int port, const std::string& path) {
  return fetch(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

std::string post(int port, const std::string& path, const std::string& body, const std::string& headers = {}) {
  return fetch(port,
               fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{}",
                           path, headers, body.size(), body));
}

Json body_of(const std::string& answer) {
  const auto json = parse_json(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_TRUE(json) << answer;
  return json.value_or(Json::object());
}

int port_of(const std::string& output) { return std::atoi(output.c_str() + output.rfind(':') + 1); }

TEST_F(PageCli, ServesUntilASignalAndPrintsItsAddress) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Program program({test::loom_binary(), "page", "--port", "0", "--web", web()});
    program.start();
    ASSERT_TRUE(program.wait_for_text("/\n"));
    const int port = port_of(program.output());
    const std::string page = get(port, "/");
    EXPECT_TRUE(page.ends_with("<p>page</p>")) << page;
    EXPECT_NE(page.find("Cross-Origin-Embedder-Policy: require-corp"), std::string::npos) << page;
    EXPECT_TRUE(get(port, "/js/src/wasm/core.js").ends_with("export {}"));
    EXPECT_NE(get(port, "/wasm/loom-lm.wasm").find("application/wasm"), std::string::npos);
    EXPECT_EQ(body_of(get(port, "/native.json"))["model"], Json());
    EXPECT_TRUE(get(port, "/model/x").starts_with("HTTP/1.1 404 "));
    program.interrupt(signal);
    const Outcome run = program.finish();
    EXPECT_EQ(run.status, 0) << run.err;
  }
}

TEST_F(PageCli, AnswersWithTheHashOfGenerate) {
  ASSERT_TRUE(test::write_small_model(folder_ / "model.gguf"));
  Program program({test::loom_binary(), "page", folder_ / "model.gguf", "--port", "0", "--web", web(), "--json", "-q"});
  program.start();
  ASSERT_TRUE(program.wait_for_text("\n}\n"));
  const auto said = parse_json(program.output());
  ASSERT_TRUE(said) << program.output();
  EXPECT_EQ((*said)["model"]["name"], "model.gguf");
  std::string url = (*said)["url"];
  url.pop_back();
  const int port = port_of(url);
  const auto generated =
      parse_json(loom({"generate", folder_ / "model.gguf", "-p", "Hi", "--chat", "-n", "8", "--json"}).out);
  ASSERT_TRUE(generated);
  const std::string question = R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":8})";
  for (int i = 0; i < 2; ++i) {  // the second one begins with the tokens of the first
    const Json answer = body_of(post(port, "/native/answer", question));
    EXPECT_EQ(answer["hash"], (*generated)["hash"]) << dump_json(answer);
    EXPECT_EQ(answer["text"], (*generated)["text"]);
  }
  const std::string file = test::read_all(folder_ / "model.gguf");
  EXPECT_TRUE(get(port, "/model/model.gguf").ends_with(file.substr(file.size() - 64)));
  for (const char* bad : {"", "[]", "{}", R"({"messages":[{"role":"user"}],"tokens":3})",
                          R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":0})",
                          R"({"messages":[{"role":"user","content":"Hi"}],"temperature":-1})"}) {
    const std::string answer = post(port, "/native/answer", bad);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << bad << "\n" << answer;
  }
  EXPECT_TRUE(post(port, "/native/answer", question, "Origin: http://other.example\r\n").starts_with("HTTP/1.1 403 "));
  program.interrupt(SIGTERM);
  EXPECT_EQ(program.finish().status, 0);
}

TEST_F(PageCli, SaysInOneLineWhatIsMissing) {
  expect_one_line(loom({"page", "--web", folder_ / "none"}), 3, "index.html");
  std::filesystem::remove(web() + "/wasm/loom-lm.wasm");
  expect_one_line(loom({"page", "--web", web(), "--port", "0"}), 3, "loom-lm.wasm");
  test::write_all(web() + "/wasm/loom-lm.wasm", "none");
  expect_one_line(loom({"page", folder_ / "none.gguf", "--web", web(), "--port", "0"}), 3, "none.gguf");
  expect_one_line(loom({"page", folder_.path(), "--web", web(), "--port", "0"}), 2, "folder");
  expect_one_line(loom({"page", "--web", web(), "-t", "2"}), 2, "MODEL");
  Program first({test::loom_binary(), "page", "--port", "0", "--web", web()});
  first.start();
  ASSERT_TRUE(first.wait_for_text("/\n"));
  const std::string port = std::to_string(port_of(first.output()));
  expect_one_line(loom({"page", "--port", port, "--web", web()}), 3, port + ": the port is in use");
  first.interrupt(SIGTERM);
  first.finish();
}

}  // namespace
}  // namespace loom::page_cli_test
