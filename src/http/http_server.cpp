#include "http/http_server.h"

#include "core/nearest.h"
#include "http/http_access.h"

#ifdef LOOM_HAVE_BOOST
// Beast and Asio throw where a caller asks for no error code. Ours asks for one everywhere; what still throws (memory,
// the first use of the network) ends at the `catch (` below.
#define BOOST_ASIO_NO_DEPRECATED
#define BOOST_ASIO_DISABLE_BOOST_REGEX
#define BOOST_ASIO_HAS_STD_INVOKE_RESULT 1  // C++20 libraries lack std::result_of, which Asio uses otherwise
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <set>
#include <sstream>
#endif

namespace loom {

#ifdef LOOM_HAVE_BOOST
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using Message = http::response<http::span_body<const char>>;  // its body belongs to an HttpResponse
using Clock = std::chrono::steady_clock;

// A port that a server has just left may be taken again. On Windows this would let two programs listen at one port.
#ifdef _WIN32
constexpr bool kReusesAddress = false;
#else
constexpr bool kReusesAddress = true;
#endif

constexpr std::size_t kReadBuffer = std::size_t{64} << 10;  // beside the header

void set_limits(Parser& parser, const HttpServerOptions& options) {
  parser.header_limit(static_cast<std::uint32_t>(options.max_header));
  parser.body_limit(options.max_body);
}

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <class M>
void set_fields(M& message, int status, const std::string& content_type, const HttpResponse& response) {
  message.set(http::field::server, "loom");
  message.set(http::field::content_type, content_type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  if (status == 401) message.set(http::field::www_authenticate, "Basic realm=\"loom\"");
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

// `is_head`: the header alone, with the length that the body would have. The response must outlive the message.
Message message_of(const HttpResponse& response, unsigned version, bool keep_alive, bool is_head) {
  Message message(static_cast<http::status>(response.status), version);
  set_fields(message, response.status, response.content_type, response);
  message.keep_alive(keep_alive);
  const std::span body = response.file ? response.part : std::as_bytes(std::span(response.body));
  if (!is_head) message.body() = {reinterpret_cast<const char*>(body.data()), body.size()};
  if (response.status != 304) message.content_length(body.size());  // a 304 has that of a file it does not send
  return message;
}

// The bytes that a connection sends next of a response that is written later. HTTP/1.0 has no chunks: its bodies end
// with the connection.
std::string bytes_of(const HttpReply::Parts& parts, const HttpResponse& response, unsigned version, bool is_head) {
  std::ostringstream out;
  const bool in_chunks = version >= 11;
  if (parts.head) {
    http::response<http::empty_body> message(static_cast<http::status>(parts.head->status), version);
    set_fields(message, parts.head->status, parts.head->content_type, response);
    message.keep_alive(false);
    message.chunked(in_chunks);
    out << message.base();
  }
  if (is_head) return out.str();
  if (!in_chunks)
    out << parts.text;
  else if (!parts.text.empty())
    out << std::hex << parts.text.size() << "\r\n" << parts.text << "\r\n";
  if (in_chunks && parts.is_last) out << "0\r\n\r\n";
  return out.str();
}

bool is_head(const Parser& parser) { return parser.get().method() == http::verb::head; }

// The status of a request that could not be read; 0: the connection is simply closed.
int status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == make_error_code(http::error::bad_method).category() ? 400 : 0;
}

// The target as it came, empty before the first line of the header was read.
std::string_view target_of(const Parser& parser) { return view_of(parser.get().target()); }

HttpResponse refused(int status, std::string_view path, HttpErrorFormat format_error) {
  constexpr std::pair<int, std::string_view> kTexts[] = {
      {400, "the request is no valid HTTP/1.1"},
      {401, "a token is needed: Authorization: Bearer TOKEN"},
      {403, "the request names another host, or comes from the page of another site"},
      {408, "the body did not arrive in time"},
      {413, "the body is too large"},
      {431, "the header is too large"},
      {503, "too many bytes are waiting; try again"}};
  for (const auto& [code, text] : kTexts)
    if (code == status) return format_error(path, code, text);
  return format_error(path, status, "refused");
}

int refusal_of(const Parser& parser, const HttpServerOptions& options) {
  const auto& header = parser.get();
  constexpr const char* kFetchSite = "Sec-Fetch-Site";
  const bool is_ambiguous = header.count(http::field::host) > 1 || header.count(http::field::origin) > 1 ||
                            header.count(http::field::authorization) > 1 || header.count(kFetchSite) > 1;
  return refusal({view_of(header[http::field::authorization]), view_of(header[http::field::host]),
                  view_of(header[http::field::origin]), view_of(header[kFetchSite]), is_ambiguous},
                 options.token, options.origins);
}

// Whether a browser asks if a page of another, allowed site may ask (Fetch standard, "CORS-preflight request").
bool is_preflight(const Parser& parser, const HttpServerOptions& options) {
  const auto& header = parser.get();
  return header.method() == http::verb::options && header.count("Access-Control-Request-Method") != 0 &&
         header.count(http::field::origin) == 1 &&
         is_allowed_origin(view_of(header[http::field::origin]), options.origins);
}

// Whether the text lists names of headers (RFC 9110, 5.6.2).
bool are_header_names(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~, ";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kMarks.find(c) != kMarks.npos;
  });
}

