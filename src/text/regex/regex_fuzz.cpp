// Any pattern on any text: an answer or an Error, in bounded time. The first line is the pattern.

#include <cstdint>
#include <string_view>

#include "text/regex/regex.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace loom::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  const auto regex = Regex::compile(input.substr(0, line));
  if (!regex) return 0;
  const std::string_view text = input.substr(std::min(line + 1, input.size()));
  RegexMatcher matcher(*regex, text);
  Match m;
  std::size_t done = 0;
  for (auto found = matcher.next(m); found && *found; found = matcher.next(m)) {
    LOOM_ASSERT(m.begin >= done && m.end >= m.begin && m.end <= text.size());
    done = m.end;
  }
  return 0;
}
