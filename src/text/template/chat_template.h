#pragma once
// Chat templates: the Jinja2 text that models carry to turn a list of messages into a prompt (engine ).
// Output equals what Hugging Face transformers gives: jinja2's immutable sandbox with trim_blocks, lstrip_blocks, break
// and continue, tojson without HTML escapes, raise_exception, strftime_now and {% generation %}. No template text can
// reach a file, a clock, or memory without bound. Unsupported: include, import, extends, block, autoescape, integers
// beyond 64 bits in arithmetic.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/json.h"

namespace loom {

struct TemplateLimits {
  // nodes evaluated, items visited, and one step per 64 bytes copied
  std::uint64_t max_steps = 20'000'000;
  std::size_t max_depth = 1000;                           // nested evaluations: bounds the stack
  std::size_t max_output_bytes = std::size_t{64} << 20;   // the rendered text
  std::size_t max_memory_bytes = std::size_t{512} << 20;  // live strings, lists and dicts of one render
  // looked at every few thousand steps: Cancelled once it is set
  const std::atomic<bool>* cancel = nullptr;
};

// The time that strftime_now formats: civil time, UTC by convention. The host fills it: a template never sees the real
// clock.
struct TemplateTime {
  int year = 1970, month = 1, day = 1;  // month and day count from 1
  int hour = 0, minute = 0, second = 0, microsecond = 0;
};
// Midnight of "YYYY-MM-DD". InvalidArgument for any other text and for days that no month has.
Result<TemplateTime> parse_template_date(std::string_view text);

// A parsed template. Immutable: many threads may render one at the same time.
// Parsing and rendering take up to 768 KiB of stack at the default limits.
class ChatTemplate {
 public:
  // TemplateError with the line for a syntax error, Unsupported for a tag we do not have, LimitExceeded when nested too
  // deeply.
  static Result<ChatTemplate> parse(std::string source);

  // `context` is an object; its members are the template's variables. TemplateError with the line and jinja2's words
  // (for raise_exception: the template's words), LimitExceeded beyond a limit, Cancelled by `limits.cancel`. Without
  // `now` the name strftime_now is undefined, so a template that has a date of its own for this case takes it; calling
  // it is a TemplateError.
  Result<std::string> render(const Json& context, const TemplateLimits& limits = {},
                             const std::optional<TemplateTime>& now = {}) const;

  const std::string& source() const;
  // Texts that the template writes: its text outside of tags and its strings, joined by null characters.
  std::string literal_text() const;

 private:
  struct Program;
  explicit ChatTemplate(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

// The variables that transformers' apply_chat_template passes: messages, tools and documents (null when absent),
// add_generation_prompt, the special tokens, and `extra` (for example {"enable_thinking": false}), whose members win.
// As in transformers 5, members of a message that are null are left out, and reasoning is found under each of the names
// reasoning_content and thinking.
struct ChatContext {
  Json messages = Json::array();  // [{"role": "user", "content": "..."}, ...]
  Json tools = nullptr;           // array of function schemas
  Json documents = nullptr;
  bool add_generation_prompt = false;
  // left out when empty, as transformers leaves out tokens that a tokenizer lacks
  std::string bos_token = {}, eos_token = {};
  std::map<std::string, std::string> special_tokens = {};  // others by name
  Json extra = Json::object();
};
// InvalidArgument when messages is no array or extra no object.
Result<Json> chat_context(const ChatContext& chat);

// Renders a conversation that ends inside of its last message, so that the model continues this message: without a
// generation prompt and without what the template writes after the message. InvalidArgument where there is no such
// message, or the template does not write it.
Result<std::string> render_to_continue(const ChatTemplate& chat_template, ChatContext chat,
                                       const TemplateLimits& limits = {}, const std::optional<TemplateTime>& now = {});

// Source of a named template of ours: chatml, llama2, llama3, mistral, tinyllama (also zephyr), plain,
// bitnet_instruction, bitnet_microsoft. NoTemplate for another name, with the list.
Result<std::string_view> builtin_template(std::string_view name);

}  // namespace loom
