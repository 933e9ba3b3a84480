#pragma once
// Separates the thoughts of a reasoning model, which it writes as <think> ... </think> in front of its answer (Qwen3,
// DeepSeek-R1, SmolLM3 and others), from the answer.

#include <cstdint>
#include <string>
#include <string_view>

namespace loom::server {

class ThoughtReader {
 public:
  static constexpr std::string_view kOpen = "<think>", kClose = "</think>";

  // `is_open`: the prompt ends with kOpen, so the answer begins with thoughts.
  explicit ThoughtReader(bool is_open) : state_(is_open ? State::Thoughts : State::Start) {}

  // Holds text that can no longer change, without the marks and the blanks around them.
  struct Found {
    std::string thoughts, text;
  };
  Found push(std::string_view text);
  // Thoughts that were not closed are thoughts.
  Found finish();

 private:
  enum class State : std::uint8_t { Start, Thoughts, Gap, Text };

  void run(Found& found);
  bool read_start();
  bool read_thoughts(Found& found);

  State state_;
  bool has_thoughts_ = false;  // some are given already, so that blanks in front of the next ones count
  std::string held_;
};

}  // namespace loom::server
