#include "pull/hub_client.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/file.h"
#include "core/nearest.h"
#include "lm/hub.h"
#include "pull/variable.h"

namespace loom::pull {
namespace {

constexpr int kMostRedirects = 10;
constexpr int kLongestWait = 60;  // seconds between two attempts

bool is_true(std::string value) {
  for (char& c : value)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Without the line breaks that a file or a variable may end in.
std::string stripped(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \r\n\t");
  return begin == text.npos ? std::string() : text.substr(begin, text.find_last_not_of(" \r\n\t") + 1 - begin);
}

Result<std::string> token_of_environment() {
  std::string token = stripped(variable("HF_TOKEN"));
  if (token.empty()) token = stripped(variable("HUGGING_FACE_HUB_TOKEN"));
  if (token.empty() && !is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    std::string path = variable("HF_TOKEN_PATH");
    if (path.starts_with("~/")) path = variable("HOME") + path.substr(1);
    if (path.empty()) path = hub_home() + "/token";
    if (const auto text = read_text_file(path, 4096)) token = stripped(*text);
  }
  const bool is_printable = std::ranges::all_of(token, [](char c) { return c > 32 && c < 127; });
  if (!is_printable) return fail(Code::InvalidArgument, "the token of the hub has blanks or characters outside ASCII");
  return token;
}

}  // namespace

Result<HubAddress> hub_address(const std::string& base) {
  if (is_true(variable("HF_HUB_OFFLINE")))
    return fail(Code::InvalidArgument, "HF_HUB_OFFLINE is set, which forbids connections to the hub");
  HubAddress out;
  out.base = base.empty() ? variable("HF_ENDPOINT") : base;
  if (out.base.empty()) out.base = "https://huggingface.co";
  while (out.base.ends_with('/')) out.base.pop_back();
  if (origin_of(out.base).empty() || out.base.find_first_of("?#") != out.base.npos)
    return fail(Code::InvalidArgument, "{}: expected the address of a hub, as https://huggingface.co",
                printable(out.base));
  LOOM_TRY(out.token, token_of_environment());
  return out;
}

HubClient::HubClient(Web web, HubAddress address, int attempts, const std::atomic<bool>& cancel,
                     std::function<void(const std::string&)> note)
    : web_(std::move(web)),
      address_(std::move(address)),
      attempts_(attempts),
      cancel_(&cancel),
      note_(std::move(note)) {}

// Follows redirects. The head of a file is that of the hub, so a request for it stops before it leaves the hub's host.
tl::expected<WebAnswer, WebFailure> HubClient::follow(const std::string& url, bool head,
                                                      std::vector<std::string> headers, const std::string& etag,
                                                      const WebSink* sink) {
  const std::string home = origin_of(address_.base);
  std::string at = url;
  headers.emplace_back("Accept-Encoding: identity");
  for (int hop = 0; hop < kMostRedirects; ++hop) {
    WebRequest request{at, head, headers, sink};
    const std::string origin = origin_of(at);
    if (origin == home) {
      if (!address_.token.empty() && is_private_origin(origin))
        request.headers.push_back("Authorization: Bearer " + address_.token);
      // Another host has an ETag of its own for the same bytes, so its ranges have no guard.
      if (!etag.empty()) request.headers.push_back(fmt::format("If-Range: \"{}\"", etag));
    }
    auto answer = web_.send(request);
    if (!answer) return answer;
    has_answered_ = true;
    if (!is_redirect(answer->status) || answer->redirect.empty()) return answer;
    const std::string next = origin_of(answer->redirect);
    if (next.empty() || (origin.starts_with("https://") && !next.starts_with("https://")))
      return tl::make_unexpected(
          WebFailure{{Code::IoError, fmt::format("{}: a redirect to {}, expected an address that begins with https://",
                                                 url, printable(answer->redirect))}});
    if (head && next != home) return answer;
    at = answer->redirect;
  }
  return tl::make_unexpected(
      WebFailure{{Code::IoError, fmt::format("{}: more than {} redirects", url, kMostRedirects)}});
}

WebFailure HubClient::failure_of(const WebAnswer& answer, const std::string& model, const std::string& what) const {
  WebFailure out;
  const std::string code = answer.header("x-error-code");
  const std::string page = fmt::format("{}/{}", address_.base, model);
  const std::string login = address_.token.empty() ? "set HF_TOKEN or log in with: hf auth login"
                                                   : "the token that was sent does not allow it";
  const int status = out.status = answer.status;
  out.may_pass = status == 408 || status == 429 || status >= 500;
  if (code == "GatedRepo" || status == 403)
    out.error = {Code::IoError, fmt::format("{}: status {}, access is restricted: accept the terms at {}; {}", what,
                                            status, page, login)};
  else if (code == "RevisionNotFound")
    out.error = {Code::NotFound, fmt::format("{}: the model has no such revision at {}", what, page)};
  else if (status == 401)
    out.error = {Code::NotFound,
                 fmt::format("{}: status 401, there is no such model at {}, or it is private or gated; {}", what,
                             address_.base, login)};
  else if (status == 404)
    out.error = {Code::NotFound, fmt::format("{}: status 404, not found at {}", what, address_.base)};
  else
    out.error = {Code::IoError, fmt::format("{}: {} answered with status {}{}", what, address_.base, status,
                                            status == 429 ? ", too many requests" : "")};
  const auto seconds = read_count(answer.header("retry-after"));
  if (out.may_pass && seconds) out.wait_seconds = static_cast<int>(std::min<std::uint64_t>(*seconds, kLongestWait));
  return out;
}

Result<void> HubClient::wait_after(const WebFailure& failure, int attempt) {
  if (!failure.may_pass || attempt >= attempts_ || (failure.is_connection && !has_answered_))
    return tl::make_unexpected(failure.error);
  const int seconds = failure.wait_seconds.value_or(std::min(1 << std::min(attempt - 1, 6), kLongestWait));
  note_(fmt::format("{}; attempt {} of {} in {} s", failure.error.text(), attempt + 1, attempts_, seconds));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (cancel_->load(std::memory_order_relaxed)) return fail(Code::Cancelled, "interrupted");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

Result<WebAnswer> HubClient::ask(const std::string& url, bool head, const std::string& model, const std::string& what) {
  for (int attempt = 1;; ++attempt) {
    auto answer = follow(url, head, {}, {}, nullptr);
    if (answer && answer->status < 400) return *std::move(answer);
    LOOM_TRY_VOID(wait_after(answer ? failure_of(*answer, model, what) : answer.error(), attempt));
  }
}

Result<Repository> HubClient::files(const std::string& model, const std::string& revision) {
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}?blobs=true", address_.base, model, url_encoded(revision, false));
  const std::string what = revision == "main" ? model : fmt::format("{} at {}", model, revision);
  LOOM_TRY(const WebAnswer answer, ask(url, false, model, what));
  auto read = read_repository(answer.body);
  if (!read) return at(fmt::format("{}: the list of files from {}", what, address_.base), std::move(read).error());
  return read;
}

std::string HubClient::file_url(const std::string& model, const std::string& commit, const std::string& path) const {
  return fmt::format("{}/{}/resolve/{}/{}", address_.base, model, commit, url_encoded(path, true));
}

Result<FileHead> HubClient::head(const std::string& model, const std::string& commit, const std::string& path) {
  const std::string what = fmt::format("{}/{}", model, path);
  LOOM_TRY(const WebAnswer answer, ask(file_url(model, commit, path), true, model, what));
  if (const std::string got = answer.header("x-repo-commit"); !got.empty() && got != commit)
    return fail(Code::CorruptData, "{}: the file is of commit {}, expected {}", what, printable(got), commit);
  auto read = read_file_head(answer);
  if (!read) return at(what, std::move(read).error());
  return read;
}

tl::expected<WebAnswer, WebFailure> HubClient::get(const std::string& model, const std::string& commit,
                                                   const std::string& path, const std::string& range,
                                                   const std::string& etag, const WebSink& sink) {
  std::vector<std::string> headers;
  if (!range.empty()) headers.push_back("Range: bytes=" + range);
  auto answer = follow(file_url(model, commit, path), false, std::move(headers), range.empty() ? "" : etag, &sink);
  if (answer && (answer->status < 200 || answer->status >= 300))
    return tl::make_unexpected(failure_of(*answer, model, fmt::format("{}/{}", model, path)));
  return answer;
}

}  // namespace loom::pull
