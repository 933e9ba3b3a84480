#pragma once
// The Euclidean norm of whole tensors and clipping by it (engine T-40), in the element type; figures stay in tensors.

#include "backend/exec.h"

namespace loom {

// A norm as a number times a scale, 1 or 2^-80: squares that f32 cannot hold are no reason for an infinite norm.
enum NormEntry : std::uint8_t { kNorm, kNormScale };
inline constexpr std::size_t kNormEntries = 2;
inline constexpr double kNormShrink = 0x1p-80;
// norm [2]: sqrt(sum of x^2) by lanes16. Not finite if an element is not.
void l2_norm(const Exec& exec, ConstTensor x, Tensor norm);

// From the norms [n, 2] of n tensors the norm over all of them, the squares added by chain64 in the order given, and
// what brings it down to `limit`: two factors, limit / (norm + 1e-6) together (one that f32 would hold as a subnormal
// is two), both 1 where the norm is not above the limit or not finite, and where the limit is 0.
enum ClipFigure : std::uint8_t { kFirstFactor = kNormEntries, kSecondFactor };
inline constexpr std::size_t kClipFigures = 4;  // after those of a norm
void clip_factors(const Exec& exec, ConstTensor norms, double limit, Tensor clip);
// x = snap(snap(first x) second), a factor of 1 left out.
void scale_by(const Exec& exec, ConstTensor clip, Tensor x);

// Constants in the factors of a clip (l2_norm_cpu.cpp).
inline constexpr double kClipOffZero = 1e-6;   // added to the norm that the limit is divided by
inline constexpr double kClipTiny = 0x1p-100;  // smaller factors are two, the first of which is
inline constexpr double kClipFirst = 0x1p-64;

template <class T>
struct L2NormKernels {
  // Sums of the sixteen lanes of at most 1 024 elements times `factor`. `known`, a norm or null: zeros where it is
  // finite.
  void (*block)(const T* x, T factor, const T* known, std::size_t n, T* lanes);
  void (*root)(const T* sum, T* norm);    // of the first attempt
  void (*shrunk)(const T* sum, T* norm);  // of the second, at 2^-80, where the first is not finite
  void (*clip)(const T* norms, std::size_t n, T limit, T* clip);
  void (*scale)(const T* clip, std::size_t n, T* x);
};

}  // namespace loom