// Clients of OpenAI's interface send headers of their own, so the page of an allowed site may send any.
HttpResponse preflight_response(const Parser& parser) {
  const std::string_view asked = view_of(parser.get()["Access-Control-Request-Headers"]);
  HttpResponse response{.status = 204, .content_type = "text/plain"};
  response.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST"},
                      {"Access-Control-Allow-Headers",
                       std::string(are_header_names(asked) ? asked : std::string_view("Authorization, Content-Type"))},
                      {"Access-Control-Max-Age", "600"}};
  return response;
}

// Lets the page of an allowed site read the response.
HttpResponse with_origin(HttpResponse response, const Parser& parser, const HttpServerOptions& options) {
  if (!parser.is_header_done()) return response;
  const std::string_view origin = view_of(parser.get()[http::field::origin]);
  if (!is_allowed_origin(origin, options.origins)) return response;
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Vary", "Origin");
  return response;
}

// Returns the handler's response. Libraries below may throw when memory runs out; the server goes on.
HttpResponse handle(const HttpHandler& handler, Parser& parser, HttpErrorFormat format_error) {
  try {
    HttpRequest request;
    request.method = std::string(view_of(parser.get().method_string()));
    if (auto split = split_target(target_of(parser), request); !split)
      return format_error(target_of(parser), 400, split.error().text());
    request.body = std::move(parser.get().body());
    request.range = std::string(view_of(parser.get()[http::field::range]));
    request.if_none_match = std::string(view_of(parser.get()[http::field::if_none_match]));
    return handler(request);
  } catch (const std::exception&) {
    return format_error(target_of(parser), 500, "out of memory");
  }
}

class BeastServer;

