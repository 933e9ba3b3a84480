#pragma once
// Signatures of networks (engine 9.1): the direction of every layer's weights, so that networks can be compared layer
// by layer whatever their numeric types and scales are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/network.h"

namespace loom {

// One layer. `weights`: the decoded values of the active version in flat order, the products of enabled adapters
// included, divided by their L2 norm; [1] for a kind without weights. A container's are its children's unit vectors,
// concatenated and divided by the norm of the result.
struct Signature {
  Address address;   // of the cell
  std::string path;  // "layers.3", "layers.3.sequential_layers.0"
  std::string type;  // the kind; that of the target for a link that shares
  DType dtype = DType::float32;
  std::vector<double> weights;
  bool is_cell = true;  // stands in the grid itself
  bool has_weights = true;

  // "z,y,x,l" of a cell, the path of what is nested.
  std::string key() const;
};

// In order of the grid, every cell before what is nested in it.
struct Dna {
  std::vector<Signature> signatures;
};

struct DnaOptions {
  bool nested = true;
  std::size_t max_values = std::size_t{1} << 28;  // of all signatures
};

// Works on a network without a plan too: links are followed by address. InvalidState for a weight without values;
// LimitExceeded.
Result<Dna> extract_dna(const Network& network, const DnaOptions& options = {});

// Cosine of two signatures (engine E-02), sums by lanes16: 0 when type or length differ; both zero 1, one zero 0.
double similarity(const Signature& a, const Signature& b);

// A layer whose weights stand elsewhere in the other network (engine E-04).
struct LogicShift {
  std::string source, target;  // keys in the first and in the second network
  double overlap = 0;
};

struct DnaComparison {
  struct Overlap {
    std::string key;
    double overlap = 0;
  };
  std::vector<Overlap> layers;         // coordinates in both, in order of the first network
  double overall = 0;                  // their mean; 0 without any
  double structural = 0;               // their sum over the number of coordinates in either
  std::vector<std::string> unmatched;  // coordinates in one only, those of the first network first
  std::vector<LogicShift> shifts;
};

// Cells, or with `nested` every layer, each by its own key.
DnaComparison compare_dna(const Dna& a, const Dna& b, bool nested = false);

// 1 - similarity of every layer of each network to the same layer of the first one and of the one before: how a run
// moved its weights. A layer that is not in both counts as 1.
struct DnaDrift {
  std::vector<std::string> keys;
  std::vector<std::vector<double>> from_first, from_previous;  // [network][key]; the first network's are 0
};
DnaDrift drift_of(std::span<const Dna> sequence, bool nested = false);

// Rows are layers of the first network, columns those of the second, a field's colour their similarity; frames mark
// logic shifts. InvalidArgument for more than 512 layers on a side.
Result<std::string> heat_map_svg(const Dna& a, const Dna& b, const DnaComparison& comparison, const std::string& name_a,
                                 const std::string& name_b, bool nested = false);

// The drift of a training: network 0 is the start, the others the ends of its epochs.
struct DriftRecord {
  DnaDrift drift;
  std::vector<std::string> kinds;                                    // by key
  std::vector<std::vector<LogicShift>> since_first, since_previous;  // by network; the start has none
};
// Rows are layers, columns epochs, a field's colour the drift since the epoch before on a scale of powers of ten; the
// last column is the drift since the start, frames mark logic shifts since the epoch before. More than 120 epochs share
// columns, each showing the largest. InvalidArgument for more than 512 layers or without an epoch.
Result<std::string> drift_map_svg(const DriftRecord& record, const std::string& name);

}  // namespace loom
