#include "ops/choice/choice.h"

#include "ops/non_finite.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
std::int32_t greatest(const T* x, std::size_t n, const std::int32_t* banned, std::size_t num_banned) {
  std::uint32_t odd = 0;  // no early exit, so that compilers look at many at once
  for (std::size_t i = 0; i < n; ++i) odd |= !is_finite(x[i]);
  if (odd != 0) return kNoChoice;
  const auto is_banned = [&](std::size_t i) {
    for (std::size_t b = 0; b < num_banned; ++b)
      if (banned[b] == static_cast<std::int32_t>(i)) return true;
    return false;
  };
  bool found = false;
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i)
    if ((!found || x[i] > x[best]) && !is_banned(i)) best = i, found = true;
  return static_cast<std::int32_t>(best);
}

}  // namespace

extern const PerElement<ChoiceKernels> choice_kernels;
const PerElement<ChoiceKernels> choice_kernels = {{.greatest = greatest<float>}, {.greatest = greatest<double>}};

}  // namespace loom::inline LOOM_TARGET
