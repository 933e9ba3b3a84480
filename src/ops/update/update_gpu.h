#pragma once
// Forms of update.h on graphics cards: each records the kernels of the function of its name.

#include "ops/update/update.h"

namespace loom::gpu {

void update(const Exec& exec, UpdateKind kind, const UpdateNumbers<float>& numbers, Tensor w, ConstTensor g,
            const UpdateState& state, ConstTensor failed);
// `numbers` of each trial's rule.
void try_updates(const Exec& exec, std::span<const UpdateTrial> trials, std::span<const UpdateNumbers<float>> numbers,
                 Tensor outcomes);

}  // namespace loom::gpu
