#pragma once
// Forms of rope.h on graphics cards: each records the kernels of the function of its name.

#include "ops/rope/rope.h"

namespace loom::gpu {

void rope(const Exec& exec, const RopeTable& table, std::span<const std::uint32_t> positions, std::size_t head_dim,
          ConstTensor x, Tensor y);
void rope_sequences(const Exec& exec, const RopeTable& table, std::size_t steps, std::size_t head_dim, Tensor x,
                    bool back);

}  // namespace loom::gpu
