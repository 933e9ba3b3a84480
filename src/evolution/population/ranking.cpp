#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evolution/population/population.h"

namespace loom {
namespace {

bool is_judged(const Fitness& f) {
  return !f.objectives.empty() && std::ranges::none_of(f.objectives, [](double v) { return !std::isfinite(v); });
}

bool dominates(const Fitness& a, const Fitness& b) {
  bool better = false;
  for (std::size_t i = 0; i < std::min(a.objectives.size(), b.objectives.size()); ++i) {
    if (a.objectives[i] < b.objectives[i]) return false;
    better = better || a.objectives[i] > b.objectives[i];
  }
  return better;
}

// Crowding distance within one front: sum over objectives of (distance between both neighbours) / (range of the
// objective); infinite at both ends.
void add_crowding(std::span<const Fitness* const> fitness, const std::vector<std::size_t>& front,
                  std::vector<double>& crowding) {
  for (std::size_t o = 0; o < fitness[front[0]]->objectives.size(); ++o) {
    std::vector<std::size_t> order = front;
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return fitness[a]->objectives[o] < fitness[b]->objectives[o]; });
    const double low = fitness[order.front()]->objectives[o], range = fitness[order.back()]->objectives[o] - low;
    crowding[order.front()] = crowding[order.back()] = std::numeric_limits<double>::infinity();
    if (!(range > 0) || !std::isfinite(range)) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i)
      crowding[order[i]] += (fitness[order[i + 1]]->objectives[o] - fitness[order[i - 1]]->objectives[o]) / range;
  }
}

}  // namespace

std::vector<std::size_t> pareto_ranks(std::span<const Fitness* const> fitness) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> rank(fitness.size(), kNone);
  std::size_t left = 0;
  for (const Fitness* f : fitness) left += is_judged(*f);
  std::size_t now = 0;
  for (; left > 0; ++now) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < fitness.size(); ++i) {
      if (rank[i] != kNone || !is_judged(*fitness[i])) continue;
      const bool beaten = [&] {
        for (std::size_t j = 0; j < fitness.size(); ++j)
          if (rank[j] == kNone && is_judged(*fitness[j]) && dominates(*fitness[j], *fitness[i])) return true;
        return false;
      }();
      if (!beaten) front.push_back(i);
    }
    for (const std::size_t i : front) rank[i] = now;
    left -= front.size();
  }
  for (std::size_t& r : rank)
    if (r == kNone) r = now;
  return rank;
}

std::vector<std::size_t> ranked(std::span<const Fitness* const> fitness) {
  std::vector<std::size_t> order(fitness.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool several = std::ranges::any_of(fitness, [](const Fitness* f) { return f->objectives.size() > 1; });
  if (!several) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const bool has_a = is_judged(*fitness[a]), has_b = is_judged(*fitness[b]);
      return has_a != has_b ? has_a : has_a && fitness[a]->score() > fitness[b]->score();
    });
    return order;
  }
  const std::vector<std::size_t> rank = pareto_ranks(fitness);
  std::vector<double> crowding(fitness.size());
  for (std::size_t r = 0;; ++r) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < rank.size(); ++i)
      if (rank[i] == r && is_judged(*fitness[i])) front.push_back(i);
    if (front.empty()) break;
    add_crowding(fitness, front, crowding);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return rank[a] != rank[b] ? rank[a] < rank[b] : crowding[a] > crowding[b];
  });
  return order;
}

}  // namespace loom
