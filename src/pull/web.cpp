#include "pull/web.h"

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "core/system.h"
#include "pull/curl_abi.h"
#include "pull/variable.h"

namespace loom::pull {

struct Web::Library {
  curl::Functions call;
  curl::Handle handle = nullptr;
};

namespace {

constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"};
constexpr std::size_t kMostHead = std::size_t{64} << 10;  // bytes of all header lines
constexpr std::size_t kMostBody = std::size_t{64} << 20;  // bytes of a body that is kept in memory
constexpr std::size_t kMostErrorBody = std::size_t{4} << 10;
constexpr long kConnectSeconds = 20, kStalledSeconds = 30, kBufferBytes = 256 << 10;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// A request under way.
struct Transfer {
  WebAnswer answer;
  const WebSink* sink = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  bool has_begun = false;
  std::size_t head_bytes = 0;
  Result<void> refused{};
};

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::size_t n = size * count;
  transfer.head_bytes += n;
  if (transfer.head_bytes > kMostHead) {
    transfer.refused = fail(Code::LimitExceeded, "the head of the answer has more than {} bytes", kMostHead);
    return 0;
  }
  read_header_line({bytes, n}, transfer.answer);
  return n;
}

std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::size_t n = size * count;
  const std::span data(reinterpret_cast<const std::byte*>(bytes), n);
  WebAnswer& answer = transfer.answer;
  const bool is_good = answer.status >= 200 && answer.status < 300;
  if (is_good && transfer.sink != nullptr) {
    if (!transfer.has_begun) transfer.has_begun = true, transfer.refused = transfer.sink->begin(answer);
    if (transfer.refused) transfer.refused = transfer.sink->data(data);
    return transfer.refused ? n : 0;
  }
  const std::size_t most = is_good ? kMostBody : kMostErrorBody;
  if (is_good && answer.body.size() + n > most) {
    transfer.refused = fail(Code::LimitExceeded, "the answer has more than {} bytes", most);
    return 0;
  }
  answer.body.append(bytes, std::min(n, most - answer.body.size()));
  return n;
}

int take_progress(void* user, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return static_cast<Transfer*>(user)->cancel->load(std::memory_order_relaxed) ? 1 : 0;
}

// Describes a failed request to a person.
WebFailure failure_of(curl::Code code, const std::string& words, const std::string& whole_url) {
  using namespace curl;
  const std::string url = whole_url.substr(0, whole_url.find('?'));  // what follows may be a secret of a signed address
  WebFailure out;
  const auto is = [&](std::initializer_list<curl::Code> codes) {
    return std::ranges::find(codes, code) != codes.end();
  };
  out.is_connection = is({kNoProxy, kNoHost, kNoConnection});
  out.may_pass = out.is_connection || is({kPartialFile, kTimeout, kTlsConnect, kGotNothing, kSendError, kReceiveError,
                                          kHttp2, kHttp2Stream});
  if (is({kBadCertificate}))
    out.error = {
        loom::Code::IoError,
        fmt::format("{}: its certificate is not trusted ({}); SSL_CERT_FILE names a file of authorities", url, words)};
  else if (is({kBadCaFile}))
    out.error = {loom::Code::IoError, fmt::format("the file of certificate authorities cannot be read ({})", words)};
  else if (is({kUnsupportedProtocol, kBadUrl}))
    out.error = {loom::Code::InvalidArgument,
                 fmt::format("{}: expected an address that begins with https:// ({})", url, words)};
  else
    out.error = {loom::Code::IoError, fmt::format("{}: {}{}", url, out.is_connection ? "no connection: " : "", words)};
  return out;
}

}  // namespace

std::string WebAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

