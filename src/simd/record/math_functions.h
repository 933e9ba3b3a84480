#pragma once
// The elementary functions of simd/math.h for shaders, traced from it.

#include <string>
#include <string_view>

#include "simd/math_kernels.h"

namespace loom::recorder {

// Functions of one number, with their twins on the CPU. sin_f and cos_f are right for |x| < 2048.
inline constexpr struct MathFunction {
  std::string_view name;
  MathKernel MathKernels::* kernel;
} kMathFunctions[] = {{"exp_f", &MathKernels::exp},   {"expm1_f", &MathKernels::expm1},
                      {"log_f", &MathKernels::log},   {"log1p_f", &MathKernels::log1p},
                      {"tanh_f", &MathKernels::tanh}, {"sigmoid_f", &MathKernels::sigmoid},
                      {"erf_f", &MathKernels::erf},   {"sin_f", &MathKernels::sin},
                      {"cos_f", &MathKernels::cos},   {"rsqrt_f", &MathKernels::rsqrt}};

// The text `fn exp_f(x0: f32) -> f32 { ... }`, which a shader that calls it has after the prelude. `name`: one of the
// names above, or pow_f, which has two arguments.
std::string math_function(std::string_view name);

}  // namespace loom::recorder
