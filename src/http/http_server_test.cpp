// A server on a real port, asked by hand: clients that send too much, too slowly, in pieces, all at once or nonsense.

#include "http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "http/http_access.h"

namespace loom::http_server_test {
namespace {

using namespace std::chrono_literals;

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    signal(SIGPIPE, SIG_IGN);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(port), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), 0);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return connected_;
  }
  void close_sending() { ::shutdown(fd_, SHUT_WR); }
  // Until `end` stands in what came, the other side closes or 20 seconds are over.
  std::string read_until(std::string_view end = {}) {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (end.empty() || text.find(end) == std::string::npos) {
      pollfd waiting{fd_, POLLIN, 0};
      if (std::chrono::steady_clock::now() > deadline) return text + "[late]";
      if (::poll(&waiting, 1, 100) <= 0) continue;
      char part[4096];
      const ssize_t n = ::recv(fd_, part, sizeof part, 0);
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  int fd_;
  bool connected_ = false;
};

constexpr std::string_view kHost = "Host: localhost\r\n";

std::string request(std::string_view line, std::string_view headers = {}, std::string_view body = {}) {
  std::string text = fmt::format("{} HTTP/1.1\r\n{}{}", line, kHost, headers);
  if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
  return text + "\r\n" + std::string(body);
}

class Server : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    auto server = HttpServer::listen(options, [this](const HttpRequest& r) { return answer(r); });
    ASSERT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run(stop_)); });
  }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void TearDown() override { stop(); }

  HttpResponse answer(const HttpRequest& r) {
    if (r.path == "/slow") std::this_thread::sleep_for(300ms);
    if (r.path == "/stream") {
      HttpResponse response;
      response.later = stream_;
      return response;
    }
    return {200, "text/plain", fmt::format("<{} {} {} {}>", r.method, r.path, r.query, r.body.size())};
  }
  std::string ask(std::string_view text) {
    Client client(server_->port());
    client.send(text);
    return client.read_until();
  }
  std::string ask_closing(std::string_view line, std::string_view headers = {}, std::string_view body = {}) {
    return ask(request(line, fmt::format("Connection: close\r\n{}", headers), body));
  }

  std::shared_ptr<HttpReply> stream_ = std::make_shared<HttpReply>();  // of GET /stream
  std::atomic<bool> stop_ = false;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(Server, answers) {  // F-71
  start();
  const std::string text = ask_closing("GET /a%20b?c=d");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_NE(text.find("<GET /a b c=d 0>"), std::string::npos) << text;
  EXPECT_NE(text.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  EXPECT_NE(ask_closing("POST /x", "", std::string(1000, 'x')).find("<POST /x  1000>"), std::string::npos);
}

TEST_F(Server, requests_behind_each_other_are_answered_in_order) {  // F-71
  start();
  const std::string text = ask(request("GET /1") + request("POST /2", "", "abc") + request("GET /slow") +
                               request("GET /4", "Connection: close\r\n"));
  const std::size_t one = text.find("<GET /1"), two = text.find("<POST /2  3>"), three = text.find("<GET /slow"),
                    four = text.find("<GET /4");
  EXPECT_TRUE(one < two && two < three && three < four && four != text.npos) << text;
}

TEST_F(Server, chunks_in_pieces_are_one_body) {  // F-71
  start();
  Client client(server_->port());
  for (const std::string_view part : {"POST /chunks HTTP/1.1\r\nHost: loc", "alhost\r\nTransfer-Encoding: chunked\r\n",
                                      "Connection: close\r\n\r\n5\r\nab", "cde\r\n3;x=y\r\nfgh\r\n0\r", "\n\r\n"}) {
    ASSERT_TRUE(client.send(part));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_NE(client.read_until().find("<POST /chunks  8>"), std::string::npos);
}

TEST_F(Server, a_client_may_ask_before_it_sends) {  // F-71
  start();
  Client client(server_->port());
  client.send(fmt::format(
      "POST /x HTTP/1.1\r\n{}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n", kHost));
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 100 Continue"));
  client.send("ab");
  EXPECT_NE(client.read_until().find("<POST /x  2>"), std::string::npos);
}

TEST_F(Server, what_is_too_large_is_refused) {  // F-71
  start({.max_body = 1000, .max_header = 1024});
  EXPECT_NE(ask(request("POST /x", "", std::string(1001, 'x'))).find(" 413 "), std::string::npos);
  // Nothing of the body has been sent: the length alone will do.
  EXPECT_NE(ask(fmt::format("POST /x HTTP/1.1\r\n{}Content-Length: 99999999999999\r\n\r\n", kHost)).find(" 413 "),
            std::string::npos);
  EXPECT_NE(ask(fmt::format("POST /x HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\n3e9\r\n{}\r\n0\r\n\r\n", kHost,
                            std::string(1001, 'x')))
                .find(" 413 "),
            std::string::npos);
  EXPECT_NE(ask(request("GET /x", fmt::format("X: {}\r\n", std::string(2000, 'x')))).find(" 431 "), std::string::npos);
  EXPECT_NE(ask(request("GET /" + std::string(2000, 'x'))).find(" 431 "), std::string::npos);
  EXPECT_NE(ask_closing("POST /x", "", std::string(1000, 'x')).find(" 200 "), std::string::npos);
}

TEST_F(Server, nonsense_gets_400_or_is_closed) {  // F-71
  start({.header_timeout = 500ms});
  for (const std::string_view bad :
       {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n",
        "GET / HTTP/1.1\r\nHost localhost\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    const std::string text = ask(bad);
    EXPECT_TRUE(text.empty() || text.starts_with("HTTP/1.1 400 ")) << bad << "\n" << text;
    EXPECT_EQ(text.find("[late]"), std::string::npos) << bad;
  }
  EXPECT_NE(ask_closing("GET /still").find("<GET /still"), std::string::npos);
}

TEST_F(Server, slow_clients_are_closed_and_hold_nobody_up) {  // F-71
  start({.max_connections = 40, .workers = 1, .header_timeout = 400ms, .body_timeout = 400ms});
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 30; ++i) {
    slow.push_back(std::make_unique<Client>(server_->port()));
    ASSERT_TRUE(slow.back()->send(i % 2 == 0 ? "GET / HT"
                                             : "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"));
  }
  EXPECT_NE(ask_closing("GET /quick").find("<GET /quick"), std::string::npos);
  for (const auto& client : slow) EXPECT_EQ(client->read_until().find("[late]"), std::string::npos);
}

TEST_F(Server, MoreRequestsThanAreServedWait) {  // F-71
  start({.max_connections = 2, .workers = 2});
  Client first(server_->port()), second(server_->port()), third(server_->port());
  for (Client* client : {&first, &second}) ASSERT_TRUE(client->send(request("GET /slow", "Connection: close\r\n")));
  ASSERT_TRUE(third.send(request("GET /third", "Connection: close\r\n")));
  EXPECT_NE(third.read_until().find("<GET /third"), std::string::npos);
  // A request that is being answered is never given up for another one.
  for (Client* client : {&first, &second}) EXPECT_NE(client->read_until().find("<GET /slow"), std::string::npos);
}

// Connections that send nothing, a part of a header or a part of a body, many times as many as are served.
TEST_F(Server, IdleAndSlowConnectionsMakeRoomForRequests) {
  start({.max_connections = 40});  // and the usual limits of time, 15 s and 60 s
  const auto seconds_of = [&](std::string_view path) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(ask_closing(fmt::format("GET {}", path)).find(fmt::format("<GET {}", path)), std::string::npos);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double alone = seconds_of("/alone");
  Client streams(server_->port());
  ASSERT_TRUE(streams.send(request("GET /stream")));
  stream_->begin({200, "text/plain"});
  ASSERT_TRUE(stream_->write("one"));
  ASSERT_NE(streams.read_until("one").find("one"), std::string::npos);
  std::vector<std::unique_ptr<Client>> others;
  for (const std::string_view sent :
       {"", "GET / HT", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"}) {
    for (int i = 0; i < 200; ++i) {
      others.push_back(std::make_unique<Client>(server_->port()));
      ASSERT_TRUE(others.back()->send(sent)) << sent;
    }
    // A connection keeps its place for a tenth of a second, in which 40 of the 200 are taken.
    EXPECT_LT(seconds_of("/beside"), 20 * alone + 2) << sent;
    EXPECT_LT(seconds_of("/again"), 20 * alone + 2) << sent;
  }
  ASSERT_TRUE(stream_->write("two"));  // an answer that is under way stays
  EXPECT_NE(streams.read_until("two").find("two"), std::string::npos);
  stream_->finish();
}

// A client keeps its connection for the next request, unless others need the place.
TEST_F(Server, AConnectionKeptForTheNextRequestIsClosedLast) {
  start({.max_connections = 8});
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 7; ++i) idle.push_back(std::make_unique<Client>(server_->port()));
  std::this_thread::sleep_for(300ms);
  Client kept(server_->port());
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(kept.send(request("GET /kept")));
    ASSERT_NE(kept.read_until("/kept  0>").find("<GET /kept"), std::string::npos) << i;
    idle.push_back(std::make_unique<Client>(server_->port()));  // takes the place of one that is idle for longer
    ASSERT_TRUE(idle.back()->send("G"));
    EXPECT_EQ(idle[static_cast<std::size_t>(i)]->read_until(), "");
  }
}

TEST_F(Server, bodies_together_are_bounded) {  // F-71
  start({.max_body = 1000, .max_waiting = 1500});
  Client holds(server_->port());
  ASSERT_TRUE(holds.send(fmt::format("POST /x HTTP/1.1\r\n{}Content-Length: 1000\r\n\r\na", kHost)));
  std::this_thread::sleep_for(50ms);
  EXPECT_NE(ask(request("POST /y", "", std::string(900, 'y'))).find(" 503 "), std::string::npos);
  EXPECT_NE(ask_closing("POST /z", "", std::string(400, 'z')).find(" 200 "), std::string::npos);
  ASSERT_TRUE(holds.send(std::string(999, 'a')));
  EXPECT_NE(holds.read_until("<POST /x  1000>").find(" 200 "), std::string::npos);
  EXPECT_NE(ask_closing("POST /y", "", std::string(900, 'y')).find(" 200 "), std::string::npos);
}

TEST_F(Server, a_token_and_the_own_host_are_asked_for) {  // F-71
  EXPECT_EQ(HttpServer::listen({.address = "0.0.0.0"}, {}).error().code, Code::InvalidArgument);
  EXPECT_EQ(HttpServer::listen({.address = "nonsense", .token = "t"}, {}).error().code, Code::InvalidArgument);
  start();
  EXPECT_NE(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").find(" 403 "), std::string::npos);
  EXPECT_NE(ask("GET / HTTP/1.1\r\n\r\n").find(" 403 "), std::string::npos);
  EXPECT_NE(ask(request("POST /", "Origin: https://evil.example\r\n", "x")).find(" 403 "), std::string::npos);
  for (const char* host : {"evil.example", "localhost"})
    EXPECT_NE(ask(fmt::format("GET / HTTP/1.1\r\nHost: localhost\r\nHost: {}\r\n\r\n", host)).find(" 400 "),
              std::string::npos)
        << host;
  for (const char* site : {"cross-site", "same-site", "what"})
    EXPECT_NE(ask(request("GET /", fmt::format("Sec-Fetch-Site: {}\r\n", site))).find(" 403 "), std::string::npos)
        << site;
  for (const char* site : {"same-origin", "none"})
    EXPECT_NE(ask_closing("GET /", fmt::format("Sec-Fetch-Site: {}\r\n", site)).find(" 200 "), std::string::npos)
        << site;
  EXPECT_EQ(HttpServer::listen({.port = server_->port()}, {}).error().code, Code::IoError);
  stop();
  stop_ = false;
  start({.token = "0123456789abcdef"});
  EXPECT_NE(ask_closing("GET /").find(" 401 "), std::string::npos);
  EXPECT_NE(ask_closing("GET /", "Authorization: Bearer 0123456789abcdef\r\n").find(" 200 "), std::string::npos);
}

TEST_F(Server, a_stop_ends_what_is_under_way_and_takes_nothing_new) {  // F-71
  start();
  Client idle(server_->port()), busy(server_->port());
  ASSERT_TRUE(busy.send(request("GET /slow")));
  std::this_thread::sleep_for(100ms);
  const auto begin = std::chrono::steady_clock::now();
  stop_ = true;
  EXPECT_NE(busy.read_until().find("<GET /slow"), std::string::npos);
  EXPECT_EQ(idle.read_until(), "");
  stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);  // an idle client does not use up the 10 s of stop_timeout
  Client late(server_->port());
  EXPECT_FALSE(late.send("GET"));
}

TEST_F(Server, OptionsSayHowErrorsOfRequestsWithoutAHandlerLook) {
  HttpServerOptions options{.max_body = 1000, .max_header = 1024, .max_waiting = 1500, .body_timeout = 400ms};
  options.format_error = [](std::string_view path, int status, std::string_view message) {
    return HttpResponse{status, "text/plain", fmt::format("[{} {} {}]", path, status, message)};
  };
  start(options);
  const auto expect = [](const std::string& text, int status, std::string_view path) {
    EXPECT_TRUE(text.starts_with(fmt::format("HTTP/1.1 {} ", status))) << text;
    EXPECT_NE(text.find(fmt::format("\r\n\r\n[{} {} ", path, status)), std::string::npos) << text;
  };
  expect(ask(request("POST /x", "", std::string(1001, 'x'))), 413, "/x");
  expect(ask(request("GET /x", fmt::format("X: {}\r\n", std::string(2000, 'x')))), 431, "/x");
  expect(ask(request("GET /%zz", "Connection: close\r\n")), 400, "/%zz");
  expect(ask("GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403, "/x");
  Client late(server_->port());
  ASSERT_TRUE(late.send(fmt::format("POST /x HTTP/1.1\r\n{}Content-Length: 1000\r\n\r\na", kHost)));
  std::this_thread::sleep_for(50ms);
  expect(ask(request("POST /y", "", std::string(900, 'y'))), 503, "/y");
  expect(late.read_until(), 408, "/x");
  stop();
  stop_ = false;
  start({.token = "0123456789abcdef"});  // without a format
  EXPECT_NE(ask(request("GET /x")).find(R"("status":"error")"), std::string::npos);
}

TEST_F(Server, AConnectionGoesOnAfterABodyThatCameInTime) {
  start({.body_timeout = 200ms});
  Client client(server_->port());
  for (const std::string_view path : {"/1", "/2", "/3"}) {
    ASSERT_TRUE(client.send(request(fmt::format("POST {}", path), "", "abc")));
    EXPECT_NE(client.read_until("3>").find(fmt::format("<POST {}  3>", path)), std::string::npos);
    std::this_thread::sleep_for(250ms);  // longer than a body has
  }
}

TEST_F(Server, AStreamEndsWhenItsClientDoesNotRead) {
  start({.body_timeout = 300ms});
  Client client(server_->port());
  ASSERT_TRUE(client.send(request("GET /stream")));
  stream_->begin({200, "text/plain"});
  // More than the buffers of both sides hold, in parts that alone never exceed what may wait.
  std::size_t sent = 0;
  for (constexpr std::size_t kMost = std::size_t{64} << 20; sent < kMost; sent += std::size_t{512} << 10) {
    if (!stream_->write(std::string(std::size_t{512} << 10, 'x'))) break;
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_LT(sent, std::size_t{64} << 20);
  stream_->finish();  // as a writer does that nobody reads any more
  // The connection ends too: without a limit it would keep its place until the client leaves.
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (stream_.use_count() > 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(stream_.use_count(), 1);
}

TEST_F(Server, AStreamMayBeSilentForLongerThanAPartMayTake) {
  start({.body_timeout = 200ms});
  Client client(server_->port());
  ASSERT_TRUE(client.send(request("GET /stream")));
  stream_->begin({200, "text/plain"});
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(300ms);
    ASSERT_TRUE(stream_->write(fmt::format("part {}", i)));
    ASSERT_NE(client.read_until(fmt::format("part {}", i)).find("part"), std::string::npos);
  }
  stream_->finish();
  EXPECT_TRUE(client.read_until().ends_with("0\r\n\r\n"));
}

TEST_F(Server, AClientThatClosesItsSendingHalfGetsItsAnswer) {
  start();
  for (const std::string_view version : {"HTTP/1.1", "HTTP/1.0"}) {
    for (const std::string_view path : {"/x", "/slow"}) {
      Client whole(server_->port());
      ASSERT_TRUE(whole.send(fmt::format("GET {} {}\r\n{}\r\n", path, version, kHost)));
      whole.close_sending();
      EXPECT_NE(whole.read_until().find(fmt::format("<GET {}  0>", path)), std::string::npos);
    }
    stream_ = std::make_shared<HttpReply>();
    Client client(server_->port());
    ASSERT_TRUE(client.send(fmt::format("GET /stream {}\r\n{}\r\n", version, kHost)));
    client.close_sending();
    std::this_thread::sleep_for(200ms);
    EXPECT_TRUE(stream_->is_open());
    stream_->begin({200, "text/plain"});
    ASSERT_TRUE(stream_->write("first"));
    std::string text = client.read_until("first");
    EXPECT_EQ(text.find("100 Continue") != std::string::npos, version == "HTTP/1.1") << text;
    ASSERT_TRUE(stream_->write("second"));
    stream_->finish();
    text += client.read_until();
    EXPECT_NE(text.find(" 200 OK\r\n"), std::string::npos) << text;
    EXPECT_LT(text.find("first"), text.find("second")) << text;
    EXPECT_EQ(text.find("[late]"), std::string::npos) << text;
  }
}

TEST_F(Server, AClientThatLeavesIsNoticedBeforeItsAnswerBegins) {
  start();
  {
    Client client(server_->port());
    ASSERT_TRUE(client.send(request("GET /stream")));
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(stream_->is_open());
  }
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (stream_->is_open() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(stream_->is_open());
}

TEST(HttpServer, AnIpv6AddressMayStandInBrackets) {
  for (const char* address : {"[::1]", "::1"}) {
    const auto server = HttpServer::listen({.address = address}, {});
    ASSERT_TRUE(server) << server.error().text();
    const auto second = HttpServer::listen({.address = address, .port = (*server)->port()}, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::IoError);
    EXPECT_TRUE(second.error().text().starts_with(fmt::format("[::1]:{}: the port is in use", (*server)->port())))
        << second.error().text();
  }
  EXPECT_EQ(HttpServer::listen({.address = "[::]"}, {}).error().code, Code::InvalidArgument);  // needs a token
  EXPECT_EQ(HttpServer::listen({.address = "[::1"}, {}).error().code, Code::InvalidArgument);
  EXPECT_EQ(host_and_port("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(host_and_port("localhost", 80), "localhost:80");
}

TEST(HttpAnswers, bytes_are_answered_without_a_network) {  // F-71
  const HttpHandler handler = [](const HttpRequest& r) { return HttpResponse{200, "text/plain", "<" + r.path + ">"}; };
  const std::string text = http_answers(request("GET /1") + request("POST /2", "", "abc") + "GET /un", {}, handler);
  EXPECT_NE(text.find("</1>"), std::string::npos);
  EXPECT_NE(text.find("</2>"), std::string::npos);
  EXPECT_EQ(http_answers("GET / HTTP/1.1\r\nHost: localhost\r\n", {}, handler), "");
  EXPECT_TRUE(http_answers("nonsense\r\n\r\n", {}, handler).starts_with("HTTP/1.1 400"));
}

TEST(HttpAnswers, PagesOfAllowedSitesAreAnsweredAndOthersAreNot) {
  const HttpHandler handler = [](const HttpRequest& r) { return HttpResponse{200, "text/plain", "<" + r.path + ">"}; };
  const HttpServerOptions options{.token = "0123456789abcdef", .origins = {"https://app.example"}};
  const std::string asks_first = "Access-Control-Request-Method: POST\r\n", origin = "Origin: https://app.example\r\n",
                    key = "Authorization: Bearer 0123456789abcdef\r\n",
                    header = "Access-Control-Allow-Origin: https://app.example\r\n";
  const auto answers = [&](std::string_view line, const std::string& headers) {
    return http_answers(request(line, headers), options, handler);
  };
  const std::string before = answers("OPTIONS /x", origin + asks_first);
  EXPECT_TRUE(before.starts_with("HTTP/1.1 204")) << before;
  EXPECT_NE(before.find(header), std::string::npos) << before;
  EXPECT_NE(before.find("Access-Control-Allow-Headers: Authorization, Content-Type\r\n"), std::string::npos) << before;
  // openai in a browser sends some twenty of its own.
  constexpr std::string_view kNames = "authorization,content-type,x-stainless-lang,openai-beta,idempotency-key";
  const std::string more =
      answers("OPTIONS /x", fmt::format("{}{}Access-Control-Request-Headers: {}\r\n", origin, asks_first, kNames));
  EXPECT_NE(more.find(fmt::format("Access-Control-Allow-Headers: {}\r\n", kNames)), std::string::npos) << more;
  const std::string odd = answers("OPTIONS /x", origin + asks_first + "Access-Control-Request-Headers: a;b\r\n");
  EXPECT_NE(odd.find("Access-Control-Allow-Headers: Authorization, Content-Type\r\n"), std::string::npos) << odd;
  const std::string asked = answers("GET /x", origin + key);
  EXPECT_NE(asked.find("</x>"), std::string::npos) << asked;
  EXPECT_NE(asked.find(header), std::string::npos) << asked;
  EXPECT_NE(asked.find("Vary: Origin"), std::string::npos) << asked;
  const std::string keyless = answers("GET /x", origin);
  EXPECT_TRUE(keyless.starts_with("HTTP/1.1 401")) << keyless;
  EXPECT_NE(keyless.find(header), std::string::npos) << keyless;  // so that a page can read why
  for (const std::string& other : {answers("OPTIONS /x", "Origin: https://evil.example\r\n" + asks_first),
                                   answers("GET /x", "Origin: https://evil.example\r\n" + key), answers("GET /x", key)})
    EXPECT_EQ(other.find("Access-Control"), std::string::npos) << other;
  EXPECT_TRUE(answers("OPTIONS /x", "Origin: https://evil.example\r\n" + asks_first).starts_with("HTTP/1.1 401"));
  EXPECT_EQ(HttpServer::listen({.origins = {"*"}}, {}).error().code, Code::InvalidArgument);  // needs a key
  EXPECT_EQ(HttpServer::listen({.origins = {"app.example"}}, {}).error().code, Code::InvalidArgument);
}

}  // namespace
}  // namespace loom::http_server_test
