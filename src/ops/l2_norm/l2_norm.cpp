#include "ops/l2_norm/l2_norm.h"

#include <algorithm>
#include <limits>

#include "ops/sums/sums.h"

namespace loom {

void l2_norm(const Exec& exec, ConstTensor x, Tensor norm) {
  with_element(x.element, [&]<class T>() {
    const L2NormKernels<T>& kernels = exec.kernels.l2_norm.of<T>();
    const ArenaScope scope(exec.arena);
    T* const sum = exec.arena.take<T>(1);
    const auto add_up = [&](T factor, const T* known) {
      sum_blocks(exec, x.rows * x.cols, 1, sum, [&](std::size_t first, std::size_t count, T* lanes) {
        kernels.block(x.as<T>() + first, factor, known, count, lanes);
      });
    };
    add_up(T{1}, nullptr);
    if (exec.computes()) kernels.root(sum, norm.as<T>());
    if (sizeof(T) == 8) return;
    add_up(static_cast<T>(kNormShrink), norm.as<T>());
    if (exec.computes()) kernels.shrunk(sum, norm.as<T>());
  });
}

void clip_factors(const Exec& exec, ConstTensor norms, double limit, Tensor clip) {
  if (!exec.computes()) return;
  with_element(clip.element, [&]<class T>() {
    const double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    exec.kernels.l2_norm.of<T>().clip(norms.as<T>(), norms.rows,
                                      limit == 0 ? T{0} : static_cast<T>(std::clamp(limit, least, most)), clip.as<T>());
  });
}

void scale_by(const Exec& exec, ConstTensor clip, Tensor x) {
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t first, std::size_t count) {
      exec.kernels.l2_norm.of<T>().scale(clip.as<T>(), count, x.as<T>() + first);
    });
  });
}

}  // namespace loom
