#include <cmath>
#include <nlohmann/json.hpp>

#include "data/csv/csv.h"

namespace loom {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Decimal {
  std::string_view whole, fraction;
  int exponent = 0;
  bool negative = false;
};

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal d;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    d.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  d.whole = take_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    d.fraction = take_digits(text);
  }
  if (d.whole.empty() && d.fraction.empty()) return std::nullopt;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    const bool below_one = !text.empty() && text[0] == '-';
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
    const auto digits = take_digits(text);
    if (digits.empty()) return std::nullopt;
    for (const char c : digits) d.exponent = d.exponent > 99999 ? d.exponent : d.exponent * 10 + (c - '0');
    if (below_one) d.exponent = -d.exponent;
  }
  if (!text.empty()) return std::nullopt;
  return d;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  const auto d = decimal_of(text);
  if (!d) return std::nullopt;
  // Integers below 2^53 and powers of ten up to 10^22 are exact, so one multiplication or division rounds once (Clinger
  // 1990).
  const auto scale = static_cast<long long>(d->exponent) - static_cast<long long>(d->fraction.size());
  if (d->whole.size() + d->fraction.size() <= 15 && scale >= -22 && scale <= 22) {
    double digits = 0, power = 1;
    for (const char c : d->whole) digits = digits * 10 + (c - '0');
    for (const char c : d->fraction) digits = digits * 10 + (c - '0');
    for (long long i = 0; i < (scale < 0 ? -scale : scale); ++i) power *= 10;
    const double value = scale < 0 ? digits / power : digits * power;
    return d->negative ? -value : value;
  }
  // The JSON reader rounds every other number, once it is spelt as JSON wants it.
  std::string_view whole = d->whole;
  while (whole.size() > 1 && whole[0] == '0') whole.remove_prefix(1);
  const std::string json = fmt::format("{}{}.{}e{}", d->negative ? "-" : "", whole.empty() ? "0" : whole,
                                       d->fraction.empty() ? "0" : d->fraction, d->exponent);
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

}  // namespace loom
