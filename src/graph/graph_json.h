#pragma once
// Graphs as JSON, the way that a layer's spec holds them (docs/reference/layers.md, "graph"):
//   {"opset", "inputs": [{"name", "type", "shape"}], "outputs": [names], "constants": [{"name", "type", "shape"}],
//    "nodes": [{"op", "inputs", "outputs", "name", "domain", "attributes": {key: {"i": 1}}}]}
// An extent of -1 in an input's shape is any. A constant has "values", a flat list of numbers, or "data", the Base64 of
// its little-endian bytes; one without either is a weight of the layer. The member of an attribute is named as in ONNX:
// i, f, s, ints, floats, strings, t (a constant without a name) and g (a body).

#include "core/json_fwd.h"
#include "graph/model.h"

namespace loom::graph {

// Constants without data stand for weights.
Json graph_to_json(const Model& model);
// InvalidConfig, UnknownName, CorruptData, SizeOverflow, NestingTooDeep, each with its place in the JSON. Names and
// operations are not looked at.
Result<Model> graph_from_json(const Json& json);

}  // namespace loom::graph
