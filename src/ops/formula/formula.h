#pragma once
// Formulas of several tensors, element by element: steps in order, run over pieces of the output that stay in the
// first-level cache. The result of every step is snapped, so the bits are those of the same steps one after the other.
// A formula has no sums; y may be an input that is not stretched.

#include <span>

#include "ops/elementwise/elementwise.h"

namespace loom {

enum class FormulaKind : std::uint8_t {
  Add,          // a + b
  Subtract,     // a - b
  Multiply,     // a * b
  Divide,       // a / b
  Larger,       // of a and b; a NaN wins, that of a first
  Smaller,      // the same
  Clip,         // a between low and high: first the lower bound, then the upper one; NaN stays
  HardSigmoid,  // low * a + high between 0 and 1: the product and the sum are rounded; NaN stays
  Negate,
  Size,  // |a|
  Square,
  Root,
  Inverse,  // 1 / a
  Exp,
  Log,
  Erf,
  Activate,  // fn(a)
};
constexpr bool has_two_operands(FormulaKind kind) { return kind <= FormulaKind::Smaller; }

struct FormulaStep {
  FormulaKind kind = FormulaKind::Add;
  // Operands: inputs count from 0, kFormulaInputs + i is the result of step i, which comes before.
  std::uint8_t a = 0, b = 0;
  std::uint8_t slot = 0;     // scratch that holds the result
  double low = 0, high = 0;  // each rounded once to the element
  ActivationFn fn{};
};

inline constexpr std::size_t kFormulaInputs = 12, kFormulaSteps = 24, kFormulaSlots = 6, kFormulaAxes = 16;

class Formula {
 public:
  // Operands as above; the last step gives y. Null where it would need more steps, inputs or scratch than there are.
  static std::optional<Formula> create(std::span<const FormulaStep> steps);

  std::size_t num_inputs() const { return num_inputs_; }
  std::span<const FormulaStep> steps() const { return {steps_, num_steps_}; }

 private:
  FormulaStep steps_[kFormulaSteps];
  std::size_t num_steps_ = 0, num_inputs_ = 0;
};

// An input and its stride, in elements, along each axis of y: that of a dense tensor of y's axes, or 0 where the input
// is stretched.
struct FormulaInput {
  const void* data = nullptr;
  std::span<const std::size_t> strides;
};

// y [dims], row-major, one value per element; formula.num_inputs() inputs of y's element type, at most kFormulaAxes
// axes.
void evaluate(const Exec& exec, const Formula& formula, std::span<const FormulaInput> inputs,
              std::span<const std::size_t> dims, void* y, Element element);

// ---- kernel side ----

template <class T>
struct FormulaTask {
  const FormulaStep* steps = nullptr;
  std::size_t num_steps = 0, num_inputs = 0, num_axes = 0;
  // Axes that all inputs walk through in the same way are one. The last one has stride 0 or 1.
  std::size_t dims[kFormulaAxes], strides[kFormulaInputs][kFormulaAxes];
  const T* inputs[kFormulaInputs];
  T* y = nullptr;
};
enum class Decision : std::uint8_t;
enum class Fold : std::uint8_t;
struct FoldAxes;

template <class T>
struct FormulaKernels {
  // Elements [first, first + count) of y.
  void (*evaluate)(const FormulaTask<T>& task, std::size_t first, std::size_t count);
  // Kernels of ops/decide and ops/fold, and rows of ops/affine: graphs have them beside formulas, whatever T is.
  void (*decide)(Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
                 std::size_t first, std::size_t count, std::uint32_t* y);
  void (*fold)(Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, std::size_t first,
               std::size_t count, float* y);
  void (*affine)(const float* x, float mean, float scale, float bias, std::size_t n, float* y);
};

}  // namespace loom
