#include "learning/clip.h"

#include <limits>

#include "learning/names.h"
#include "ops/gap/gap.h"

namespace loom {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace

Result<void> clip_value(const Exec& exec, std::span<const Tensor> gradients, double limit) {
  LOOM_TRY_VOID(check_range("clip_value", "limit", limit, 0, kLargest));
  if (limit == 0) return {};
  for (const Tensor& gradient : gradients) clamp(exec, limit, gradient);
  return {};
}

Result<void> clip_norm(const Exec& exec, std::span<const Tensor> gradients, double limit, Tensor clip) {
  LOOM_TRY_VOID(check_range("clip_norm", "limit", limit, 0, kLargest));
  const ArenaScope scope(exec.arena);
  const Tensor norms = exec.arena.tensor(gradients.size(), kNormEntries, clip.element);
  for (std::size_t g = 0; g < gradients.size(); ++g)
    l2_norm(exec, gradients[g],
            {norms.as<std::byte>() + g * kNormEntries * bytes_of(norms.element), 1, kNormEntries, norms.element});
  clip_factors(exec, norms, limit, clip);
  if (limit == 0) return {};
  for (const Tensor& gradient : gradients) scale_by(exec, clip, gradient);
  return {};
}

}  // namespace loom
