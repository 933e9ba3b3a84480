#pragma once
// The weights of a small network of float32 layers without layers inside them, found once and listed. Children that
// differ from their parents in weights alone, the common case of neuro-evolution, are bred by writing into a dead
// network of the same structure: the values, to the bit, that splice() and mutate() give a copy.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/sha256.h"
#include "evolution/mutation/mutation.h"
#include "evolution/splice/splice.h"

namespace loom {

class Genes {
 public:
  Genes() = default;
  // Not usable for networks with containers, links, adapters, ties, frozen weights, other types or more than 64 layers.
  // The lists point into the network's layers.
  explicit Genes(const Network& network);
  bool usable() const { return !layers_.empty(); }
  // The weights that network_digest() hashes.
  std::span<Weight* const> weights() const { return weights_; }

  // The values of `a`, mixed with those of `b` unless it is null; all three of one structure. commit() follows.
  // NonFinite.
  Result<void> take(const Genes& a, const Genes* b, const SpliceConfig& config);
  // Does the work of mutate() if its draws only move weights. False: they ask for more, and nothing was done.
  bool move(const MutationConfig& config, const MutationKey& key, MutationReport& report);
  // Makes the values visible to the networks. NonFinite.
  Result<void> commit(ThreadPool& pool);

 private:
  struct Place {
    std::string path;
    std::uint32_t site = 0;  // of its random stream when it is mixed
    bool is_trainable = true;
    std::size_t first = 0, last = 0;  // weights
  };
  std::span<Weight* const> of(const Place& place) const {
    return weights().subspan(place.first, place.last - place.first);
  }
  std::vector<Place> layers_;
  std::vector<Weight*> weights_;
};

}  // namespace loom
