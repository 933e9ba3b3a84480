#pragma once
// The elementary functions of math.h over arrays, one table per SIMD target: for tests, tools and `loom verify`.

#include <cstddef>

namespace loom {

using MathKernel = void (*)(const float* x, float* y, std::size_t n);  // y may be x
using MathKernel2 = void (*)(const float* a, const float* b, float* y, std::size_t n);

struct MathKernels {
  const char* target;
  MathKernel exp, expm1, log, log1p, tanh, sigmoid, erf, sin, cos, rsqrt;
  MathKernel2 pow;
};

struct MathKernelList {  // no std container: kernel files include this header
  const MathKernels* tables[8];
  std::size_t count;
  const MathKernels* const* begin() const { return tables; }
  const MathKernels* const* end() const { return tables + count; }
};
// The targets that were compiled in and that this CPU can run, weakest first; at least one.
MathKernelList runnable_math_kernels();

}  // namespace loom
