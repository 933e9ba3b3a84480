#pragma once
// The elementary functions of simd/math.h for shaders, traced from it: exp_f, expm1_f, log_f, log1p_f, tanh_f,
// sigmoid_f, erf_f, rsqrt_f, pow_f, and sin_f and cos_f, which are right for |x| < 2048.

#include <string>
#include <string_view>

namespace loom::recorder {

// `fn exp_f(x0: f32) -> f32 { ... }`: what a shader that calls it has behind the prelude.
std::string math_function(std::string_view name);

}  // namespace loom::recorder
