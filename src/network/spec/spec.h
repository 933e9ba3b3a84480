#pragma once
// Networks as JSON (engine 5): the text is untrusted, every error carries an RFC 6901 pointer, and writing what was
// read is canonical and a fixed point.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "graph/model.h"
#include "network/plan/plans.h"

namespace loom {

struct SpecOptions {
  bool strict = true;                                  // unknown keys are errors, else warnings
  bool initialise = true;                              // fill the weights; a checkpoint brings its own
  std::uint64_t max_weights = std::uint64_t{1} << 34;  // elements in all, checked before any is allocated
  // of memory for weights that are drawn: OutOfMemory beyond, before any is
  std::uint64_t max_bytes = ~std::uint64_t{0};
  // The graph in a file that a layer names; empty: layers may name none.
  std::function<Result<graph::Model>(const std::string& file)> read_graph{};
};

struct SpecResult {
  Network network;
  std::vector<std::string> warnings;
  Plans plans{};  // for one sample of settings.input_shape, where there is one: of steps if only the mesh can run it
};

// InvalidConfig, UnknownName, UnknownKey, ShapeMismatch, NestingTooDeep...: the first error's code, up to 32 messages
// joined by "; ".
Result<SpecResult> network_from_json(std::string_view text, const SpecOptions& options = {});
inline Result<SpecResult> network_from_json(const std::string& text, const SpecOptions& options = {}) {
  return network_from_json(std::string_view(text), options);
}
inline Result<SpecResult> network_from_json(const char* text, const SpecOptions& options = {}) {
  return network_from_json(std::string_view(text), options);
}
Result<SpecResult> network_from_json(const Json& spec, const SpecOptions& options = {});

// A network of transformer blocks (engine J-03): an arch_config, or an object that holds one under that name. Every
// cell is a sequential of residual [rmsnorm, mha] and residual [rmsnorm, swiglu of four times dModel]; initScale is the
// half width of uniform weights. Errors as above; UnknownKey, LimitExceeded beyond 2^16 cells.
Result<SpecResult> build_from_arch(const Json& arch_config, const SpecOptions& options = {});

// One layer without placement keys, its weights declared and not filled.
Result<LayerPtr> layer_from_json(const Json& spec, const SpecOptions& options = {});

// The stored form, of which files, digests and identities are made. Without weights: sorted keys, defaults left out.
Json network_to_json(const Network& network);
Json layer_to_json(const Layer& layer, DType default_dtype = DType::float32);
// The form that people read: as the stored one, but widths have the names of other frameworks (in_features,
// out_features, hidden_size, normalized_shape...). network_from_json() reads both.
Json printed_spec(const Network& network);
Json printed_spec(const Layer& layer);

// One weight as JSON: {dtype, codes, scales, zero_points, scale_granularity, group_size}, packed codes and factors in
// Base64 (engine F-10).
Result<Json> weight_to_json(const Weight& weight);

// JSON Schema (draft 2020-12) of a spec, for completion in editors.
Json spec_schema();
// Parts of it, for manuals: "properties" of that kind alone, of every layer, of links.
Json kind_schema(const LayerKind& kind);
Json layer_schema();
Json link_schema();

}  // namespace loom
