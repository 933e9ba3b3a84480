#include "learning/names.h"

#include "simd/orders.h"

namespace loom {

Result<void> check_range(std::string_view where, std::string_view key, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail_at({std::string(key)}, Code::InvalidConfig, "{}: expected {} to {}, got {}", where, low, high, value);
}

double whole_power(double b, std::uint64_t t) {
  double power = 1;
  for (double square = b; t != 0 && power != 0; t /= 2) {
    if (t % 2 != 0) power = snap(power * square);
    square = snap(square * square);
  }
  return power;
}

}  // namespace loom
