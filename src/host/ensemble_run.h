#pragma once
// Several networks on the same inputs: their mean or their vote, and which of them complete each other.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "host/run_network.h"
#include "host/tensor_file.h"
#include "network/network.h"

namespace loom {

enum class EnsembleMode : std::uint8_t { Mean, Vote };
inline constexpr std::string_view kEnsembleModes[] = {"mean", "vote"};

struct EnsembleOptions {
  EnsembleMode mode = EnsembleMode::Mean;
  std::vector<double> weights{};  // of the members, at least 0 and not all 0; empty: all count the same
  double min_coverage = 0;        // of the matches that are reported
  NetworkRunOptions run{};        // of each member
  std::string targets_name{};     // of the file of targets, for errors
};

struct EnsembleInput {
  std::string name;  // of the member: its path
  Network* network;
};

struct EnsembleMember {
  std::string name;
  Digest hash{};                   // of its output
  std::optional<double> accuracy;  // share of the rows that it gets right, where there are targets
};

struct EnsembleMatch {
  std::size_t a = 0, b = 0;  // places of the members
  double coverage = 0, overlap = 0, cosine = 0;
  double combined = 0;  // share of the rows that the mean or vote of both gets right
};

struct EnsembleResult {
  EnsembleMode mode = EnsembleMode::Mean;
  Shape input_shape, output_shape;
  std::vector<EnsembleMember> members;
  std::vector<double> mean;           // weighted mean of the outputs, of Mean
  std::vector<std::int32_t> classes;  // of each row
  Digest hash{};                      // of `mean` as f64, or of `classes` as int32
  std::optional<double> accuracy;     // of the ensemble
  std::vector<EnsembleMatch> matches;
};

// Means are sums in f64, in the members' order, over the sum of the weights. ShapeMismatch for outputs of different
// shapes, InvalidArgument for fewer than two members or weights that do not fit, NonFinite for an output that is not;
// errors of run_network(), with the member's name.
Result<EnsembleResult> run_ensemble(std::span<const EnsembleInput> members, const Examples& data,
                                    const EnsembleOptions& options = {});
// With or without what the ensemble gave.
Json to_json(const EnsembleResult& result, bool with_output);
// "mean" or "vote".
std::string_view name(EnsembleMode mode);

}  // namespace loom
