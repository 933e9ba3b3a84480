#include "ops/permute/permute.h"

#include <array>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/permute/permute_gpu.h"
#include "ops/slices/slices.h"

namespace loom {

void permute(const Exec& exec, const ConstView& x, std::span<const std::size_t> axes, const View& y) {
  const std::size_t rank = x.shape.rank();
  LOOM_ASSERT(axes.size() == rank && y.shape.elements() == x.shape.elements());
  std::array<std::size_t, Shape::kMaxRank> of_x{}, step{};  // elements from one index of an axis to the next
  for (std::size_t axis = rank, stride = 1; axis-- > 0; stride *= x.shape[axis]) of_x[axis] = stride;
  for (std::size_t axis = 0; axis < rank; ++axis) step[axis] = of_x[axes[axis]];
  for (const Exec& host : dispatch(exec, [&] {
         std::array<std::size_t, Shape::kMaxRank> extents{};
         for (std::size_t axis = 0; axis < rank; ++axis) extents[axis] = y.shape[axis];
         gpu::permute(exec, x.data, std::span(extents).first(rank), std::span(step).first(rank), y.data);
       })) {
    const std::size_t cols = y.shape.cols(), last = step[rank - 1];
    with_element(x.element, [&]<class T>() {
      for_rows(host, y.shape.rows(), cols, [&](std::size_t r) {
        std::size_t from = 0, rest = r;
        for (std::size_t axis = rank - 1; axis-- > 0; rest /= y.shape[axis]) from += rest % y.shape[axis] * step[axis];
        host.kernels.slices.of<T>().move({1, cols}, x.as<T>() + from, {.step = last}, y.as<T>() + r * cols, {});
      });
    });
  }
}

void take_by_steps(const Exec& exec, ConstTensor x, std::size_t start, std::span<const std::size_t> extents,
                   std::span<const std::size_t> steps, void* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::permute(exec, x.data, extents, steps, y, start); })) {
    const std::size_t cols = extents.back(), last = steps.back(), axes = extents.size() - 1;
    std::size_t rows = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) rows *= extents[axis];
    with_element(x.element, [&]<class T>() {
      for_rows(host, rows, cols, [&](std::size_t r) {
        std::size_t from = start, rest = r;
        for (std::size_t axis = axes; axis-- > 0; rest /= extents[axis]) from += rest % extents[axis] * steps[axis];
        host.kernels.slices.of<T>().move({1, cols}, x.as<T>(), {.offset = from, .step = last},
                                         static_cast<T*>(y) + r * cols, {});
      });
    });
  }
}

}  // namespace loom
