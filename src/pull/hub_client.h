#pragma once
// Requests to a model hub: its addresses, redirects, a token that only its own host sees, and further attempts.

#include <functional>
#include <string>

#include "pull/repository.h"
#include "pull/web.h"

namespace loom::pull {

struct HubAddress {
  std::string base;   // "https://huggingface.co", without a slash at its end
  std::string token;  // empty: none
};
// HF_ENDPOINT (or `base`, unless empty), and HF_TOKEN or the file that HF_TOKEN_PATH names, as huggingface_hub reads
// them. InvalidArgument for a base that is no address, and where HF_HUB_OFFLINE forbids connections.
Result<HubAddress> hub_address(const std::string& base);

class HubClient {
 public:
  // `note` gets a line before each further attempt.
  HubClient(Web web, HubAddress address, int attempts, const std::atomic<bool>& cancel,
            std::function<void(const std::string&)> note);

  // Asks for the files of a revision. NotFound, IoError, CorruptData.
  Result<Repository> files(const std::string& model, const std::string& revision);
  // Asks for the size and the ETag of one file.
  Result<FileHead> head(const std::string& model, const std::string& commit, const std::string& path);
  // One attempt of a file's bytes from `offset` on. `etag` guards a range where the hub itself has the bytes.
  tl::expected<WebAnswer, WebFailure> get(const std::string& model, const std::string& commit, const std::string& path,
                                          const std::string& range, const std::string& etag, const WebSink& sink);
  // Waits before attempt number `attempt` after a failure. The failure as an error where there is none left, or it
  // would fail again.
  Result<void> wait_after(const WebFailure& failure, int attempt);
  // The failure that an answer's status stands for; `what` is the model and file.
  WebFailure failure_of(const WebAnswer& answer, const std::string& model, const std::string& what) const;

 private:
  tl::expected<WebAnswer, WebFailure> follow(const std::string& url, bool head, std::vector<std::string> headers,
                                             const std::string& etag, const WebSink* sink);
  Result<WebAnswer> ask(const std::string& url, bool head, const std::string& model, const std::string& what);
  std::string file_url(const std::string& model, const std::string& commit, const std::string& path) const;

  Web web_;
  HubAddress address_;
  int attempts_;
  const std::atomic<bool>* cancel_;
  std::function<void(const std::string&)> note_;
  bool has_answered_ = false;  // some request got an answer: there is a network
};

}  // namespace loom::pull
