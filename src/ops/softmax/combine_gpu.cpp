#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "core/checked.h"
#include "ops/slices/slices.h"
#include "ops/slices/slices_gpu.h"
#include "ops/softmax/combine_gpu.h"
#include "ops/softmax/combine.wgsl.h"
#include "ops/softmax/combine_backward.wgsl.h"
#include "ops/softmax/mixture.wgsl.h"

namespace loom::gpu {
namespace {

// `count` pieces of a row of q that follow each other from `first` on, and where their factors begin. The pieces of the
// root have none.
struct Pieces {
  std::size_t first, width, count, factors;
  bool is_root = false;
};

Kernel& with_pieces(const Pieces& p, ConstTensor q, Kernel& kernel) {
  return kernel.reads("q", q.data)
      .number("q_cols", q.cols)
      .number("q_first", p.first)
      .number("width", p.width)
      .number("count", p.count)
      .number("factor_first", p.factors)
      .fixed("is_root", p.is_root);
}

// Factors are in rows as long as q's.
void multiply_pieces(const Exec& exec, const Pieces& p, ConstTensor q, const void* factors, Tensor to,
                     std::size_t to_first) {
  const std::size_t elements = q.rows * p.count * p.width;
  Kernel kernel("combine", wgsl::combine);
  kernel.reads("factors", factors)
      .writes("to", to.data)
      .number("to_cols", to.cols)
      .number("to_first", to_first)
      .number("elements", elements);
  exec.gpu()->record(exec, with_pieces(p, q, kernel), ceil_div(elements, Kernel::kThreads));
}

void pieces_backward(const Exec& exec, const Pieces& p, ConstTensor q, const void* factors, ConstTensor d,
                     std::size_t d_first, std::size_t d_step, void* sums, Tensor dq) {
  static const std::string body = joined({wgsl::lanes, wgsl::combine_backward});
  Kernel kernel("combine_backward", body, GpuDevice::kRowThreads);
  kernel.reads("factors", factors)
      .reads("d", d.data)
      .writes("sums", sums)
      .writes("dq", dq.data)
      .number("d_cols", d.cols)
      .number("d_first", d_first)
      .number("d_step", d_step);
  exec.gpu()->record(exec, with_pieces(p, q, kernel), q.rows * p.count);
}

void copy_columns(const Exec& exec, ConstTensor x, std::size_t first, std::size_t n, Tensor y) {
  move_slices(exec, {x.rows, n}, x, {.offset = first, .stride = x.cols}, y, {.stride = y.cols}, false);
}

}  // namespace

void combine_tree(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, Tensor p, Tensor y) {
  std::size_t parents = 1, first = 0;
  for (const std::size_t children : levels) {
    multiply_pieces(exec, {first, children, parents, first == 0 ? 0 : first - parents, first == 0}, q, p.data, p,
                    first);
    parents *= children, first += parents;
  }
  copy_columns(exec, p, first - parents, parents, y);
}

void combine_tree_backward(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, ConstTensor p,
                           ConstTensor dy, Tensor dq) {
  const ArenaScope scope(exec.arena);
  const Tensor dp = exec.arena.tensor(q.rows, q.cols, q.element);
  std::size_t nodes = dy.cols, first = q.cols - nodes;  // of the level at hand
  for (std::size_t level = levels.size(); level-- > 0;) {
    const std::size_t children = levels[level], parents = nodes / children;
    const bool is_root = level == 0, is_last = level + 1 == levels.size();
    pieces_backward(exec, {first, children, parents, is_root ? 0 : first - parents, is_root}, q, p.data,
                    is_last ? dy : ConstTensor(dp), is_last ? 0 : first, children, dp.data, dq);
    nodes = parents, first -= is_root ? 0 : parents;
  }
}

void combine_adaptive(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, Tensor y) {
  const std::size_t head = cutoffs[0];
  copy_columns(exec, q, 0, head, y);
  for (std::size_t k = 0, at = head + cutoffs.size() - 1; k + 1 < cutoffs.size(); ++k) {
    const std::size_t words = cutoffs[k + 1] - cutoffs[k];
    multiply_pieces(exec, {at, words, 1, head + k}, q, q.data, y, cutoffs[k]);
    at += words;
  }
}

void combine_adaptive_backward(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, ConstTensor dy,
                               Tensor dq) {
  const std::size_t head = cutoffs[0];
  copy_columns(exec, dy, 0, head, dq);
  for (std::size_t k = 0, at = head + cutoffs.size() - 1; k + 1 < cutoffs.size(); ++k) {
    const std::size_t words = cutoffs[k + 1] - cutoffs[k];
    pieces_backward(exec, {at, words, 1, head + k}, q, q.data, dy, cutoffs[k], 0, dq.data, dq);
    at += words;
  }
}

void combine_mixture(const Exec& exec, std::size_t count, ConstTensor q, Tensor y) {
  const std::size_t elements = y.rows * y.cols;
  exec.gpu()->record(exec,
                     Kernel("mixture", wgsl::mixture)
                         .reads("q", q.data)
                         .writes("y", y.data)
                         .number("elements", elements)
                         .number("cols", y.cols)
                         .number("q_cols", q.cols)
                         .number("count", count),
                     ceil_div(elements, Kernel::kThreads));
}

void combine_mixture_backward(const Exec& exec, std::size_t count, ConstTensor q, ConstTensor dy, Tensor dq) {
  pieces_backward(exec, {count, dy.cols, count, 0}, q, q.data, dy, 0, 0, dq.data, dq);
}

}  // namespace loom::gpu
