#include "ops/loss/softmax_loss.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr std::size_t kSoftmaxCost = 2;  // of an element with its exponential, in units of for_ranges

template <class T>
T* row_or_null(const Tensor& t, std::size_t r) {
  return t.data == nullptr ? nullptr : t.row<T>(r);
}

// Class weights of a call in the element type; null: none.
template <class T>
const T* weights_of(const Exec& exec, std::span<const double> weights) {
  if (weights.empty()) return nullptr;
  T* out = exec.arena.take<T>(weights.size());
  if (exec.computes()) std::ranges::transform(weights, out, [](double w) { return snap(static_cast<T>(w)); });
  return out;
}

}  // namespace

void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets, const RowScale& scale, Tensor values, Tensor gradient) {
  const ArenaScope scope(exec.arena);
  with_element(x.element, [&]<class T>() {
    const T* weights = weights_of<T>(exec, targets.class_weights);
    const bool by_class = !targets.classes.empty();
    for_rows(exec, x.rows, x.cols * kSoftmaxCost, [&](std::size_t r) {
      T* g = row_or_null<T>(gradient, r);
      if (by_class && targets.ignore_index == targets.classes[r]) {
        values.as<T>()[r] = 0;
        if (g != nullptr) std::fill_n(g, x.cols, T{0});
        return;
      }
      values.as<T>()[r] = exec.kernels.softmax_loss.of<T>().row({.x = x.row<T>(r),
                                                                 .targets = by_class ? nullptr : targets.values.row<T>(r),
                                                                 .class_weights = weights,
                                                                 .wanted = by_class ? static_cast<std::size_t>(targets.classes[r]) : 0,
                                                                 .keep = static_cast<T>(1 - targets.label_smoothing),
                                                                 .everywhere = static_cast<T>(targets.label_smoothing / static_cast<double>(x.cols)),
                                                                 .scale = scale.of<T>(r),
                                                                 .n = x.cols,
                                                                 .gradient = g});
    });
  });
}

void multi_head_crossentropy(const Exec& exec, ConstTensor x, const MultiHeadTargets& targets, const RowScale& scale, Tensor values,
                             Tensor gradient) {
  const std::size_t heads = targets.heads.size();
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols * kSoftmaxCost, [&](std::size_t r) {
      Chain64<T> sum;
      for (std::size_t h = 0, first = 0; h < heads; first += targets.heads[h], ++h) {
        const std::size_t size = targets.heads[h];
        T* g = gradient.data == nullptr ? nullptr : gradient.row<T>(r) + first;
        if (targets.mask.data != nullptr && !(targets.mask.row(r)[h] > 0.5f)) {
          if (g != nullptr) std::fill_n(g, size, T{0});
          continue;
        }
        const bool by_class = !targets.classes.empty();
        sum.add(h, exec.kernels.softmax_loss.of<T>().head({.x = x.row<T>(r) + first,
                                                           .targets = by_class ? nullptr : targets.values.row<T>(r) + first,
                                                           .wanted = by_class ? static_cast<std::size_t>(targets.classes[r * heads + h]) : 0,
                                                           .scale = scale.of<T>(r),
                                                           .n = size,
                                                           .gradient = g}));
      }
      values.as<T>()[r] = snap(sum.total());
    });
  });
}

}  // namespace loom
