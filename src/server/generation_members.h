#pragma once
// Members of requests that say how an answer is drawn, for all kinds of requests that have them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/request_fields.h"

namespace loom::server {

// A text, a list of texts, or null.
Result<void> read_stop(const Json& stop, std::vector<std::string>& to);
Result<void> read_seed(const Json& seed, std::uint64_t& to);
// Sampling, stop texts and what else AnswerFields have, but the form of the answer.
Result<void> read_answer_members(const AnswerFields& fields, GenerationOptions& options);
// The form of the answer: `format`, which the member of this name holds, or one of vLLM's members. Null: a free one.
Result<std::shared_ptr<const Grammar>> read_grammar(const AnswerFields& fields, std::string_view format_member,
                                                    const Json& format);
// Compiles a schema, or a text that holds one. Errors begin with the member's name.
Result<std::shared_ptr<const Grammar>> from_schema_member(std::string_view member, const Json& schema);

}  // namespace loom::server
