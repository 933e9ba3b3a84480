#pragma once
// Weights of a network as tensors of an .entity, bit for bit: codes, scales and zero points, and the exact masters
// beside them.

#include <set>
#include <string>
#include <vector>

#include "dtypes/packing.h"
#include "io/entity/entity_tensors.h"
#include "network/network.h"

namespace loom {

class WeightTensors {
 public:
  struct Options {
    bool keep_master = false;                      // of weights whose type does not hold it
    const std::set<std::string>* paths = nullptr;  // the weights that are meant; null: all
  };
  // NoValue for a weight without one, with its path.
  static Result<WeightTensors> of(const Network& network, const Options& options);
  // Sections "tensors" and "weights", none where there is no tensor. They point into this object until the last write.
  Result<void> add_to(EntityWriter& writer) const;

 private:
  struct Packed {
    EntityTensor tensor;
    PackedMatrix parts;
  };
  Result<void> add(const std::string& path, const Weight& w, const QuantizedMatrix& q, EntityRole role);
  std::vector<Packed> tensors_;
};

// Gives the weights their tensors. CorruptData, ShapeMismatch with the path: a tensor of no weight, or of another type
// or shape than its weight; NotFound for a weight without, where the tensors are meant to be those of all.
Result<void> restore_weights(Network& network, std::span<const EntityTensor> tensors, bool all = true);

}  // namespace loom
