#pragma once
// The readers of 0.8x share this code: it finds the stores of a file by the layer they belong to, rewrites the keys of
// its layers to today's, and makes a network of both.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "legacy/files/blob.h"
#include "network/spec/spec.h"

namespace loom::loom08 {

// Keys of a layer with layers inside of it: lists, and one each.
inline constexpr std::array<std::string_view, 2> kLists = {"parallel_branches", "sequential_layers"};
inline constexpr std::array<std::string_view, 3> kSingles = {"meta_observed_layer", "filter_gate",
                                                             "filter_gate_config"};

struct Store {
  Blob blob;
  Steps place;           // in the document that names it
  bool is_q4_0 = false;  // blob.bytes with its own header
};

struct LayerStores {
  std::optional<Store> flat;           // weights in the order of Layer::visit_weights(), less those below
  std::optional<Store> biases;         // all biases of a swiglu
  std::map<std::string, Store> named;  // one weight each
};

// The key is the path of a layer ("layers.3.sequential_layers.0").
using Stores = std::map<std::string, LayerStores>;

// A document as today's reader takes it.
struct Converted {
  Json document;
  Steps place;  // of the document in its file
  Stores stores;
  std::vector<std::vector<std::byte>> texts;  // what stores of a checkpoint look at
  std::vector<std::size_t> empty_cells;       // written as layers, but nobody had given them one
};

// The blob of weights that version 1 cannot hold as they are: a container of version 2 (io/entity) with "tensors" and
// "weights", which 0.8x passes over, as it does the header's key "ext" that names it (engine F-24).
inline constexpr const char* kExactWeights = "network.ext.tensors";

// The member "scale" of a layer or blob; 0 where there is none that a float holds.
float scale_of(const Json& object);

// Moves the weights that the document holds as texts into `stores`, which may have some already, and writes the layers
// as today's reader takes them. CorruptData with the place.
Result<Converted> convert(Json document, Stores stores = {});

// The network with the values of all stores. NotFound for weights without and stores without a layer.
Result<SpecResult> build(const Converted& converted, SpecOptions options);

}  // namespace loom::loom08
