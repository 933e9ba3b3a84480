#pragma once
// Networks that complete each other (engine E-31): which cases each gets right, which pairs cover the most, and what
// the pair is worth when it is built into one network and run.

#include <string>
#include <vector>

#include "evolution/population/islands.h"
#include "evolution/tasks/task.h"

namespace loom {

struct ModelPerformance {
  std::string model;
  std::vector<bool> mask;  // by case: right
};

struct ComplementaryMatch {
  std::size_t a = 0, b = 0;  // places in the list
  double coverage = 0;       // |A or B| / n
  double overlap = 0;        // |A and B| / n
};

// Pairs with a coverage of at least `min_coverage`, sorted by coverage descending, overlap ascending, then places.
// ShapeMismatch for masks of different lengths.
Result<std::vector<ComplementaryMatch>> find_complementary_matches(std::span<const ModelPerformance> models,
                                                                   double min_coverage);
// Cosine of the masks as vectors of 0 and 1; both empty of ones 1, one of them 0.
double performance_similarity(const ModelPerformance& a, const ModelPerformance& b);

// The class that the voters of the largest sum of weights name, added in the order of voters; the lowest of several.
// InvalidArgument without votes, for a negative class, and for a weight below 0 or not finite.
Result<std::int32_t> weighted_vote(std::span<const std::int32_t> votes, std::span<const double> weights);

// One network that runs all of these on one input and gives the mean of their outputs: cell 0 is a parallel (avg) of
// sequences of their cells. Unsupported for networks with links or skips between cells, whose addresses would lead
// elsewhere.
Result<Network> ensemble_network(std::span<const Network* const> networks);

struct EnsembleReport {
  std::vector<std::string> members;
  double coverage = 0, overlap = 0;
  double combined = 0;     // share of cases right, of the combined network as it runs
  double best_member = 0;  // of the better member alone
};
// The pair of current members with the largest coverage of the task's cases, built and judged. NotFound where fewer
// than two members run and can be joined, with the first reason.
Result<EnsembleReport> best_ensemble(const Islands& islands, const Task& task, Runner& runner);

}  // namespace loom
