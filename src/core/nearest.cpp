#include "core/nearest.h"

#include <algorithm>
#include <numeric>

namespace loom {

std::string folded_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 64))
    if (c != '_' && c != '-') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> out;
  while (!names.empty()) {
    const std::size_t bar = names.find('|');
    out.push_back(names.substr(0, bar));
    names = bar == std::string_view::npos ? std::string_view{} : names.substr(bar + 1);
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 80 ? out + "..." : out;
}

namespace {

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_names(std::string_view wanted, std::span<const std::string_view> known) {
  wanted = wanted.substr(0, 64);
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view name : known) ranked.emplace_back(distance(wanted, name), name);
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string_view>::first);
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i)
    out += (i ? ", " : "") + std::string(ranked[i].second);
  return out;
}

Result<std::size_t> find_name(std::string_view what, std::string_view name, std::span<const std::string_view> rows) {
  std::vector<std::string_view> known;
  std::vector<std::size_t> alike;  // rows with the name but for case, '_' and '-'
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (name.empty() && rows[i].empty()) return i;
    for (const std::string_view spelling : split_names(rows[i])) {
      if (spelling == name) return i;
      const bool is_alike = name.size() <= 64 && folded_name(spelling) == folded_name(name);
      if (is_alike && (alike.empty() || alike.back() != i)) alike.push_back(i);
      known.push_back(spelling);
    }
  }
  if (alike.size() == 1) return alike[0];
  return fail(Code::UnknownName, "{}{}\"{}\" is unknown; nearest: {}", what, what.empty() ? "" : " ", printable(name),
              nearest_names(name, known));
}

}  // namespace loom
