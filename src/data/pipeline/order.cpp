#include "data/pipeline/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.h"
#include "data/dataset.h"

namespace loom {

void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch, std::uint32_t site) {
  const RandomStream stream{seed, RandomDomain::Shuffle, epoch, site};
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[stream.below(i, static_cast<std::uint32_t>(i + 1))]);
}

namespace {

Result<Split> split(std::vector<std::uint32_t> order, double fraction) {
  if (!(fraction >= 0 && fraction < 1))
    return fail(Code::OutOfRange, "validation fraction {}, expected 0 or more and below 1", fraction);
  const auto held = static_cast<std::size_t>(std::llround(static_cast<double>(order.size()) * fraction));
  if (held >= order.size())
    return fail(Code::OutOfRange, "validation fraction {} leaves none of {} samples to train", fraction, order.size());
  const auto border = order.end() - static_cast<std::ptrdiff_t>(held);
  return Split{{order.begin(), border}, {border, order.end()}};
}

Result<std::vector<std::uint32_t>> ascending(std::size_t samples) {
  if (samples > kMaxSamples) return fail(Code::LimitExceeded, "{} samples, at most {}", samples, kMaxSamples);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace

Result<Split> split_last(std::size_t samples, double fraction) {
  LOOM_TRY(auto order, ascending(samples));
  return split(std::move(order), fraction);
}

Result<Split> split_shuffled(std::size_t samples, double fraction, std::uint64_t seed) {
  LOOM_TRY(auto order, ascending(samples));
  shuffle(order, seed, 0, random_site("split"));
  LOOM_TRY(Split parts, split(std::move(order), fraction));
  std::ranges::sort(parts.training);
  std::ranges::sort(parts.validation);
  return parts;
}

}  // namespace loom
