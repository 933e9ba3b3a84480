#include "text/unicode/text_search.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace loom::text {

// Knuth, Morris, Pratt 1977.
void Finder::prepare() {
  if (!border_.empty()) return;
  border_.resize(needle_.size());
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < needle_.size(); ++i) {
    while (length > 0 && needle_[i] != needle_[length]) length = border_[length - 1];
    if (needle_[i] == needle_[length]) ++length;
    border_[i] = length;
  }
}

std::size_t Finder::find_by_table(std::string_view text, std::size_t from) {
  prepare();
  std::size_t length = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    while (length > 0 && text[i] != needle_[length]) length = border_[length - 1];
    if (text[i] == needle_[length]) ++length;
    if (length == needle_.size()) return i + 1 - length;
  }
  return npos;
}

std::size_t Finder::find(std::string_view text, std::size_t from) {
  const std::size_t size = needle_.size();
  if (size == 0) return from <= text.size() ? from : npos;
  // Byte by byte from every place with the right first byte, which is fastest on ordinary text; the table takes over once the bytes
  // compared exceed four times those passed.
  std::size_t work = 0;
  for (std::size_t i = from; i < text.size() && size <= text.size() - i;) {
    const void* first = std::memchr(text.data() + i, needle_[0], text.size() - size + 1 - i);
    if (!first) return npos;
    i = static_cast<std::size_t>(static_cast<const char*>(first) - text.data());
    const auto differs =
        std::mismatch(needle_.begin(), needle_.end(), text.begin() + static_cast<std::ptrdiff_t>(i)).first;
    if (differs == needle_.end()) return i;
    work += static_cast<std::size_t>(differs - needle_.begin());
    ++i;
    if (work > 64 + 4 * (i - from) && size <= std::numeric_limits<std::uint32_t>::max()) return find_by_table(text, i);
  }
  return npos;
}

std::size_t Finder::open_end(std::string_view text) {
  if (needle_.empty()) return 0;
  prepare();
  std::size_t length = 0;
  for (const char c : text.substr(text.size() - std::min(text.size(), needle_.size() - 1))) {
    while (length > 0 && c != needle_[length]) length = border_[length - 1];
    if (c == needle_[length]) ++length;
  }
  return length;
}

std::size_t find_last(std::string_view text, std::string_view needle) {
  if (needle.size() <= 1) return text.rfind(needle);
  const std::string reversed_text(text.rbegin(), text.rend()), reversed_needle(needle.rbegin(), needle.rend());
  const std::size_t at = Finder(reversed_needle).find(reversed_text);
  return at == Finder::npos ? at : text.size() - at - needle.size();
}

}  // namespace loom::text
