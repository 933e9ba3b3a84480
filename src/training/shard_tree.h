#pragma once
// Gradients of the shards of a batch, added up as a binary tree over their numbers, whatever the number of workers or
// processes that compute them (numerics 2).

#include <span>
#include <vector>

#include "training/trained_weights.h"

namespace loom {

// The gradients of some of a batch's shards, added as the tree over all of them adds them, and their share in the loss.
struct ShardSum {
  std::size_t first = 0, count = 0;        // is_shard_node()
  std::span<const std::byte> gradients{};  // of all weights that are trained, one after the other
  double loss = 0;                         // one that is not finite skips the step
};

// Returns whether shards [first, first + count) are what one node of the tree adds up: a sum of others has other bits.
bool is_shard_node(std::size_t first, std::size_t count, std::size_t shards);

// Adds up values as the tree over shards does.
double tree_sum(std::vector<double> values);

class ShardTree {
 public:
  ShardTree(const TrainedWeights& trained, Element element) : trained_(&trained), element_(element) {}
  Result<void> allocate(std::size_t shards, Device* device);

  // Copies the gradients of a session to those of a shard.
  void take(const Exec& exec, Gradients& from, std::size_t shard);
  // Leaves in shard `first` the sum of the node of shards [first, first + count).
  void add(const Exec& exec, std::size_t first, std::size_t count);
  // Copies the sum of all shards to a session, where updates look for gradients.
  void give(const Exec& exec, Gradients& to);

  // Bytes of the gradients of one shard.
  std::size_t shard_bytes() const { return trained_->elements() * bytes_of(element_); }
  std::span<const std::byte> gradients_of(std::size_t shard) const { return {shards_[shard].data(), shard_bytes()}; }
  // Adds up sums of nodes in shard 0 and returns the loss. InvalidArgument for shards that are missing or given twice;
  // ShapeMismatch for gradients of another network.
  Result<double> add_sums(const Exec& exec, std::span<const ShardSum> sums);

  std::size_t resident_bytes() const;

 private:
  // Calls f(gradient of the shard, gradient of the session) for each weight.
  template <class F>
  void each_weight(const Exec& exec, Gradients& session, std::size_t shard, const F& f);
  Tensor gradient(std::size_t shard);
  Result<void> check_sums(std::span<const ShardSum> sums) const;

  const TrainedWeights* trained_;
  Element element_;
  std::vector<Memory> shards_;  // gradients of all weights, one after the other
};

}  // namespace loom
