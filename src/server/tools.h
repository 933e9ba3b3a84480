#pragma once
// The functions that a request offers to the model, and whether it must call them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"

namespace loom::server {

struct Function {
  std::string name, description;
  Json parameters;      // a JSON Schema of the arguments; that of {} where none came
  bool strict = false;  // arguments fit the schema in any case
  Json shown{};         // name, description and parameters, as the request has them
};

struct Tools {
  std::vector<Function> functions;
  Json list = nullptr;  // as templates take them; null: none
  // Auto: the model decides; None: the functions are not shown to it; Required: calls, of `named` alone where it has a
  // name.
  enum class Choice : std::uint8_t { Auto, None, Required } choice = Choice::Auto;
  std::string named{};
  bool is_parallel = true;  // false: one call at most

  bool are_offered() const { return !functions.empty() && choice != Choice::None; }
  bool are_strict() const;
  // The ones that may be called.
  std::vector<Function> callable() const;
};

// A tool as the request's `family` writes it: OpenAI's chat completions and Ollama have {"type", "function": {...}},
// responses have the members of the function beside the type.
enum class ToolFamily : std::uint8_t { Nested, Flat };
// Null values are absent. InvalidConfig, Unsupported and UnknownKey with the place.
Result<Tools> read_tools(const Json& tools, const Json& choice, ToolFamily family);

// CorruptData where calls of assistants lack ids, and where results name no call that came before. `needs_ids`: false
// for Ollama, whose messages have none.
Result<void> check_calls(const Json& messages);

// The id of a call: nine letters and digits, as Mistral's templates demand, from `seed`, the call and its number.
std::string call_id(std::string_view seed, std::size_t number, std::string_view name, std::string_view arguments);

}  // namespace loom::server
