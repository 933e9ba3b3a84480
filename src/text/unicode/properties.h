#pragma once
// Character properties by name, as after \p in a pattern, and case folds of one character to several. Unicode 16.0.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loom::text {

namespace tables {
struct PropertyName {
  const char* name;
  std::uint32_t value;  // mask of categories, or place in kPropertyBytes
};
struct FullFold {
  std::uint32_t from;
  std::uint32_t to[3];  // 0 after the last one
};
extern const std::size_t kNumCategoryNames, kNumPropertyNames, kNumFullFold;
extern const PropertyName kCategoryMasks[], kPropertyNames[];  // sorted by name
extern const std::uint8_t kPropertyBytes[];  // of each set: the number of ranges, then gap and length of each
extern const FullFold kFullFold[];           // sorted by code point
}  // namespace tables

// A name in small letters without spaces, hyphens and underscores: how names are compared (UAX #44, UAX44-LM3).
std::string loose_name(std::string_view name);

// Mask of a general category or a group of them; 0 for another name. Takes a loose name.
std::uint32_t category_mask(std::string_view loose);

struct CodePointRange {
  std::uint32_t first, last;
};
// Ranges of a script, a block ("in" and its name) or a binary property; false for another name. Takes a loose name.
bool property_ranges(std::string_view loose, std::vector<CodePointRange>& out);

// The full case fold of a character that has one of several characters, or null.
const tables::FullFold* full_fold(std::uint32_t c);

}  // namespace loom::text