// Orders connections by how readily they are closed when another one needs the place.
enum class Stage : std::uint8_t {
  Leaving,    // the response is sent; what the client still sends is thrown away
  Waiting,    // for a request or the rest of a header
  Receiving,  // a body
  Answering,  // never closed for another one
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket&& stream, BeastServer& server)
      : stream_(std::move(stream)), server_(server), body_limit_(stream_.get_executor()) {}
  ~Connection();

  void read_header();
  // Ends a connection that waits for a request; the others end after their response.
  void stop();
  // Closes at once, for another connection.
  void drop();
  Stage stage() const { return stage_; }
  Clock::time_point since() const { return since_; }  // of the stage

 private:
  void on_header(const error_code& error);
  void allow_body();
  void read_body();
  void on_body(const error_code& error);
  void dispatch();
  void fail_with(const error_code& error);
  void refuse(int status);
  void limit_time(std::size_t bytes);
  void write(HttpResponse response, bool keep_alive);
  void on_written(const error_code& error);
  // Of a response that is written later: sends what waits, and sees a client that leaves.
  void send_later();
  void send_parts();
  void send_bytes(std::string bytes, bool is_last);
  void watch();
  void watch_half();
  void probe();
  void leave();
  void close();
  void drain();
  void hold(std::size_t bytes);
  void enter(Stage stage) { stage_ = stage, since_ = Clock::now(); }

  beast::tcp_stream stream_;
  BeastServer& server_;
  beast::flat_buffer buffer_{kReadBuffer + (std::size_t{64} << 10)};
  std::optional<Parser> parser_;
  HttpResponse response_;
  std::optional<Message> message_;  // of response_
  std::size_t held_ = 0;            // bytes of the server's share for bodies
  Stage stage_ = Stage::Waiting;
  Clock::time_point since_;
  std::string sending_;            // of a response that is written later; empty: nothing is being sent
  bool has_begun_ = false;         // its head is on the way
  bool is_sent_ = false;           // all of it
  asio::steady_timer body_limit_;  // the time that a body has; then that of probe()
  bool body_is_read_ = false, is_late_ = false;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpServerOptions& options, HttpHandler handler)
      : options_(options),
        handler_(std::move(handler)),
        acceptor_(io_),
        retry_(io_),
        clock_(io_),
        workers_(options.workers) {}
  ~BeastServer() override {
    workers_.join();
    stopping_ = true;  // connections that end with io_ begin nothing new
  }

  Result<void> open() {
    error_code error;
    const std::string& name = options_.address;
    const auto address = asio::ip::make_address(name == "localhost" ? "127.0.0.1" : name, error);
    if (error) return fail(Code::InvalidArgument, "\"{}\" is no address of this computer", name);
    const Tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error && kReusesAddress) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error == asio::error::address_in_use)
      return fail(Code::IoError, "{}: the port is in use by another program; port 0 takes a free one",
                  host_and_port(name, options_.port));
    if (error) return fail(Code::IoError, "{}: {}", host_and_port(name, options_.port), error.message());
    return {};
  }

  std::uint16_t port() const override { return port_; }

  Result<void> run(const std::atomic<bool>& stop) override {
    stop_ = &stop;
    try {
      accept();
      look_at_clock();
      io_.run();
    } catch (const std::exception& e) {
      return fail(Code::IoError, "the server ended: {}", e.what());
    }
    return {};
  }

  void ended(Connection* connection) { connections_.erase(connection); }
  // False where so many bytes would be too many.
  bool hold(std::size_t bytes) {
    if (bytes > options_.max_waiting - held_) return false;
    held_ += bytes;
    return true;
  }
  void release(std::size_t bytes) { held_ -= bytes; }

  const HttpServerOptions& options() const { return options_; }
  const HttpHandler& handler() const { return handler_; }
  asio::io_context& io() { return io_; }
  asio::thread_pool& workers() { return workers_; }
  bool is_stopping() const { return stopping_; }

 private:
  void accept() {
    if (connections_.size() >= options_.max_connections) return accept_by_making_room();
    acceptor_.async_accept([this](const error_code& error, Tcp::socket accepted) {
      if (error == asio::error::operation_aborted || stopping_) return;
      if (error) return accept_later(std::chrono::milliseconds(make_room() ? 0 : 100));  // without descriptors
      const auto connection = std::make_shared<Connection>(std::move(accepted), *this);
      connections_.insert(connection.get());
      connection->read_header();
      accept();
    });
  }

  // Idle connections keep their places until another client comes.
  void accept_by_making_room() {
    acceptor_.async_wait(Tcp::acceptor::wait_read, [this](const error_code& error) {
      if (error == asio::error::operation_aborted || stopping_) return;
      if (make_room() || connections_.size() < options_.max_connections) return accept();
      accept_later(std::chrono::milliseconds(10));
    });
  }

  // Closes the connection that is idle for longest. False where each is being answered or has just come: a client has
  // kGrace to send its request, or many that come together would close each other.
  bool make_room() {
    constexpr std::chrono::milliseconds kGrace(50);
    const auto before = Clock::now() - kGrace;
    const auto rank = [](const Connection* c) { return std::pair(c->stage(), c->since()); };
    Connection* chosen = nullptr;
    for (Connection* c : connections_) {
      if (c->stage() == Stage::Answering || c->since() > before) continue;
      if (chosen == nullptr || rank(c) < rank(chosen)) chosen = c;
    }
    if (chosen == nullptr) return false;
    connections_.erase(chosen);
    chosen->drop();
    return true;
  }

  void accept_later(std::chrono::milliseconds pause) {
    retry_.expires_after(pause);
    retry_.async_wait([this](const error_code& error) {
      if (!error && !stopping_) accept();
    });
  }

  // A flag that a signal handler sets is looked at ten times a second.
  void look_at_clock() {
    clock_.expires_after(std::chrono::milliseconds(100));
    clock_.async_wait([this](const error_code& error) {
      if (error) return;
      if (!stopping_ && stop_->load()) begin_to_stop();
      if (stopping_ && (connections_.empty() || Clock::now() > stop_by_)) return io_.stop();
      look_at_clock();
    });
  }

  void begin_to_stop() {
    stopping_ = true, stop_by_ = Clock::now() + options_.stop_timeout;
    error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    for (Connection* connection : connections_) connection->stop();
  }

  const HttpServerOptions options_;
  const HttpHandler handler_;
  std::uint16_t port_ = 0;
  std::size_t held_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
  Clock::time_point stop_by_;
  bool stopping_ = false;
  std::set<Connection*> connections_;  // all that live
  // Destroyed before the members above, since its last handlers hold connections.
  asio::io_context io_{1};
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_, clock_;
  asio::thread_pool workers_;
};

