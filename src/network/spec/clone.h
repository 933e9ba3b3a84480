#pragma once
// Copies of layers and networks that share nothing that can change: the same settings, read and written through one
// list of fields, and the same weight values. (Encoded versions never change once made, so copies may point at the same
// ones.)

#include <functional>

#include "network/network.h"

namespace loom {

// `edit` sees the copy's settings before it is built, so a copy may differ from its source; weights whose shape then
// differs stay without a value. A weight that was tied is the copy's own. Errors of build() and of adapters.
Result<LayerPtr> clone_layer(const Layer& layer, const std::function<void(Layer&)>& edit = nullptr);
// Ties stay ties. A plan settles it (ForwardPlan::create).
Result<Network> clone_network(const Network& network);

// Visits the places of a layer's children: visit("sequential_layers.0", place). A caller that replaces a child builds
// the parent again and plans the network.
void visit_child_places(Layer& layer, const std::function<void(const std::string&, LayerPtr&)>& visit);
// The list of children under that key ("parallel_branches"); null when the layer has none.
std::vector<LayerPtr>* child_list(Layer& layer, std::string_view key);
// The layer's own setting `activation`; null when it has none.
Activation* activation_setting(Layer& layer);

}  // namespace loom
