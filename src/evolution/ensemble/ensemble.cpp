#include "evolution/ensemble/ensemble.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "layers/residual/residual.h"
#include "layers/sequential/sequential.h"
#include "network/spec/clone.h"

namespace loom {
namespace {

double share(const std::vector<bool>& mask) {
  return mask.empty() ? 0 : static_cast<double>(std::ranges::count(mask, true)) / static_cast<double>(mask.size());
}

}  // namespace

Result<std::vector<ComplementaryMatch>> find_complementary_matches(std::span<const ModelPerformance> models,
                                                                   double min_coverage) {
  std::vector<ComplementaryMatch> out;
  for (std::size_t a = 0; a < models.size(); ++a)
    for (std::size_t b = a + 1; b < models.size(); ++b) {
      const std::size_t n = models[a].mask.size();
      if (models[b].mask.size() != n)
        return fail(Code::ShapeMismatch, "masks of {} and {} cases", n, models[b].mask.size());
      std::size_t either = 0, both = 0;
      for (std::size_t i = 0; i < n; ++i)
        either += models[a].mask[i] || models[b].mask[i], both += models[a].mask[i] && models[b].mask[i];
      if (n == 0) continue;
      const double coverage = static_cast<double>(either) / static_cast<double>(n);
      if (coverage >= min_coverage) out.push_back({a, b, coverage, static_cast<double>(both) / static_cast<double>(n)});
    }
  std::ranges::stable_sort(out, [](const auto& x, const auto& y) {
    return x.coverage != y.coverage ? x.coverage > y.coverage : x.overlap < y.overlap;
  });
  return out;
}

double performance_similarity(const ModelPerformance& a, const ModelPerformance& b) {
  std::size_t in_a = 0, in_b = 0, both = 0;
  for (std::size_t i = 0; i < std::max(a.mask.size(), b.mask.size()); ++i) {
    const bool x = i < a.mask.size() && a.mask[i], y = i < b.mask.size() && b.mask[i];
    in_a += x, in_b += y, both += x && y;
  }
  if (in_a == 0 || in_b == 0) return in_a == in_b ? 1 : 0;
  return static_cast<double>(both) / (std::sqrt(static_cast<double>(in_a)) * std::sqrt(static_cast<double>(in_b)));
}

Result<std::int32_t> weighted_vote(std::span<const std::int32_t> votes, std::span<const double> weights) {
  if (votes.empty() || votes.size() != weights.size())
    return fail(Code::InvalidArgument, "{} votes with {} weights", votes.size(), weights.size());
  std::map<std::int32_t, double> sums;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (votes[i] < 0) return fail(Code::InvalidArgument, "vote {} is class {}", i, votes[i]);
    if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
      return fail(Code::InvalidArgument, "vote {} weighs {}", i, weights[i]);
    sums[votes[i]] += weights[i];
  }
  auto best = sums.begin();
  for (auto it = sums.begin(); it != sums.end(); ++it)
    if (it->second > best->second) best = it;
  return best->first;
}

Result<Network> ensemble_network(std::span<const Network* const> networks) {
  std::vector<Network> whole;
  for (const Network* network : networks) {
    std::vector<LayerPtr> cells;
    for (std::size_t i = 0; i < network->num_cells(); ++i) {
      if (!network->cell(i).runs()) continue;
      bool refers = false;
      visit_layers("", *network->cell(i).front(), [&](const std::string&, Layer& l) {
        Residual* residual = layer_as<Residual>(l);
        refers = refers || layer_as<Share>(l) != nullptr || (residual != nullptr && residual->reads_cell());
      });
      if (refers) return fail(Code::Unsupported, "{} refers to another cell by its address", network->place_text(i));
      LOOM_TRY(LayerPtr copy, clone_layer(*network->cell(i).layer));
      cells.push_back(std::move(copy));
    }
    auto sequence = std::make_unique<Sequential>(std::move(cells), false);
    LOOM_TRY_VOID(sequence->build());
    LOOM_TRY(Network one, Network::create({}));
    one.settings = network->settings;
    LOOM_TRY_VOID(one.place({}, std::move(sequence)));
    whole.push_back(std::move(one));
  }
  std::vector<const Network*> list;
  list.reserve(whole.size());
  for (const Network& n : whole) list.push_back(&n);
  return graft_networks(list, "avg");
}

Result<EnsembleReport> best_ensemble(const Islands& islands, const Task& task, Runner& runner) {
  std::vector<ModelPerformance> models;
  std::vector<const Network*> networks;
  std::size_t members = 0;
  std::string why;  // the first of those that are left out
  for (const Population& p : islands.populations())
    for (const Member& m : p.members()) {
      ++members;
      auto mask = task.right(runner, m.candidate());
      const Network* const one[] = {&m.network};
      const auto joined = mask ? ensemble_network(one) : tl::make_unexpected(mask.error());
      if (!joined) {
        if (why.empty()) why = fmt::format("; {}: {}", m.id.text(), joined.error().text());
        continue;
      }
      models.push_back({m.id.text(), std::move(*mask)});
      networks.push_back(&m.network);
    }
  LOOM_TRY(const auto matches, find_complementary_matches(models, 0));
  if (matches.empty()) return fail(Code::NotFound, "{} of {} members can be joined{}", models.size(), members, why);
  const ComplementaryMatch& match = matches.front();
  const Network* const pair[] = {networks[match.a], networks[match.b]};
  LOOM_TRY(Network joined, ensemble_network(pair));
  LOOM_TRY(const auto plan, ForwardPlan::create(joined, task.input()));
  LOOM_TRY(const std::vector<bool> mask, task.right(runner, {joined, *plan}));
  return EnsembleReport{{models[match.a].model, models[match.b].model},
                        match.coverage,
                        match.overlap,
                        share(mask),
                        std::max(share(models[match.a].mask), share(models[match.b].mask))};
}

}  // namespace loom
