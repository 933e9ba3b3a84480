#pragma once
// The layers of a stream's payload (engine F-70): reads the members of each kind as a layer of a network's spec with
// the values of its weights.

#include <optional>
#include <vector>

#include "bridge/payload_object.h"

namespace loom {

struct PlannedLayer {
  Json spec;                        // of a network, without weights
  std::vector<std::size_t> input;   // one sample as the layer reads it; empty: see `features`
  std::size_t features = 0;         // the last axis that it reads, whatever axes stand before; 0: any input
  std::vector<NamedValues> values;  // by the names of the layer's weights
  bool saves_skip = false;          // a norm, whose output the next residual adds
  bool adds_skip = false;           // a residual
  bool reads_tokens = false;        // an embedding
  std::size_t steps = 0;            // of sequences, where the layer says so
};

// The names of all kinds, in the order of the tabs of a comparison.
std::span<const std::string_view> payload_kinds();

// Where a layer of a payload stands.
struct PayloadPlace {
  Steps steps;
  std::size_t index = 0;
  std::string_view square_layout = "out_in";  // of square dense matrices without the key layout
};

// `kind` is the layer's own, or that of the payload where it has none. UnknownName, UnknownKey, InvalidConfig,
// ShapeMismatch, NonFinite with the place.
Result<PlannedLayer> plan_layer(const Json& layer, std::string_view kind, PayloadPlace place);

}  // namespace loom
