#include "ops/l2_norm/l2_norm.h"

#include <algorithm>
#include <limits>

#include "ops/dispatch.h"
#include "ops/l2_norm/l2_norm_gpu.h"
#include "ops/sums/sums.h"

namespace loom {

namespace {

// A limit as the element holds it; 0: none.
template <class T>
T limit_of(double limit) {
  const double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return limit == 0 ? T{0} : static_cast<T>(std::clamp(limit, least, most));
}

}  // namespace

void l2_norm(const Exec& exec, ConstTensor x, Tensor norm) {
  for (const Exec& host : dispatch(exec, [&] { gpu::l2_norm(exec, x, norm); }))
    with_element(x.element, [&]<class T>() {
      const L2NormKernels<T>& kernels = host.kernels.l2_norm.of<T>();
      const ArenaScope scope(host.arena);
      T* const sum = host.arena.take<T>(1);
      const auto add_up = [&](T factor, const T* known) {
        sum_blocks(host, x.rows * x.cols, 1, sum, [&](std::size_t first, std::size_t count, T* lanes) {
          kernels.block(x.as<T>() + first, factor, known, count, lanes);
        });
      };
      add_up(T{1}, nullptr);
      if (host.computes()) kernels.root(sum, norm.as<T>());
      if (sizeof(T) == 8) return;
      add_up(static_cast<T>(kNormShrink), norm.as<T>());
      if (host.computes()) kernels.shrunk(sum, norm.as<T>());
    });
}

void clip_factors(const Exec& exec, ConstTensor norms, double limit, Tensor clip) {
  for (const Exec& host : dispatch(exec, [&] { gpu::clip_factors(exec, norms, limit_of<float>(limit), clip); })) {
    if (!host.computes()) return;
    with_element(clip.element, [&]<class T>() {
      host.kernels.l2_norm.of<T>().clip(norms.as<T>(), norms.rows, limit_of<T>(limit), clip.as<T>());
    });
  }
}

void scale_by(const Exec& exec, ConstTensor clip, Tensor x) {
  for (const Exec& host : dispatch(exec, [&] { gpu::scale_by(exec, clip, x); }))
    with_element(x.element, [&]<class T>() {
      for_elements(host, x.rows * x.cols, [&](std::size_t first, std::size_t count) {
        host.kernels.l2_norm.of<T>().scale(clip.as<T>(), count, x.as<T>() + first);
      });
    });
}

}  // namespace loom
