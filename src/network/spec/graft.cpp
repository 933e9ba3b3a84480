// Networks built from parts of others (engine V-39). Copies go through the spec: one way to say what a layer is, and
// one to fill it.

#include "core/json.h"
#include "layers/all.h"
#include "layers/parallel/parallel.h"
#include "layers/sequential/sequential.h"
#include "network/spec/spec.h"

namespace loom {
namespace {

// The same settings and the same values. A weight without a master is copied as what it stands for.
Result<LayerPtr> copy_of(const Layer& layer) {
  SpecOptions options;
  options.initialise = false;
  LOOM_TRY(LayerPtr copy, layer_from_json(layer_to_json(layer), options));
  std::vector<const Weight*> sources;
  visit_weights("", const_cast<Layer&>(layer), [&](const std::string&, Weight& w, Layer&) { sources.push_back(&w); });
  std::optional<Error> error;
  std::size_t next = 0;
  visit_weights("", *copy, [&](const std::string& name, Weight& w, Layer&) {
    const Weight* from = next < sources.size() ? sources[next++] : nullptr;
    if (error || from == nullptr || !from->has_value()) return;
    auto done = w.copy_from(*from);
    if (!done) error = std::move(done.error().in_source(name));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  // A copy of a weight that was tied is its own.
  visit_layers("", *copy, [](const std::string&, Layer& l) {
    if (LayerRef* tied = l.tied_to()) *tied = {};
  });
  return copy;
}

Result<const Layer*> first_cell(const Network& network) {
  const Layer* layer = network.cell(0).front();
  if (layer == nullptr) return fail(Code::LinkToEmpty, "graft: {} is empty", network.place_text(0));
  return layer;
}

// The first one's, but for its name. InvalidConfig where two compute otherwise.
Result<NetworkSettings> shared_settings(std::span<const Network* const> networks) {
  NetworkSettings settings = networks.front()->settings;
  for (const Network* network : networks)
    if (network->settings.activations != settings.activations ||
        network->settings.quantized_inputs != settings.quantized_inputs)
      return fail(Code::InvalidConfig, "graft: networks that differ in activations or quantized_inputs");
  settings.id = NetworkSettings().id;
  settings.name.clear();
  settings.metadata = {};
  return settings;
}

}  // namespace

Result<Network> graft_networks(std::span<const Network* const> networks, std::string_view combine_mode, bool share) {
  std::vector<LayerPtr> parts;
  for (const Network* network : networks) {
    LOOM_TRY(const Layer* layer, first_cell(*network));
    LOOM_TRY(LayerPtr copy, copy_of(*layer));
    if (Parallel* parallel = layer_as<Parallel>(*copy)) {
      for (LayerPtr& branch : parallel->take_branches()) parts.push_back(std::move(branch));
    } else {
      parts.push_back(std::move(copy));
    }
  }
  LOOM_TRY(LayerPtr container, layer_from_json(Json{{"type", "parallel"},
                                                    {"combine_mode", std::string(combine_mode)},
                                                    {"parallel_branches", Json::array()}}));
  const ParallelConfig config = layer_as<Parallel>(*container)->config();
  LOOM_TRY(Network grafted, Network::create({1, 1, 1, share ? parts.size() + 1 : 1}));
  if (!networks.empty()) {
    LOOM_TRY(grafted.settings, shared_settings(networks));
  }
  std::vector<LayerPtr> branches;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!share) {
      branches.push_back(std::move(parts[i]));
      continue;
    }
    parts[i]->common.is_disabled = true;  // stored in this cell, run by the branch that links to it
    LOOM_TRY_VOID(grafted.place({0, 0, 0, i + 1}, std::move(parts[i])));
    branches.push_back(std::make_unique<Share>(std::array<std::size_t, 4>{0, 0, 0, i + 1}));
  }
  auto parallel = std::make_unique<Parallel>(config, std::move(branches));
  LOOM_TRY_VOID(parallel->build());
  LOOM_TRY_VOID(grafted.place({}, std::move(parallel)));
  return grafted;
}

Result<Network> residual_graft(const Network& network) {
  LOOM_TRY(const Layer* layer, first_cell(network));
  LOOM_TRY(LayerPtr copy, copy_of(*layer));
  std::vector<LayerPtr> children;
  children.push_back(std::move(copy));
  auto around = std::make_unique<Sequential>(std::move(children), true);
  LOOM_TRY_VOID(around->build());
  LOOM_TRY(Network grafted, Network::create({}));
  const Network* const only = &network;
  LOOM_TRY(grafted.settings, shared_settings(std::span(&only, 1)));
  LOOM_TRY_VOID(grafted.place({}, std::move(around)));
  return grafted;
}

}  // namespace loom
