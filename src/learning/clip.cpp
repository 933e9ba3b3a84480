#include "learning/clip.h"

#include <cmath>
#include <limits>

#include "learning/names.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gap/gap.h"
#include "ops/l2_norm/l2_norm.h"

namespace loom {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// A gradient of f32 whose squares overflow is measured again by this factor: its norm is known to f32 all the same, and clipping can save the step.
constexpr double kShrink = 0x1p-80;

double norm_of(const Exec& exec, const Tensor& gradient) {
  const ArenaScope scope(exec.arena);
  const Tensor figure = exec.arena.tensor(1, 1, gradient.element);
  const auto measured = [&](double factor) {
    l2_norm(exec, gradient, factor, figure);
    return exec.rehearsal() ? 0.0 : with_element(figure.element, [&]<class T>() { return static_cast<double>(*figure.as<T>()); });
  };
  const double norm = measured(1);
  return std::isfinite(norm) || gradient.element == Element::f64 ? norm : measured(kShrink) / kShrink;
}

}  // namespace

Result<void> clip_value(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  LOOM_TRY_VOID(check_range("clip_value", "limit", limit, 0, kLargest));
  if (limit == 0) return {};
  for (const Tensor& gradient : gradients) clamp(exec, limit, gradient);
  return {};
}

double gradient_norm(const Exec& exec, std::span<const Tensor> gradients) {
  double squares = 0;
  for (const Tensor& gradient : gradients) {
    const double norm = norm_of(exec, gradient);
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

Result<double> clip_norm(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  LOOM_TRY_VOID(check_range("clip_norm", "limit", limit, 0, kLargest));
  const double norm = gradient_norm(exec, gradients);
  if (limit == 0 || !(norm > limit) || norm > kLargest) return norm;
  double factor = limit / (norm + 1e-6);
  // A factor that f32 would hold as a subnormal goes in two steps, of which the first is exact where it matters.
  const bool tiny = factor < 0x1p-100;
  if (tiny) factor *= 0x1p64;
  for (const Tensor& gradient : gradients) {
    if (tiny) scale(exec, gradient, 0x1p-64, gradient);
    scale(exec, gradient, factor, gradient);
  }
  return norm;
}

}  // namespace loom
