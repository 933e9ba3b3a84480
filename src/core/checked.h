#pragma once
// Arithmetic on sizes that come from outside: SizeOverflow instead of a wrap.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/error.h"

namespace loom {

inline Result<std::size_t> checked_mul(std::size_t a, std::size_t b) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return fail(Code::SizeOverflow, "{} x {} does not fit in memory", a, b);
  return product;
}

inline Result<std::size_t> checked_add(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return fail(Code::SizeOverflow, "{} + {} does not fit in memory", a, b);
  return sum;
}

inline Result<std::size_t> checked_product(std::initializer_list<std::size_t> factors) {
  std::size_t product = 1;
  for (const std::size_t f : factors) {
    LOOM_TRY(product, checked_mul(product, f));
  }
  return product;
}

constexpr std::size_t round_up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }
constexpr std::size_t ceil_div(std::size_t n, std::size_t d) { return (n + d - 1) / d; }

}  // namespace loom
