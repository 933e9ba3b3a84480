#pragma once
// The weights that a training moves, by parameter of its optimiser.

#include <optional>
#include <vector>

#include "learning/master_clamp.h"
#include "learning/optimizer.h"
#include "network/network.h"

namespace loom {

class TrainedWeights {
 public:
  struct Found {
    std::vector<Parameter> parameters;  // of the optimiser, in the order of the weights
    std::vector<Weight*> statistics;    // running statistics, which forward passes move
  };
  // Finds the weights of a network: layers with `trainable` false, and layers inside of them, freeze theirs (T-06).
  // InvalidArgument where none is left to train. Masters that were released are decoded.
  Result<Found> collect(Network& network, const MasterClamp& clamp, bool frozen_scales);

  std::span<Weight* const> weights() const { return weights_; }
  std::size_t elements() const;
  // Limit of the entries of a master; the optional is writable, since checkpoints restore it.
  std::optional<double>& limit(std::size_t parameter) const { return limits_[parameter]; }
  bool has_limits() const;

  // Makes the views of masters and gradients for the step that runs.
  void list(const Exec& exec, Gradients& from);
  const std::vector<Tensor>& masters() const { return masters_; }
  const std::vector<Tensor>& gradients() const { return gradients_; }
  std::span<const ConstTensor> const_gradients() const { return const_gradients_; }

  // Clamps the listed masters to their limits: after an update, before commit().
  void clamp_masters(const Exec& exec, ConstTensor failed) const;
  // Encodes the masters after an update.
  Result<void> commit(const Exec& exec, Weight::Values values);
  // Brings weights that moved on a device back to the host.
  Result<void> fetch();

 private:
  std::vector<Weight*> weights_;
  mutable std::vector<std::optional<double>> limits_;
  std::vector<Tensor> masters_, gradients_;
  std::vector<ConstTensor> const_gradients_;
};

}  // namespace loom
