#pragma once
// Shared by losses, optimisers and schedules: tables of names, checks of settings, powers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace loom {

// The index of the row that holds `name` among its names "a|b|c", or UnknownName with the nearest ones. Case, '_' and '-' do not count
// unless two names differ in nothing else, as crossentropy and cross_entropy do.
Result<std::size_t> find_name(std::string_view what, std::string_view name, std::span<const std::string_view> rows);

// InvalidConfig unless low <= value <= high; NaN never is.
Result<void> check_range(std::string_view where, std::string_view key, double value, double low, double high);

// b^t by squaring: at most 128 f64 multiplications, their order a function of t alone (engine T-25); below 2^-485 it is 0.
double whole_power(double b, std::uint64_t t);

}  // namespace loom
