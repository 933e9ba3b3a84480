#pragma once
// A row of dense products on the calling thread, each y = act(W x + b) of the one before, without a rehearsal or
// scratch memory: for networks so small that planning them takes longer than their arithmetic. The kernels, their
// order of sums, and so the bits are those of matmul() and activate().

#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

struct DenseCall {
  const Matrix* weight = nullptr;            // of a type that leaves its input as it is
  const float* bias = nullptr;               // null: none
  const ActivationFn* activation = nullptr;  // null: linear
};
// Runs the calls on x [rows, cols of the first weight]. `memory` holds two tensors of `rows` rows as wide as the widest
// output; the result stands in it.
const float* run_dense_calls(const KernelTable& kernels, std::span<const DenseCall> calls, const float* x,
                             std::size_t rows, std::span<float> memory);

}  // namespace loom
