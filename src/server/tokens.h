#pragma once
// POST /tokenize and /detokenize: texts and messages as the ids that the model reads, and back (vLLM's interface, with
// the names of llama.cpp's server as aliases).

#include <string_view>

#include "server/answers.h"

namespace loom::server {

Result<Json> tokenize(const Answers& answers, std::string_view body);
Result<Json> detokenize(const Answers& answers, std::string_view body);

}  // namespace loom::server