void read_header_line(std::string_view line, WebAnswer& answer) {
  if (line.starts_with("HTTP/")) {
    answer.headers.clear();
    const std::size_t blank = line.find(' ');
    answer.status = 0;
    if (blank == line.npos) return;
    for (std::size_t i = blank + 1; i < std::min(line.size(), blank + 4); ++i) {
      if (line[i] < '0' || line[i] > '9') return;
      answer.status = answer.status * 10 + (line[i] - '0');
    }
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return;
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  answer.headers.emplace_back(std::move(name), std::string(trimmed(line.substr(colon + 1))));
}

Result<Web> Web::open(const std::atomic<bool>& cancel) {
  if (!os::can_open_libraries())
    return fail(Code::Unsupported,
                "this program is linked statically and cannot load libcurl, so it connects to no network; build Loom "
                "with ./run, or fetch models with: hf download");
  Web web;
  web.cancel_ = &cancel;
  web.library_ = std::make_unique<Library>();
  void* library = nullptr;
  const std::string named = variable("LOOM_CURL_LIB");
  if (!named.empty()) {
    library = os::open_library(named.c_str());
  } else {
    for (const char* const name : kNames)
      if (library == nullptr) library = os::open_library(name);
  }
  if (library == nullptr)
    return fail(Code::Unsupported, "{} cannot be loaded, and models are fetched by it; on Debian and Ubuntu: {}",
                named.empty() ? "libcurl" : named, "apt install libcurl4 ca-certificates");
#define LOOM_FIND(name, result, arguments)                                                        \
  web.library_->call.name =                                                                       \
      reinterpret_cast<decltype(web.library_->call.name)>(os::symbol_of(library, "curl_" #name)); \
  if (web.library_->call.name == nullptr) return fail(Code::Unsupported, "libcurl has no function curl_" #name);
  LOOM_CURL_FUNCTIONS(LOOM_FIND)
#undef LOOM_FIND
  if (web.library_->call.global_init(curl::kGlobalDefault) != curl::kOk)
    return fail(Code::Unsupported, "libcurl cannot be started");
  web.library_->handle = web.library_->call.easy_init();
  if (web.library_->handle == nullptr) return fail(Code::OutOfMemory, "out of memory for libcurl");
  return web;
}

Web::Web(Web&&) noexcept = default;
Web::~Web() {
  if (library_ != nullptr && library_->handle != nullptr) library_->call.easy_cleanup(library_->handle);
}

tl::expected<WebAnswer, WebFailure> Web::send(const WebRequest& request) {
  using namespace curl;
  const Functions& call = library_->call;
  const Handle handle = library_->handle;
  call.easy_reset(handle);  // connections stay open
  Transfer transfer;
  transfer.sink = request.sink, transfer.cancel = cancel_;
  std::array<char, kErrorBytes> words{};
  List* headers = nullptr;
  for (const std::string& header : request.headers) headers = call.slist_append(headers, header.c_str());
  const std::string ca_file = variable("SSL_CERT_FILE"), ca_folder = variable("SSL_CERT_DIR");
  call.easy_setopt(handle, kUrl, request.url.c_str());
  call.easy_setopt(handle, kProtocols, kHttp | kHttps);
  call.easy_setopt(handle, kFollowLocation, 0L);
  call.easy_setopt(handle, kNoSignal, 1L);
  call.easy_setopt(handle, kTcpKeepAlive, 1L);
  call.easy_setopt(handle, kConnectTimeout, kConnectSeconds);
  call.easy_setopt(handle, kLowSpeedLimit, 1L);
  call.easy_setopt(handle, kLowSpeedTime, kStalledSeconds);
  call.easy_setopt(handle, kBufferSize, kBufferBytes);
  call.easy_setopt(handle, kUserAgent, "loom/" LOOM_VERSION);
  call.easy_setopt(handle, kHttpHeader, headers);
  call.easy_setopt(handle, kErrorBuffer, words.data());
  call.easy_setopt(handle, request.head ? kNoBody : kHttpGet, 1L);
  call.easy_setopt(handle, kHeaderFunction, static_cast<WriteCallback>(take_header));
  call.easy_setopt(handle, kHeaderData, static_cast<void*>(&transfer));
  call.easy_setopt(handle, kWriteFunction, static_cast<WriteCallback>(take_body));
  call.easy_setopt(handle, kWriteData, static_cast<void*>(&transfer));
  call.easy_setopt(handle, kProgressFunction, static_cast<ProgressCallback>(take_progress));
  call.easy_setopt(handle, kProgressData, static_cast<void*>(&transfer));
  call.easy_setopt(handle, kProgressOff, 0L);
  if (!ca_file.empty()) call.easy_setopt(handle, kCaFile, ca_file.c_str());
  if (!ca_folder.empty()) call.easy_setopt(handle, kCaFolder, ca_folder.c_str());
  const curl::Code code = call.easy_perform(handle);
  char* redirect = nullptr;
  if (call.easy_getinfo(handle, kRedirectUrl, &redirect) == kOk && redirect != nullptr)
    transfer.answer.redirect = redirect;
  call.slist_free_all(headers);
  if (!transfer.refused) return tl::make_unexpected(WebFailure{std::move(transfer.refused).error()});
  if (cancel_->load(std::memory_order_relaxed))
    return tl::make_unexpected(WebFailure{{loom::Code::Cancelled, "interrupted"}});
  if (code != kOk) {
    const std::string text = words[0] != '\0' ? std::string(words.data()) : std::string(call.easy_strerror(code));
    return tl::make_unexpected(failure_of(code, text, request.url));
  }
  const bool is_good = transfer.answer.status >= 200 && transfer.answer.status < 300;
  if (is_good && request.sink != nullptr && !request.head && !transfer.has_begun)  // an empty body
    if (auto begun = request.sink->begin(transfer.answer); !begun)
      return tl::make_unexpected(WebFailure{std::move(begun).error()});
  return std::move(transfer.answer);
}

}  // namespace loom::pull
