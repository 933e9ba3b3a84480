#include "text/unicode/properties.h"

#include <algorithm>
#include <span>

namespace loom::text {
namespace {

const tables::PropertyName* find_name(std::span<const tables::PropertyName> names, std::string_view loose) {
  const auto it = std::ranges::lower_bound(names, loose, {},
                                           [](const tables::PropertyName& n) { return std::string_view(n.name); });
  return it != names.end() && loose == it->name ? &*it : nullptr;
}

std::uint32_t read_number(const std::uint8_t*& at) {
  std::uint32_t value = 0;
  for (int shift = 0;; shift += 7) {
    value |= (*at & 127u) << shift;
    if (*at++ < 128) return value;
  }
}

}  // namespace

std::string loose_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

std::uint32_t category_mask(std::string_view loose) {
  const auto* found = find_name({tables::kCategoryMasks, tables::kNumCategoryNames}, loose);
  return found ? found->value : 0;
}

bool property_ranges(std::string_view loose, std::vector<CodePointRange>& out) {
  const auto* found = find_name({tables::kPropertyNames, tables::kNumPropertyNames}, loose);
  if (!found) return false;
  const std::uint8_t* at = tables::kPropertyBytes + found->value;
  std::uint32_t last = 0;
  for (std::uint32_t left = read_number(at); left > 0; --left) {
    const std::uint32_t first = last + read_number(at);
    last = first + read_number(at);
    out.push_back({first, last});
  }
  return true;
}

const tables::FullFold* full_fold(std::uint32_t c) {
  const std::span folds(tables::kFullFold, tables::kNumFullFold);
  const auto it = std::ranges::lower_bound(folds, c, {}, &tables::FullFold::from);
  return it != folds.end() && it->from == c ? &*it : nullptr;
}

}  // namespace loom::text
