#pragma once
// Losses that are a formula of one output and one target (engine 6.2), in the element type.
//   values[r] = sum over k of value(o[r, k], t[r, k]) by lanes16, snapped; gradient[r, k] = slope(o[r, k], t[r, k])
//     scale[r], snapped
// Differences that are squared and quotients are snapped, so nothing becomes subnormal on the way. The formulas stand
// in element_loss_cpu.cpp; where one of f64 would lose its digits to cancellation in f32, they have another form with
// the same value.

#include "ops/loss/row_scale.h"

namespace loom {

enum class ElementLoss : std::uint8_t {
#define LOOM_ELEMENT_LOSS(Name) Name,
#include "ops/loss/element_losses.inc"
};
inline constexpr std::size_t kNumElementLosses = 0
#define LOOM_ELEMENT_LOSS(Name) +1
#include "ops/loss/element_losses.inc"
    ;

// Added to probabilities whose logarithm is taken; those of Bce keep so far from 0 and 1.
inline constexpr double kLossLogFloor = 1e-10, kProbabilityMargin = 1e-7;

// o and t [rows, cols], values [rows, 1], gradient [rows, cols] or without data; all of one element. `parameter` is
// delta of Huber.
void element_loss(const Exec& exec, ElementLoss loss, double parameter, ConstTensor o, ConstTensor t,
                  const RowScale& scale, Tensor values, Tensor gradient);

// Rows of n each that have one scale, one after the other in memory; gradient may be null.
template <class T>
struct ElementLossRows {
  const T *o, *t;
  T parameter, scale;
  std::size_t rows, n;
  T *values, *gradient;
};
template <class T>
struct ElementLossKernels {
  void (*rows[kNumElementLosses])(const ElementLossRows<T>&);
};

}  // namespace loom
