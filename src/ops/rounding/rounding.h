#pragma once
// Values rounded to a narrow float and kept as f32: what mixed precision does to tensors between cells (engine 6.8).
//   bf16, f16  to nearest, ties to even; f16 overflows to infinity, which loss scaling sees
//   fp8        activations e4m3, gradients e5m2, times one power of two per tensor that brings its largest magnitude
//     near the type's
// Results are snapped; no sums. Kalamkar et al. 2019; Micikevicius et al. 2018, 2022.

#include "backend/exec.h"

namespace loom {

enum class Mixed : std::uint8_t { none, bf16, f16, fp8 };

// In place; f32 only (an f64 tensor stays as it is). A value that is no finite number stays one, and a tensor that
// holds such is not scaled.
void round_activations(const Exec& exec, Tensor x, Mixed mixed);
void round_gradients(const Exec& exec, Tensor x, Mixed mixed);

// f32 only, in place.
struct RoundingKernels {
  void (*bf16)(float* x, std::size_t n);
  void (*f16)(float* x, std::size_t n);
  std::uint32_t (*largest_bits)(const float* x, std::size_t n);  // of the magnitudes
  // scales[0] is the largest power of two that leaves the largest of `count` magnitudes, given by their bits, at `most`
  // or below; scales[1] is 1 / scales[0]. Both are 0 where that magnitude is 0 or no finite number.
  void (*fp8_scales)(const std::uint32_t* magnitudes, std::size_t count, float most, float* scales);
  // x = x * scales[0], rounded to the type, times scales[1]; scales of 0 leave x as it is.
  void (*e4m3)(float* x, const float* scales, std::size_t n);
  void (*e5m2)(float* x, const float* scales, std::size_t n);
};

}  // namespace loom
