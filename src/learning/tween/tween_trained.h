#pragma once
// The layers that a step of target propagation visits and the weights that they move, listed from the network when a
// session is made or takes a new plan.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "layers/weight_index.h"
#include "network/network.h"

namespace loom {

struct TweenConfig;

// Velocity of a weight, named by its path. Beside feedback weights velocities have no data.
struct TweenVelocity {
  std::string path;
  Tensor values;             // [1, elements] in the master's type
  Device* device = nullptr;  // device that stores them in TweenSession::state(); null: host memory
};

struct TweenTrained {
  struct LayerState {
    std::string path;
    std::vector<std::size_t> weights;  // positions in TweenTrained::weights
    std::vector<const Weight*> named;  // the same, as the layer knows them
    const Layer* layer = nullptr;
    double rate_scale = 1;
    bool trainable = true;
  };
  struct WeightState {
    Weight* weight = nullptr;
    std::size_t velocity = 0;
    std::optional<double> limit;  // of the master's entries (learning/master_clamp.h)
    double factor = 1;            // mirror: the kind's
    std::size_t kept_at = 0;      // mirror and dtp: bytes
    Memory memory, pending;       // velocity; what the uses of a shared weight have given so far
    Memory before;                // the velocity of the last step, with undo_velocities or keep_velocities()
    Tensor rate, figures;         // of the move of this step (ops/velocity)
    std::size_t last_use = 0;     // of a shared weight: the last that moved it
    bool is_shared = false;       // several layers or uses move it: at the end of the step
    bool collects = false;        // some use of this step has left something in `pending`
    bool touched = false;         // its velocity is that of this step
  };

  // Lists the layers, the weights and the cells that run; `wiring` is that of the plan. Velocities are at 0; without
  // `has_velocities` they take no memory. OutOfMemory; errors of masters that cannot be decoded.
  Result<void> collect(Network& network, const Wiring& wiring, const TweenConfig& config, bool has_velocities,
                       Device* device);
  // Makes room for every velocity as it was before a step, where there is none yet. OutOfMemory.
  Result<void> keep_velocities(Device* device);
  // Index of a layer, none for one that no step visits.
  std::optional<std::size_t> find(const Layer& layer) const {
    const auto found = index_.find(&layer);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const WeightState& w : weights) bytes += w.memory.size() + w.pending.size() + w.before.size();
    return bytes;
  }

  std::vector<LayerState> layers;
  std::vector<WeightState> weights;  // of the network, in its order; `weight` is null where none moves
  std::vector<TweenVelocity> velocities;
  std::vector<const Layer*> executed;  // cells of the grid that run

 private:
  Result<void> list_weights(Network& network, const TweenConfig& config, bool has_velocities, Device* device);
  void list_layers(Network& network);
  Result<void> find_shared(const Wiring& wiring, Device* device);

  std::map<const Layer*, std::size_t> index_;
  WeightIndex position_;
};

}  // namespace loom
