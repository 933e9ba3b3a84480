#pragma once
// Finds calls of functions in the text of an answer, piece by piece.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "server/call_form.h"

namespace loom::server {

struct ToolCall {
  std::string name, arguments;  // arguments: JSON text of an object
};

// A beginning of a call that is not complete, is no JSON or names no offered function, is text.
class CallReader {
 public:
  // `most`: later calls are left out.
  CallReader(CallForm form, std::vector<std::string> names, std::size_t most = static_cast<std::size_t>(-1));
  // Gives the schema of a function's arguments, which says what a value in tags is.
  void describe(std::string name, Json parameters) { schemas_[std::move(name)] = std::move(parameters); }

  struct Found {
    std::string text;  // in front of the calls, mostly
    std::vector<ToolCall> calls;
  };
  Found push(std::string_view text);
  Found finish();

 private:
  enum class State : std::uint8_t { Start, Text, Call, After, Plain };
  enum class Reading : std::uint8_t { More, Bad, Done };
  void run(Found& found, bool is_last);
  bool read_start(Found& found, bool is_last);
  bool read_text(Found& found, bool is_last);
  bool read_call(Found& found);
  bool read_after(bool is_last);
  Reading take_object(std::size_t begin);
  Reading read_json(ToolCall& call);
  Reading read_named(ToolCall& call);
  Reading read_tagged(ToolCall& call);
  Json value_of(const std::string& function, const std::string& key, std::string_view text) const;
  void begin_call(std::size_t cursor);
  void give_up(Found& found);
  bool is_offered(std::string_view name) const;
  std::size_t skip(std::size_t at, std::string_view bytes) const;

  CallForm form_;
  std::vector<std::string> names_;
  std::map<std::string, Json> schemas_;  // of functions
  std::size_t most_;
  std::size_t count_ = 0;
  State state_;
  std::string held_;        // text that was not given yet
  std::size_t cursor_ = 0;  // Call: after the marker
  // The object that is looked for, whose end may be still to come.
  std::size_t object_ = 0, scanned_ = 0, depth_ = 0, end_ = 0;
  bool has_object_ = false, in_text_ = false, is_escaped_ = false;
};

}  // namespace loom::server
