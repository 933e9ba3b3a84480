#pragma once
// Names that people type: folded for comparison, and the nearest known ones for an error.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom {

// Lower case without '_' and '-'.
std::string folded_name(std::string_view text);
// "a|b|c" cut at the bars; nothing for "".
std::vector<std::string_view> split_names(std::string_view names);
// Untrusted text as an error may repeat it: at most 80 bytes, control and non-ASCII bytes as '?'.
std::string printable(std::string_view text);
// Up to three of `known`, by edit distance, joined by ", ".
std::string nearest_names(std::string_view wanted, std::span<const std::string_view> known);

// The index of the row that holds `name` among its names "a|b|c", or UnknownName with the nearest ones. Case, '_' and
// '-' do not count unless two names differ in nothing else, as crossentropy and cross_entropy do.
Result<std::size_t> find_name(std::string_view what, std::string_view name, std::span<const std::string_view> rows);

}  // namespace loom
