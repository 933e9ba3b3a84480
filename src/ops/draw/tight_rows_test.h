#pragma once
// Rows whose draw from all ids depends on the last digits of the sum of their weights.

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "core/philox.h"
#include "ops/draw/draw.h"
#include "simd/math64.h"

namespace loom::draw_test {

// The sum of all weights is 1 + 2^-digits (or 1 - 2^-digits) times the sum at which another id is drawn, or another
// number of ids kept by top_p.
struct TightRow {
  std::vector<float> logits;
  Drawing drawing;
  int digits = 0;
};

inline TightRow tight_row(std::mt19937_64& random, std::size_t cols) {
  constexpr float kBest = 8;
  TightRow made{std::vector<float>(cols), {.top_k = 0}, 8 + static_cast<int>(random() % 28)};
  // Logits of 1 to 8, every other id, then equal ones near 0, where floats are close.
  std::array<double, kMostDrawn> sums{};
  double sum = 0;
  for (std::size_t k = 0; k < kMostDrawn; ++k) {
    const auto logit = static_cast<float>(8 - 7 * pow64(static_cast<double>(k) / 255, 0.15));
    made.logits[2 * k + 5] = logit;
    sums[k] = sum += exp64(static_cast<double>(logit) - static_cast<double>(kBest));
  }
  const auto others = static_cast<double>(cols - kMostDrawn);
  const double some = others * exp64(-8);  // the others' weights at a logit of 0
  for (;;) {
    Drawing& d = made.drawing;
    d.seed = random(), d.position = static_cast<std::uint32_t>(random());
    const bool cuts = random() % 2 == 0;
    d.top_p = cuts ? std::uniform_real_distribution<float>(0.1f, 0.99f)(random) : 1;
    const RandomStream stream{d.seed, RandomDomain::Sample, d.position, d.session};
    const double part = static_cast<double>(cuts ? d.top_p : stream.uniform(0));
    const double error = std::ldexp(random() % 2 == 0 ? 1 : -1, -made.digits);
    const double all = sums[random() % 250] / part * (1 + error);
    const double rest = (all - sums[kMostDrawn - 1]) / some;
    if (!(rest > 0.4 && rest < 2.5)) continue;
    const auto logit = static_cast<float>(log64(rest));
    std::vector<bool> is_best(cols);
    for (std::size_t k = 0; k < kMostDrawn; ++k) is_best[2 * k + 5] = true;
    for (std::size_t i = 0; i < cols; ++i)
      if (!is_best[i]) made.logits[i] = logit;
    return made;
  }
}

}  // namespace loom::draw_test
