#include "ops/loss/element_loss.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void element_loss(const Exec& exec, ElementLoss loss, double parameter, ConstTensor o, ConstTensor t, const RowScale& scale, Tensor values,
                  Tensor gradient) {
  with_element(o.element, [&]<class T>() {
    const auto row = exec.kernels.element_loss.of<T>().row[static_cast<std::size_t>(loss)];
    constexpr std::size_t kCost = 2;  // of an element with its function, in units of for_ranges
    for_rows(exec, o.rows, o.cols * kCost, [&](std::size_t r) {
      values.as<T>()[r] = row(o.row<T>(r), t.row<T>(r), static_cast<T>(parameter), scale.of<T>(r), o.cols,
                              gradient.data == nullptr ? nullptr : gradient.row<T>(r));
    });
  });
}

}  // namespace loom
