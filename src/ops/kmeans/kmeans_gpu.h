#pragma once
// Forms of kmeans.h on graphics cards: each records the kernels of the function of its name.

#include "ops/kmeans/kmeans.h"

namespace loom::gpu {

void kmeans_scores(const Exec& exec, ConstTensor x, const void* centers, double t2, Tensor l);
void kmeans_input_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, double t2, Tensor dx);
void kmeans_center_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, ConstTensor a,
                            ConstTensor g, double t2, std::size_t block, void* dcenters);

}  // namespace loom::gpu
