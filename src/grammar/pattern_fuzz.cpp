// Any regular expression, and any text under it: an answer or an Error, after bounded work. A zero byte separates them.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "grammar/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using loom::Grammar;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(0, end);
  const auto made = Grammar::from_regex(text);
  if (!made) {
    LOOM_ASSERT(made.error().code == loom::Code::InvalidArgument || made.error().code == loom::Code::LimitExceeded);
    return 0;
  }
  const auto matches = (*made)->matches(input.substr(std::min(end + 1, size)));
  LOOM_ASSERT(matches || matches.error().code == loom::Code::LimitExceeded);
  return 0;
}
