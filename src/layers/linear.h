#pragma once
// y = W x (+ b) and its gradients: what every kind with a matrix is made of. x [rows, in], W [out, in], b [out] or not
// declared.

#include <array>

#include "layers/layer.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"

namespace loom {

struct LinearJob {
  const Weight* weight = nullptr;
  const Weight* bias = nullptr;  // may be undeclared
  Tensor y;
  std::size_t part = 0;   // of the weight; its outputs' biases start at part * rows of it
  float input_floor = 0;  // MatmulJob::input_floor
};

// The largest size of a row that is quantised for a BitNet cell counts as at least this (engine D-33); cells with an
// inner norm are such.
inline constexpr float kBitnetFloor = 1e-5f;

// All jobs read the same x; what a weight's adapters give is added last. f32 inputs meet the active version as it is
// packed, f64 inputs its values in f64.
void linear(const Run& run, ConstTensor x, std::span<const LinearJob> jobs);
inline void linear(const Run& run, ConstTensor x, const Weight& weight, const Weight& bias, Tensor y,
                   float input_floor = 0) {
  linear(run, x, std::array{LinearJob{&weight, &bias, y, 0, input_floor}});
}

// Operands that the gradients of several weights share: x packed, dy^T with contiguous rows.
struct SharedOperands {
  PackedOperand x;
  Operand dy;
};
// dx = W^T dy, or dx += W^T dy; dx.data may be null. Adds to the gradients of W, its adapters and b, in blocks of
// `block` rows (numerics N-05).
void linear_backward(const Run& run, ConstTensor x, const Weight& weight, const Weight& bias, ConstTensor dy, Tensor dx,
                     std::size_t block, bool add_to_dx = false, const SharedOperands* shared = nullptr);
// Like `linear_backward()`, for gaps; the caller closes d (layers/tween.h) after the last product. Averaged targets
// count from `y`, or from W x + b without it.
void linear_target(const Run& run, const TweenRules& rules, ConstTensor x, const Weight& weight, const Weight& bias,
                   ConstTensor e, Tensor d, std::size_t block, bool add_to_d = false, const ConstTensor* y = nullptr);

}  // namespace loom
