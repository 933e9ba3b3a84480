// Species: networks compete among those that are built and weighted alike, so that a new shape has time to become good.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evolution/mutation/editor.h"
#include "evolution/population/population.h"

namespace loom {

Result<void> Population::assign_species(Workers& workers) {
  std::vector<Dna> dna(members_.size());
  LOOM_TRY_VOID(workers.each(members_.size(), [&](std::size_t i, Runner&) -> Result<void> {
    LOOM_TRY(dna[i], extract_dna(members_[i].network, {.nested = false}));
    return {};
  }));
  std::vector<Species> kept = std::move(species_);
  species_.clear();
  std::vector<std::size_t> place(kept.size(), ~std::size_t{0});  // of the old ones among those that live on
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto near = [&](const Species& s) {
      return 1 - compare_dna(s.dna, dna[i]).structural <= config_.species_distance;
    };
    std::size_t found = ~std::size_t{0};
    for (std::size_t s = 0; s < kept.size() && found == ~std::size_t{0}; ++s)
      if (near(kept[s])) {
        if (place[s] == ~std::size_t{0}) {
          place[s] = species_.size();
          species_.push_back({kept[s].dna, kept[s].best, kept[s].improved});
        }
        found = place[s];
      }
    for (std::size_t s = 0; s < species_.size() && found == ~std::size_t{0}; ++s)
      if (near(species_[s])) found = s;
    if (found == ~std::size_t{0}) {
      found = species_.size();
      species_.push_back({dna[i], -HUGE_VAL, generation_});
    }
    members_[i].species = found;
    const double score = members_[i].fitness->score();
    if (score > species_[found].best) species_[found].best = score, species_[found].improved = generation_;
  }
  return {};
}

// Places are shared out by the mean of each species' scores above the worst (fitness sharing); its champion lives on,
// and the better half has children.
std::vector<Population::Plan> Population::plan_by_species() {
  const std::vector<std::size_t> order = ranking();
  const std::vector<double> values = selection_values();
  std::vector<std::vector<std::size_t>> in(species_.size());
  for (const std::size_t i : order) in[members_[i].species].push_back(i);
  double worst = 0;
  bool any = false;
  for (const double v : values)
    if (!std::isnan(v)) worst = any ? std::min(worst, v) : v, any = true;
  const std::size_t best_species = members_[order[0]].species;
  std::vector<double> share(species_.size(), 0);
  double total = 0;
  for (std::size_t s = 0; s < species_.size(); ++s) {
    const bool stagnates = generation_ - species_[s].improved >= config_.stagnation && s != best_species;
    if (in[s].empty() || stagnates) continue;
    double sum = 0;
    for (const std::size_t i : in[s]) sum += std::isnan(values[i]) ? 0 : values[i] - worst;
    share[s] = sum / static_cast<double>(in[s].size()) + 1e-9;  // a level field is shared evenly
    total += share[s];
  }
  if (!std::isfinite(total)) {  // scores so far apart that the range of f64 ends between them: a level field
    total = 0;
    for (double& one : share) one = one > 0 ? 1 : 0, total += one;
  }
  std::vector<std::size_t> places(species_.size(), 0);
  std::vector<std::pair<double, std::size_t>> rest;
  std::size_t given = 0;
  for (std::size_t s = 0; s < species_.size(); ++s) {
    const double exact = total > 0 ? share[s] / total * static_cast<double>(config_.size) : 0;
    places[s] = static_cast<std::size_t>(exact);
    given += places[s];
    rest.emplace_back(exact - std::floor(exact), s);
  }
  std::ranges::stable_sort(rest, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t r = 0; given < config_.size; r = (r + 1) % rest.size())
    if (share[rest[r].second] > 0) ++places[rest[r].second], ++given;
  std::vector<Plan> plans;
  for (std::size_t s = 0; s < species_.size(); ++s) {
    const std::size_t parents = std::max<std::size_t>(1, in[s].size() / 2);
    for (std::size_t n = 0; n < places[s]; ++n) {
      const auto place = static_cast<std::uint32_t>(plans.size());
      if (n == 0) {
        plans.push_back({in[s][0], in[s][0], true, false});
        continue;
      }
      Draws draws(seed_, {generation_ + 1, place}, "", "parents");
      const std::size_t a = in[s][draws.below(parents)], b = in[s][draws.below(parents)];
      plans.push_back({a, b, false, draws.chance(config_.splice_rate)});
    }
  }
  return plans;
}

}  // namespace loom
