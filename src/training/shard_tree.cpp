#include "training/shard_tree.h"

#include <bit>

#include "ops/all.h"

namespace loom {

bool is_shard_node(std::size_t first, std::size_t count, std::size_t shards) {
  if (count == 0 || first >= shards || count > shards - first) return false;
  const std::size_t whole = std::bit_ceil(count);
  return first % whole == 0 && (count == whole || first + count == shards);
}

double tree_sum(std::vector<double> values) {
  for (std::size_t stride = 1; stride < values.size(); stride *= 2)
    for (std::size_t s = 0; s + stride < values.size(); s += 2 * stride) values[s] += values[s + stride];
  return values.front();
}

Result<void> ShardTree::allocate(std::size_t shards, Device* device) {
  shards_.resize(shards);
  for (Memory& memory : shards_) {
    LOOM_TRY(memory, Memory::create(device, shard_bytes()));
  }
  return {};
}

template <class F>
void ShardTree::each_weight(const Exec& exec, Gradients& session, std::size_t shard, const F& f) {
  std::byte* at = shards_[shard].data();
  for (const Weight* w : trained_->weights()) {
    const Tensor own{at, 1, w->elements(), element_};
    f(own, Tensor{session.of(exec, *w), 1, w->elements(), element_});
    at += own.bytes();
  }
}

void ShardTree::take(const Exec& exec, Gradients& from, std::size_t shard) {
  each_weight(exec, from, shard, [&](const Tensor& own, const Tensor& theirs) { copy(exec, theirs, own); });
}

Tensor ShardTree::gradient(std::size_t shard) { return {shards_[shard].data(), 1, trained_->elements(), element_}; }

void ShardTree::add(const Exec& exec, std::size_t first, std::size_t count) {
  for (std::size_t stride = 1; stride < count; stride *= 2)
    for (std::size_t s = first; s + stride < first + count; s += 2 * stride)
      loom::add(exec, gradient(s), gradient(s + stride), gradient(s));
}

void ShardTree::give(const Exec& exec, Gradients& to) {
  each_weight(exec, to, 0, [&](const Tensor& own, const Tensor& theirs) { copy(exec, own, theirs); });
}

Result<void> ShardTree::check_sums(std::span<const ShardSum> sums) const {
  std::vector<bool> has_shard(shards_.size());
  for (const ShardSum& sum : sums) {
    if (!is_shard_node(sum.first, sum.count, shards_.size()))
      return fail(Code::InvalidArgument, "{} shards from {} on are no node of the tree over {}", sum.count, sum.first,
                  shards_.size());
    if (sum.gradients.size() != shard_bytes())
      return fail(Code::ShapeMismatch, "{} bytes of gradients, the network's have {}", sum.gradients.size(),
                  shard_bytes());
    for (std::size_t s = sum.first; s < sum.first + sum.count; ++s) {
      if (has_shard[s]) return fail(Code::InvalidArgument, "shard {} is given twice", s);
      has_shard[s] = true;
    }
  }
  for (std::size_t s = 0; s < shards_.size(); ++s)
    if (!has_shard[s]) return fail(Code::InvalidArgument, "shard {} of {} is missing", s, shards_.size());
  return {};
}

Result<double> ShardTree::add_sums(const Exec& exec, std::span<const ShardSum> sums) {
  LOOM_TRY_VOID(check_sums(sums));
  const std::size_t shards = shards_.size();
  std::vector<std::size_t> counts(shards);
  std::vector<double> losses(shards);
  for (const ShardSum& sum : sums) {
    counts[sum.first] = sum.count;
    losses[sum.first] = sum.loss;
    shards_[sum.first].write(0, sum.gradients);
  }
  for (std::size_t stride = 1; stride < shards; stride *= 2)
    for (std::size_t s = 0; s + stride < shards; s += 2 * stride) {
      if (counts[s] == 0 || counts[s] > stride) continue;  // added by the process that summed the node
      loom::add(exec, gradient(s), gradient(s + stride), gradient(s));
      losses[s] += losses[s + stride];
    }
  return losses[0];
}

std::size_t ShardTree::resident_bytes() const {
  std::size_t bytes = 0;
  for (const Memory& shard : shards_) bytes += shard.size();
  return bytes;
}

}  // namespace loom