Connection::~Connection() {
  if (response_.later) response_.later->close();
  server_.release(held_);
  server_.ended(this);
}

void Connection::hold(std::size_t bytes) {
  server_.release(held_);
  held_ = server_.hold(bytes) ? bytes : 0;
}

void Connection::read_header() {
  hold(0);
  parser_.emplace();
  set_limits(*parser_, server_.options());
  body_is_read_ = false;
  enter(Stage::Waiting);
  stream_.expires_after(server_.options().header_timeout);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](const error_code& e, std::size_t) { self->on_header(e); });
}

void Connection::stop() {
  if (stage_ == Stage::Waiting) drop();
}

// Operations that wait for the socket end with an error.
void Connection::drop() {
  stage_ = Stage::Leaving;
  stream_.close();
}

void Connection::on_header(const error_code& error) {
  if (error) return fail_with(error);
  enter(Stage::Receiving);
  if (is_preflight(*parser_, server_.options())) return write(preflight_response(*parser_), false);
  if (const int status = refusal_of(*parser_, server_.options()); status != 0) return refuse(status);
  const auto length = parser_->content_length();
  const std::size_t bytes = length               ? static_cast<std::size_t>(*length)
                            : parser_->chunked() ? server_.options().max_body
                                                 : 0;
  if (bytes > server_.options().max_body) return refuse(413);
  hold(bytes);
  if (held_ != bytes) return refuse(503);
  if (view_of(parser_->get()[http::field::expect]) == "100-continue") return allow_body();
  read_body();
}

// A client that asks whether its body is welcome waits for an answer.
void Connection::allow_body() {
  message_.emplace(http::status::continue_, 11);
  stream_.expires_after(server_.options().body_timeout);
  http::async_write(stream_, *message_, [self = shared_from_this()](const error_code& e, std::size_t) {
    if (!e) self->read_body();
  });
}

