#include "learning/names.h"

#include <algorithm>

#include "core/nearest.h"
#include "ops/scalar_sums.h"

namespace loom {

Result<std::size_t> find_name(std::string_view what, std::string_view name, std::span<const std::string_view> rows) {
  std::vector<std::string_view> known;
  std::vector<std::size_t> alike;  // rows with the name but for case, '_' and '-'
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::string_view spelling : split_names(rows[i])) {
      if (spelling == name) return i;
      if (name.size() <= 64 && folded_name(spelling) == folded_name(name)) alike.push_back(i);
      known.push_back(spelling);
    }
  if (alike.size() == 1) return alike[0];
  return fail(Code::UnknownName, "{} \"{}\" is not known; nearest: {}", what, printable(name), nearest_names(name, known));
}

Result<void> check_range(std::string_view where, std::string_view key, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail(Code::InvalidConfig, "{}: {} is {}, expected {} to {}", where, key, value, low, high);
}

double whole_power(double b, std::uint64_t t) {
  double power = 1;
  for (double square = b; t != 0 && power != 0; t /= 2) {
    if (t % 2 != 0) power = snap_one(power * square);
    square = snap_one(square * square);
  }
  return power;
}

}  // namespace loom
