#pragma once
// Forms of pool.h on graphics cards: each records the kernels of the function of its name.

#include "ops/pool/pool.h"

namespace loom::gpu {

void max_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
              std::size_t planes, Tensor y);
void average_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
                  std::size_t planes, Tensor y);
void max_pool_backward(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
                       std::size_t planes, ConstTensor dy, Tensor dx);
void average_pool_backward(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out,
                           std::size_t planes, ConstTensor dy, Tensor dx, bool divides);
void mean_of_planes(const Exec& exec, ConstTensor x, void* y);
void largest_of_planes(const Exec& exec, ConstTensor x, void* y);

}  // namespace loom::gpu
