#pragma once
// Forms of attention.h on graphics cards: each records the kernels of the function of its name.

#include "ops/attention/attention.h"

namespace loom::gpu {

void attention(const Exec& exec, const AttentionConfig& config, ConstTensor q, ConstTensor k, ConstTensor v,
               std::span<const SequenceRows> runs, std::span<KvCache> caches, Tensor out);

}  // namespace loom::gpu