// The stream's own limit of time would close the connection without a response.
void Connection::read_body() {
  stream_.expires_never();
  body_limit_.expires_after(server_.options().body_timeout);
  body_limit_.async_wait([weak = weak_from_this()](const error_code& e) {
    const auto self = weak.lock();
    if (e || !self || self->body_is_read_) return;
    self->is_late_ = true;
    self->stream_.cancel();
  });
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](const error_code& e, std::size_t) { self->on_body(e); });
}

void Connection::on_body(const error_code& error) {
  body_is_read_ = true;
  body_limit_.cancel();
  if (error) return fail_with(error);
  enter(Stage::Answering);
  dispatch();
}

// A worker makes the response. The connection comes back with it, so that it ends in the thread that serves.
void Connection::dispatch() {
  asio::post(server_.workers(), [self = shared_from_this()]() mutable {
    HttpResponse response = handle(self->server_.handler(), *self->parser_, self->server_.options().format_error);
    auto& io = self->server_.io();
    asio::post(io, [self = std::move(self), response = std::move(response)]() mutable {
      const bool keep = self->parser_->keep_alive() && !self->server_.is_stopping();
      self->write(std::move(response), keep);
    });
  });
}

void Connection::fail_with(const error_code& error) {
  if (const int status = is_late_ ? 408 : status_of(error); status != 0) return refuse(status);
  close();
}

void Connection::refuse(int status) {
  write(refused(status, target_of(*parser_), server_.options().format_error), false);
}

// A client has `body_timeout` to take a response; a large one has more time, in which it takes kSlowest bytes a second.
void Connection::limit_time(std::size_t bytes) {
  constexpr std::size_t kSlowest = std::size_t{256} << 10;
  stream_.expires_after(server_.options().body_timeout + std::chrono::seconds(bytes / kSlowest));
}

void Connection::write(HttpResponse response, bool keep_alive) {
  const bool has_header = parser_->is_header_done();
  enter(Stage::Answering);
  response_ = with_origin(std::move(response), *parser_, server_.options());
  if (response_.later) return send_later();
  message_.emplace(
      message_of(response_, has_header ? parser_->get().version() : 11, keep_alive, has_header && is_head(*parser_)));
  limit_time(message_->body().size());
  http::async_write(stream_, *message_,
                    [self = shared_from_this()](const error_code& e, std::size_t) { self->on_written(e); });
}

void Connection::on_written(const error_code& error) {
  const bool keep = !error && message_->keep_alive() && !server_.is_stopping();
  message_.reset();
  response_ = {};
  if (keep) return read_header();
  close();
}

void Connection::send_later() {
  stream_.expires_never();
  response_.later->on_change([this, weak = weak_from_this()] {
    asio::post(server_.io(), [weak] {
      if (const auto self = weak.lock()) self->send_parts();
    });
  });
  watch();
  send_parts();
}

void Connection::send_parts() {
  if (!response_.later || !sending_.empty() || is_sent_) return;
  const HttpReply::Parts parts = response_.later->take();
  has_begun_ = has_begun_ || parts.head;
  std::string bytes = bytes_of(parts, response_, parser_->get().version(), is_head(*parser_));
  if (!bytes.empty() || parts.is_last) send_bytes(std::move(bytes), parts.is_last);
}

void Connection::send_bytes(std::string bytes, bool is_last) {
  sending_ = std::move(bytes);
  limit_time(sending_.size());  // for this write: watch() reads without a limit
  asio::async_write(stream_, asio::buffer(sending_),
                    [self = shared_from_this(), is_last](const error_code& error, std::size_t) {
                      self->sending_.clear();
                      self->is_sent_ = is_last || error;
                      if (self->is_sent_) return self->stream_.cancel();  // ends watch(), which closes
                      self->send_parts();
                    });
}

// Throws away the bytes that a client sends meanwhile.
void Connection::watch() {
  stream_.async_read_some(buffer_.prepare(kReadBuffer),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (!error && !self->is_sent_) return self->watch();
                            if (error == asio::error::eof && !self->is_sent_) return self->watch_half();
                            self->leave();
                          });
}

