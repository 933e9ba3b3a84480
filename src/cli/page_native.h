#pragma once
// Answers of this computer's own engine, with which a page in a browser compares its hashes.

#include <memory>
#include <mutex>
#include <string>

#include "cli/common.h"
#include "core/json.h"
#include "http/http_message.h"

namespace loom::cli {

class NativeAnswers {
 public:
  // Opens the model, which must be one file. Errors of open_model() and open_session(); InvalidArgument for a folder;
  // Unsupported for a model without a tokenizer.
  static Result<std::unique_ptr<NativeAnswers>> open(const std::string& path, const CommonOptions& options);

  // {"name", "bytes", "sha256", "isa", "threads"}
  const Json& description() const { return description_; }
  // Answers {"messages": [..], "max_tokens", "temperature", "top_k", "top_p", "seed"} with {"hash", "text", "ids", ..}.
  // One request at a time: 503 for another one that comes meanwhile.
  HttpResponse answer(const std::string& body);

 private:
  NativeAnswers(LanguageModel model, std::unique_ptr<Session> session)
      : model_(std::move(model)), session_(std::move(session)) {}
  Result<Json> compute(const std::string& body);

  LanguageModel model_;
  std::unique_ptr<Session> session_;
  std::mutex one_at_a_time_;
  Json description_;
};

}  // namespace loom::cli
