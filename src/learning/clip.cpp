#include "learning/clip.h"

#include <cmath>
#include <limits>

#include "learning/names.h"
#include "ops/for_rows.h"
#include "ops/scalar_sums.h"

namespace loom {
namespace {

// g[i] = f(g[i]) for every element of every tensor.
template <class F>
void change_each(const Exec& exec, std::span<const Tensor> gradients, F&& f) {
  for (const Tensor& tensor : gradients)
    with_element(tensor.element, [&]<class T>() {
      for_elements(exec, tensor.rows * tensor.cols, [&](std::size_t first, std::size_t count) {
        T* g = tensor.as<T>() + first;
        for (std::size_t i = 0; i < count; ++i) g[i] = snap_one(f(g[i]));
      });
    });
}

constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace

Result<void> clip_value(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  LOOM_TRY_VOID(check_range("clip_value", "limit", limit, 0, kLargest));
  if (limit == 0) return {};
  change_each(exec, gradients, [limit](auto g) {
    const auto bound = static_cast<decltype(g)>(limit);
    return g > bound ? bound : g < -bound ? -bound : g;
  });
  return {};
}

double gradient_norm(const Exec& exec, std::span<const Tensor> gradients) {
  const ArenaScope scope(exec.arena);
  double* sums = exec.arena.take<double>(gradients.size());
  if (exec.rehearsal()) return 0;
  exec.run(gradients.size(), [&](std::size_t t) {
    with_element(gradients[t].element, [&]<class T>() {
      const T* g = gradients[t].as<T>();
      sums[t] = lanes16_sum<double>(gradients[t].rows * gradients[t].cols, [g](std::size_t i) {
        const auto value = static_cast<double>(g[i]);
        return value * value;
      });
    });
  });
  double total = 0;
  for (std::size_t t = 0; t < gradients.size(); ++t) total += sums[t];
  return std::sqrt(total);
}

Result<double> clip_norm(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  LOOM_TRY_VOID(check_range("clip_norm", "limit", limit, 0, kLargest));
  const double norm = gradient_norm(exec, gradients);
  if (limit == 0 || !(norm > limit) || norm > kLargest) return norm;
  const double factor = limit / (norm + 1e-6);
  change_each(exec, gradients, [factor](auto g) { return g * static_cast<decltype(g)>(factor); });
  return norm;
}

}  // namespace loom
