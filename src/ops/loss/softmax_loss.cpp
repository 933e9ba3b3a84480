#include "ops/loss/softmax_loss.h"

#include <algorithm>
#include <vector>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/loss/softmax_loss_gpu.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr std::size_t kSoftmaxCost = 2;  // of an element with its exponential, in units of for_ranges

template <class T>
T* row_or_null(const Tensor& t, std::size_t r) {
  return t.data == nullptr ? nullptr : t.row<T>(r);
}

template <class T>
void round_weights(std::span<const double> weights, T* to) {
  std::ranges::transform(weights, to, [](double w) { return snap(static_cast<T>(w)); });
}

// Class weights of a call in the element type, which kernels read as they read the call's other settings; null: none.
template <class T>
const T* weights_of(const Exec& exec, std::span<const double> weights) {
  if (weights.empty()) return nullptr;
  T* out = exec.arena.note<T>(weights.size());
  if (exec.computes()) round_weights(weights, out);
  return out;
}

}  // namespace

void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets, const RowScale& scale,
                          Tensor values, Tensor gradient) {
  for (const Exec& host : dispatch(exec, [&] {
         std::vector<float> weights(targets.class_weights.size());
         round_weights(targets.class_weights, weights.data());
         gpu::softmax_crossentropy(exec, x, targets, weights, scale, values, gradient);
       })) {
    const ArenaScope scope(host.arena);
    with_element(x.element, [&]<class T>() {
      const T* weights = weights_of<T>(host, targets.class_weights);
      const bool by_class = !targets.classes.empty();
      for_rows(host, x.rows, x.cols * kSoftmaxCost, [&](std::size_t r) {
        T* g = row_or_null<T>(gradient, r);
        if (by_class && targets.ignore_index == targets.classes[r]) {
          const ElementwiseKernels<T>& k = host.kernels.elementwise.of<T>();
          k.fill(T{0}, 1, values.as<T>() + r);
          if (g != nullptr) k.fill(T{0}, x.cols, g);
          return;
        }
        host.kernels.softmax_loss.of<T>().row(
            {.x = x.row<T>(r),
             .targets = by_class ? nullptr : targets.values.row<T>(r),
             .class_weights = weights,
             .wanted = by_class ? static_cast<std::size_t>(targets.classes[r]) : 0,
             .keep = static_cast<T>(1 - targets.label_smoothing),
             .everywhere = static_cast<T>(targets.label_smoothing / static_cast<double>(x.cols)),
             .scale = scale.of<T>(r),
             .n = x.cols,
             .value = values.as<T>() + r,
             .gradient = g});
      });
    });
  }
}

void multi_head_crossentropy(const Exec& exec, ConstTensor x, const MultiHeadTargets& targets, const RowScale& scale,
                             Tensor values, Tensor gradient) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::multi_head_crossentropy(exec, x, targets, scale, values, gradient); })) {
    const std::size_t heads = targets.heads.size();
    const bool by_class = !targets.classes.empty();
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols * kSoftmaxCost, [&](std::size_t r) {
        host.kernels.softmax_loss.of<T>().heads({.heads = targets.heads.data(),
                                                 .num_heads = heads,
                                                 .x = x.row<T>(r),
                                                 .targets = by_class ? nullptr : targets.values.row<T>(r),
                                                 .classes = by_class ? targets.classes.data() + r * heads : nullptr,
                                                 .mask = targets.mask.data == nullptr ? nullptr : targets.mask.row(r),
                                                 .scale = scale.of<T>(r),
                                                 .value = values.as<T>() + r,
                                                 .gradient = row_or_null<T>(gradient, r)});
      });
    });
  }
}

}  // namespace loom
