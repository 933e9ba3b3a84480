#pragma once
// Shared by losses, optimisers and schedules: checks of settings, powers.

#include <cstdint>
#include <string_view>

#include "core/nearest.h"

namespace loom {

// InvalidConfig with the key as its place unless low <= value <= high; NaN never is.
Result<void> check_range(std::string_view where, std::string_view key, double value, double low, double high);

// b^t by squaring: at most 128 f64 multiplications, their order a function of t alone (engine T-25); below 2^-485 it is
// 0.
double whole_power(double b, std::uint64_t t);

}  // namespace loom
