#include "learning/tween/tween_trained.h"

#include <algorithm>
#include <functional>

#include "learning/master_clamp.h"
#include "learning/tween/tween.h"

namespace loom {
namespace {

// A layer and those inside it, with what the settings of all its containers say about training.
void visit_trained(const std::string& path, Layer& layer, bool trainable, double scale,
                   const std::function<void(const std::string&, Layer&, bool, double)>& visit) {
  trainable = trainable && layer.common.trainable;
  scale *= layer.common.learning_rate_scale;
  visit(path, layer, trainable, scale);
  layer.visit_children([&](const std::string& below, Layer& child) {
    visit_trained(path + "." + below, child, trainable, scale, visit);
  });
}

}  // namespace

Result<void> TweenTrained::collect(Network& network, const Wiring& wiring, const TweenConfig& config,
                                   bool has_velocities, Device* device) {
  LOOM_TRY_VOID(list_weights(network, config, has_velocities, device));
  list_layers(network);
  return find_shared(wiring, device);
}

Result<void> TweenTrained::list_weights(Network& network, const TweenConfig& config, bool has_velocities,
                                        Device* device) {
  std::optional<Error> error;
  position_ = WeightIndex(network.weights());
  weights.resize(position_.size());
  network.visit_weights([&](const std::string& path, Weight& w, const Layer&) {
    if (error || w.role() == WeightRole::Statistic || w.is_frozen()) return;
    WeightState& state = weights[position_.of(w)];
    if (auto ready = w.ensure_master(); !ready) return void(error = std::move(ready.error().in_source(path)));
    state.weight = &w, state.velocity = velocities.size();
    const Element element = w.master64().empty() ? Element::f32 : Element::f64;
    for (Memory* memory : {&state.memory, config.undo_velocities ? &state.before : nullptr}) {
      if (memory == nullptr || !has_velocities) continue;
      auto made = Memory::create(device, w.elements() * bytes_of(element));
      if (!made) return void(error = std::move(made).error());
      *memory = std::move(*made);
    }
    velocities.push_back({path, {has_velocities ? state.memory.data() : nullptr, 1, w.elements(), element}});
    state.limit = master_limit(config.clamp_master, w);
  });
  return error ? Result<void>(tl::make_unexpected(*std::move(error))) : Result<void>();
}

Result<void> TweenTrained::keep_velocities(Device* device) {
  for (WeightState& state : weights)
    if (state.before.size() != state.memory.size()) {
      LOOM_TRY(state.before, Memory::create(device, state.memory.size()));
    }
  return {};
}

void TweenTrained::list_layers(Network& network) {
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    const Cell& cell = network.cell(i);
    if (cell.runs()) executed.push_back(cell.front());
    const auto visit = [&](const std::string& path, Layer& layer, bool trainable, double scale) {
      LayerState state{path, {}, {}, &layer, scale, trainable};
      layer.visit_all_weights([&](Weight& w) {
        const std::size_t at = position_.of(w);
        if (at >= weights.size() || weights[at].weight == nullptr || w.is_frozen()) return;
        state.weights.push_back(at), state.named.push_back(&w);
      });
      index_[&layer] = layers.size();
      layers.push_back(std::move(state));
    };
    if (cell.link) visit_trained(Network::path(i), *cell.front(), true, 1, visit);
    if (cell.layer) visit_trained(Network::path(i), *cell.layer, true, 1, visit);
  }
}

// A weight that several layers name, or that links lead to, may be met more than once in a step.
Result<void> TweenTrained::find_shared(const Wiring& wiring, Device* device) {
  std::vector<std::size_t> owners(weights.size());
  for (const LayerState& state : layers)
    for (const std::size_t at : state.weights) weights[at].is_shared |= owners[at]++ > 0;
  for (const LayerState& state : layers) {
    const Share* share = layer_as<Share>(*state.layer);
    Layer* const target = share == nullptr ? nullptr : share->target_in(&wiring);
    if (target == nullptr) continue;
    visit_layers("", *target, [&](const std::string&, Layer& layer) {
      if (const auto found = find(layer))
        for (const std::size_t at : layers[*found].weights) weights[at].is_shared = true;
    });
  }
  for (WeightState& weight : weights)
    if (weight.is_shared) {
      LOOM_TRY(weight.pending, Memory::create(device, weight.memory.size()));
    }
  return {};
}

}  // namespace loom
