#include "ops/softmax/combine.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/softmax/combine_gpu.h"

namespace loom {
namespace {

// f(kernels of T, row): each row on its own, in the element type of q.
template <class F>
void each_combined_row(const Exec& exec, ConstTensor q, F&& f) {
  with_element(q.element, [&]<class T>() {
    for_rows(exec, q.rows, q.cols, [&](std::size_t r) { f(exec.kernels.combine.of<T>(), r); });
  });
}

}  // namespace

void combine_tree(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, Tensor p, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_tree(exec, levels, q, p, y); }))
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.tree(levels.data(), levels.size(), q.row<T>(r), p.row<T>(r), y.row<T>(r));
    });
}

void combine_tree_backward(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, ConstTensor p,
                           ConstTensor dy, Tensor dq) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_tree_backward(exec, levels, q, p, dy, dq); })) {
    const ArenaScope scope(host.arena);
    const Tensor gradients = host.arena.tensor(q.rows, q.cols, q.element);  // of p
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.tree_backward({.levels = levels.data(),
                       .num_levels = levels.size(),
                       .nodes = q.cols,
                       .leaves = dy.cols,
                       .q = q.row<T>(r),
                       .p = p.row<T>(r),
                       .dy = dy.row<T>(r),
                       .dp = gradients.row<T>(r),
                       .dq = dq.row<T>(r)});
    });
  }
}

void combine_adaptive(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_adaptive(exec, cutoffs, q, y); }))
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.adaptive(cutoffs.data(), cutoffs.size(), q.row<T>(r), y.row<T>(r));
    });
}

void combine_adaptive_backward(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, ConstTensor dy,
                               Tensor dq) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_adaptive_backward(exec, cutoffs, q, dy, dq); }))
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.adaptive_backward(cutoffs.data(), cutoffs.size(), q.row<T>(r), dy.row<T>(r), dq.row<T>(r));
    });
}

void combine_mixture(const Exec& exec, std::size_t count, ConstTensor q, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_mixture(exec, count, q, y); }))
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.mixture(count, y.cols, q.row<T>(r), y.row<T>(r));
    });
}

void combine_mixture_backward(const Exec& exec, std::size_t count, ConstTensor q, ConstTensor dy, Tensor dq) {
  for (const Exec& host : dispatch(exec, [&] { gpu::combine_mixture_backward(exec, count, q, dy, dq); }))
    each_combined_row(host, q, [&]<class T>(const CombineKernels<T>& k, std::size_t r) {
      k.mixture_backward(count, dy.cols, q.row<T>(r), dy.row<T>(r), dq.row<T>(r));
    });
}

}  // namespace loom
