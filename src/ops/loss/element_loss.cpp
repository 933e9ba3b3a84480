#include "ops/loss/element_loss.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/loss/element_loss_gpu.h"

namespace loom {

void element_loss(const Exec& exec, ElementLoss loss, double parameter, ConstTensor o, ConstTensor t,
                  const RowScale& scale, Tensor values, Tensor gradient) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::element_loss(exec, loss, parameter, o, t, scale, values, gradient); }))
    with_element(o.element, [&]<class T>() {
      const auto kernel = host.kernels.element_loss.of<T>().rows[static_cast<std::size_t>(loss)];
      constexpr std::size_t kCost = 2;  // of an element with its function, in units of for_ranges
      for_ranges(host, o.rows, o.cols * kCost, [&](std::size_t begin, std::size_t end) {
        const std::size_t together =
            scale.weights.empty() ? end - begin : scale.rows_per_weight - begin % scale.rows_per_weight;
        for (std::size_t r = begin, count = std::min(together, end - begin); r < end;
             r += count, count = std::min(scale.rows_per_weight, end - r))
          kernel({.o = o.row<T>(r),
                  .t = t.row<T>(r),
                  .parameter = static_cast<T>(parameter),
                  .scale = scale.of<T>(r),
                  .rows = count,
                  .n = o.cols,
                  .values = values.as<T>() + r,
                  .gradient = gradient.data == nullptr ? nullptr : gradient.row<T>(r)});
      });
    });
}

}  // namespace loom
