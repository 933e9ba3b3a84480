#pragma once
// The elementary functions of math.h over arrays, one table per SIMD target: for tests, tools and `loom verify`.

#include <cstddef>
#include <span>

namespace loom {

using MathKernel = void (*)(const float* x, float* y, std::size_t n);                         // y may be x
using MathKernel2 = void (*)(const float* a, const float* b, float* y, std::size_t n);

struct MathKernels {
  const char* target;
  MathKernel exp, expm1, log, log1p, tanh, sigmoid, erf, sin, cos, rsqrt;
  MathKernel2 pow;
};

// The targets that were compiled in and that this CPU can run, weakest first; at least one.
std::span<const MathKernels* const> runnable_math_kernels();

}  // namespace loom
