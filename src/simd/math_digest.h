#pragma once
// One digest per elementary function over 2^20 fixed inputs: equal on every target, compiler and machine kind.

#include <string>
#include <vector>

#include "simd/math_kernels.h"

namespace loom {

struct MathDigest {
  std::string name, hex;  // SHA-256
};
std::vector<MathDigest> math_digests(const MathKernels& kernels);
std::vector<MathDigest> math64_digests();

// Expected digests of this numerics version: f32 functions, then f64.
const std::vector<MathDigest>& golden_math_digests();
const std::vector<MathDigest>& golden_math64_digests();

}  // namespace loom
