#pragma once
// How a chat template writes calls of functions. Templates do not say so: the form is read from what a template writes
// for messages with calls.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace loom::server {

// How arguments are written in tags, each as `open` KEY `middle` VALUE `close` (Qwen3-Coder, GLM-4.5, MiniMax-M2).
// Texts are written as they are, other values as JSON.
struct TaggedArguments {
  std::string prefix{};               // between the marker and the name
  std::string open{}, close{};        // without blanks around them
  std::vector<std::string> middle{};  // parts with blanks between them
  bool on_lines = false;              // a value has lines of its own
  std::string end{};                  // of the call, after the last argument
  // The texts between the parts with their blanks, as TaggedSyntax has them.
  std::string exact_open{}, exact_first{}, exact_inside{}, exact_next{}, exact_close{}, exact_none{};
};

// `open` NAME `middle` ARGUMENTS, for each further call `between` NAME `middle` ARGUMENTS, then `close`.
struct CallForm {
  // Json: name and arguments are members of an object. Named: the name stands in front of the arguments. Own: as Json,
  // for a template that knows no tools; Loom describes them in a system message. Tagged: see TaggedArguments.
  enum class Kind : std::uint8_t { Json, Named, Own, Tagged } kind = Kind::Own;
  std::string open{}, middle{}, between{}, close{};
  std::string marker{};  // the part of `open` with which calls begin in a text; empty: calls are the whole answer
  std::string ending{};  // the part of `close` that is no JSON
  bool several = true;   // false: the template writes one call per message
  TaggedArguments tagged{};

  bool is_json() const { return kind == Kind::Json || kind == Kind::Own; }
};

// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

struct CallFormTexts {
  std::string bos_token, eos_token;
  std::vector<std::string> ends{};  // that end a turn, beside `eos_token` and text::end_markers()
};

// Unsupported for a template that describes tools and writes calls in a form that is none of these kinds.
Result<CallForm> call_form_of(const ChatTemplate& chat_template, const CallFormTexts& texts);

// Special tokens whose text stands in the form.
std::vector<std::int32_t> visible_ids(const CallForm& form, const text::Tokenizer& tokenizer);

struct Function;
// Returns a form that was compiled before, or null.
using FindForm = std::function<std::shared_ptr<const Grammar>(const Grammar::Source&)>;
// `most_one`: one call, as in any case of arguments in tags; `is_optional`: text may stand in place of the calls.
// InvalidConfig with the place in "tools".
Result<std::shared_ptr<const Grammar>> call_grammar(const CallForm& form, std::span<const Function> functions,
                                                    bool most_one, bool is_optional, const FindForm& known = {});

// Adds a description of the functions to the messages, and turns calls and results into texts.
Json messages_in_own_form(const Json& messages, std::span<const Function> functions);

}  // namespace loom::server
