#include "ops/softmax/combine.h"

#include <cstring>

#include "ops/all.h"
#include "ops/for_rows.h"
#include "ops/softmax/softmax.h"
#include "simd/orders.h"

namespace loom {
namespace {

// f(T, row): each row on its own, in the element type of q.
template <class F>
void each_row(const Exec& exec, ConstTensor q, F&& f) {
  with_element(q.element, [&]<class T>() { for_rows(exec, q.rows, q.cols, [&](std::size_t r) { f.template operator()<T>(r); }); });
}

template <class T>
void scaled(const T* x, T factor, std::size_t n, T* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = snap(x[i] * factor);
}

}  // namespace

void combine_tree(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, Tensor p, Tensor y) {
  each_row(exec, q, [&]<class T>(std::size_t r) {
    const T* from = q.row<T>(r);
    T *to = p.row<T>(r), root = 1;
    const T* parents = &root;
    std::size_t num_parents = 1;
    for (const std::size_t children : levels) {
      for (std::size_t i = 0; i < num_parents; ++i) scaled(from + i * children, parents[i], children, to + i * children);
      parents = to, num_parents *= children;
      from += num_parents, to += num_parents;
    }
    std::memcpy(y.row<T>(r), parents, num_parents * sizeof(T));
  });
}

void combine_tree_backward(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, ConstTensor p, ConstTensor dy, Tensor dq) {
  const ArenaScope scope(exec.arena);
  const Tensor gradients = exec.arena.tensor(q.rows, q.cols, q.element);  // of p
  each_row(exec, q, [&]<class T>(std::size_t r) {
    const auto& k = exec.kernels.softmax.of<T>();
    T* dp = gradients.row<T>(r);
    std::size_t nodes = dy.cols, first = q.cols - nodes;  // of the level at hand
    std::memcpy(dp + first, dy.row<T>(r), nodes * sizeof(T));
    for (std::size_t level = levels.size(); level-- > 0;) {
      const std::size_t children = levels[level], num_parents = nodes / children;
      for (std::size_t i = 0; i < num_parents; ++i) {
        const std::size_t at = first + i * children, parent = first - num_parents + i;
        scaled(dp + at, level == 0 ? T{1} : p.row<T>(r)[parent], children, dq.row<T>(r) + at);
        if (level != 0) dp[parent] = k.dot(dp + at, q.row<T>(r) + at, children);
      }
      nodes = num_parents, first -= level == 0 ? 0 : num_parents;
    }
  });
}

void combine_adaptive(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, Tensor y) {
  each_row(exec, q, [&]<class T>(std::size_t r) {
    const T *head = q.row<T>(r), *tail = head + cutoffs[0] + cutoffs.size() - 1;
    T* to = y.row<T>(r);
    std::memcpy(to, head, cutoffs[0] * sizeof(T));
    for (std::size_t k = 0; k + 1 < cutoffs.size(); ++k) {
      const std::size_t words = cutoffs[k + 1] - cutoffs[k];
      scaled(tail, head[cutoffs[0] + k], words, to + cutoffs[k]);
      tail += words;
    }
  });
}

void combine_adaptive_backward(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, ConstTensor dy, Tensor dq) {
  each_row(exec, q, [&]<class T>(std::size_t r) {
    const std::size_t head = cutoffs[0] + cutoffs.size() - 1;
    const T *from = q.row<T>(r), *g = dy.row<T>(r);
    T* to = dq.row<T>(r);
    std::memcpy(to, g, cutoffs[0] * sizeof(T));
    std::size_t at = head;
    for (std::size_t k = 0; k + 1 < cutoffs.size(); ++k) {
      const std::size_t words = cutoffs[k + 1] - cutoffs[k];
      to[cutoffs[0] + k] = exec.kernels.softmax.of<T>().dot(g + cutoffs[k], from + at, words);
      scaled(g + cutoffs[k], from[cutoffs[0] + k], words, to + at);
      at += words;
    }
  });
}

void combine_mixture(const Exec& exec, std::size_t count, ConstTensor q, Tensor y) {
  each_row(exec, q,
           [&]<class T>(std::size_t r) { exec.kernels.softmax.of<T>().weighted_sum(q.row<T>(r), count, q.row<T>(r) + count, y.cols, y.row<T>(r)); });
}

void combine_mixture_backward(const Exec& exec, std::size_t count, ConstTensor q, ConstTensor dy, Tensor dq) {
  each_row(exec, q, [&]<class T>(std::size_t r) {
    const T *weights = q.row<T>(r), *g = dy.row<T>(r);
    for (std::size_t m = 0; m < count; ++m) {
      const std::size_t at = count + m * dy.cols;
      dq.row<T>(r)[m] = exec.kernels.softmax.of<T>().dot(g, weights + at, dy.cols);
      scaled(g, weights[m], dy.cols, dq.row<T>(r) + at);
    }
  });
}

}  // namespace loom