// A client that has closed its sending half may still read: some close it after the request. One that has left looks
// the same until something is sent, to which its system replies with a reset. HTTP/1.1 has a response without a meaning
// for this; an HTTP/1.0 client that has left is noticed when its answer is sent.
void Connection::watch_half() {
  stream_.socket().async_wait(Tcp::socket::wait_error,
                              [self = shared_from_this()](const error_code&) { self->leave(); });
  probe();
  // Where the system reports no reset by itself, the next write fails.
  constexpr std::chrono::milliseconds kReply(250);
  body_limit_.expires_after(kReply);
  body_limit_.async_wait([weak = weak_from_this()](const error_code& e) {
    if (const auto self = weak.lock(); self && !e && !self->is_sent_) self->probe();
  });
}

void Connection::probe() {
  if (!has_begun_ && sending_.empty() && parser_->get().version() >= 11)
    send_bytes("HTTP/1.1 100 Continue\r\n\r\n", false);
}

// Nobody reads the rest of a response that is written later.
void Connection::leave() {
  response_.later->close();
  is_sent_ = true;
  close();
}

// A client that still sends would lose a response that was written already, if the connection were reset under it: what
// it sends is thrown away for a while.
void Connection::close() {
  error_code ignored;
  enter(Stage::Leaving);
  stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
  parser_.reset();
  hold(0);
  stream_.expires_after(std::chrono::seconds(2));
  drain();
}

void Connection::drain() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kReadBuffer),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (!error) self->drain();
                          });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpServerOptions& given, HttpHandler handler) {
  HttpServerOptions options = given;
  options.address = std::string(without_brackets(given.address));
  if (!is_loopback(options.address) && options.token.empty())
    return fail(Code::InvalidArgument, "{}: other computers reach this address, so requests need a token",
                options.address);
  for (const std::string& origin : options.origins) {
    if (!is_origin(origin))
      return fail(Code::InvalidArgument, "\"{}\" is no origin, expected scheme://host or scheme://host:port",
                  printable(origin));
    if (origin == "*" && options.token.empty())
      return fail(Code::InvalidArgument, "origin *: pages of every site may ask, so requests need a token");
  }
  try {
    auto server = std::make_unique<BeastServer>(options, std::move(handler));
    LOOM_TRY_VOID(server->open());
    return {std::move(server)};
  } catch (const std::exception& e) {
    return fail(Code::IoError, "no server: {}", e.what());
  }
}

std::string http_answers(std::string_view bytes, const HttpServerOptions& options, const HttpHandler& handler) {
  std::ostringstream out;
  for (bool open = true; open && !bytes.empty();) {
    Parser parser;
    set_limits(parser, options);
    parser.eager(true);
    error_code error;
    for (std::size_t used = 1; used > 0 && !error && !parser.is_done();) {
      used = parser.put(asio::buffer(bytes.data(), bytes.size()), error);
      bytes.remove_prefix(used);
    }
    if (error == http::error::need_more || (!error && !parser.is_done())) break;  // waits for more
    const bool asks_first = !error && is_preflight(parser, options);
    const int status = error ? status_of(error) : asks_first ? 0 : refusal_of(parser, options);
    if (error && status == 0) break;
    const HttpResponse response = with_origin(status != 0  ? refused(status, target_of(parser), options.format_error)
                                              : asks_first ? preflight_response(parser)
                                                           : handle(handler, parser, options.format_error),
                                              parser, options);
    if (response.later) {
      out << bytes_of(response.later->take_all(), response, 11, is_head(parser));
      break;
    }
    open = status == 0 && parser.keep_alive();
    out << message_of(response, 11, open, parser.is_header_done() && is_head(parser));
  }
  return out.str();
}

#else
Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpServerOptions&, HttpHandler) {
  return fail(Code::Unsupported, "this build has no server: build it with libboost-dev installed");
}

std::string http_answers(std::string_view, const HttpServerOptions&, const HttpHandler&) { return {}; }
#endif

}  // namespace loom
