#pragma once
// Elementary functions for the bodies of shaders: exp_f, tanh_f.

#include <string>

namespace loom::gpu {

// Recorded from simd/math.h.
std::string function_texts();

}  // namespace loom::gpu
