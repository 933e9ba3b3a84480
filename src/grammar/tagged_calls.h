#pragma once
// Calls of functions whose arguments stand in tags (Qwen3-Coder, GLM-4.5, MiniMax-M2 and others), as one form.

#include <memory>
#include <span>
#include <string>

#include "grammar/grammar.h"

namespace loom {

// `open` NAME `first` KEY `inside` VALUE, for each further argument `next` KEY `inside` VALUE, then `close`; without
// arguments `open` NAME `none`. Texts stand as they are and never hold `value_end`, other values are JSON.
struct TaggedSyntax {
  std::string open, first, inside, next, close, none, value_end;
  bool is_optional = false;  // as of CallSyntax, with a trigger
  std::string trigger;
};
struct TaggedCall {
  std::string name;
  const Json* schema = nullptr;
};

// One call. InvalidArgument with the number of the function for a schema with more than properties of its own, and for
// texts with keywords other than enum and const; errors of Grammar::from_schema().
Result<std::shared_ptr<const Grammar>> tagged_call_grammar(const TaggedSyntax& syntax,
                                                           std::span<const TaggedCall> functions);
// Returns the source of that grammar.
Grammar::Source source_of_tagged_calls(const TaggedSyntax& syntax, std::span<const TaggedCall> functions);

}  // namespace loom
