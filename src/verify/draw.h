#pragma once
// Choices of a trial: whole numbers from one Philox stream, in the order they are asked for, so that a trial is a
// function of (seed, number) on every platform. Two draws never stand in one expression, whose order a compiler would
// choose.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "core/philox.h"

namespace loom {

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint32_t number, std::string_view purpose)
      : stream_{seed, RandomDomain::Sample, number, random_site(purpose)} {}

  std::size_t below(std::size_t bound) { return stream_.below(next_++, static_cast<std::uint32_t>(bound)); }
  // Both ends included.
  std::size_t between(std::size_t low, std::size_t high) { return low >= high ? low : low + below(high - low + 1); }
  bool percent(std::size_t chance) { return below(100) < chance; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  std::string_view name(std::initializer_list<std::string_view> from) { return pick(from); }
  template <class T>
  const T& pick_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  // One of the divisors of n up to `most`.
  std::size_t divisor(std::size_t n, std::size_t most) {
    std::vector<std::size_t> all;
    for (std::size_t d = 1; d <= most && d <= n; ++d)
      if (n % d == 0) all.push_back(d);
    return pick_of(all);
  }
  // Small numbers and neighbours of the sizes at which blocks, lanes and panels end, up to `most`.
  std::size_t size(std::size_t most) {
    const std::size_t kind = below(10);
    std::size_t n = 1;
    if (kind < 3)
      n = between(1, 12);
    else if (kind < 6)
      n = pick<std::size_t>({16, 32, 48, 64, 80, 128, 256, 512}) + below(3) - 1;
    else if (kind < 9)
      n = between(13, 140);
    else
      n = between(141, 700);
    return std::max<std::size_t>(1, n > most ? between(1, most) : n);
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace loom
