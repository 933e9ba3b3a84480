#include "ops/softmax/combine.h"

#include "ops/softmax/row_dot.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
LOOM_INLINE void scaled(const T* x, T factor, std::size_t n, T* y) {
  const Lanes<T> by = splat(factor);
  if (n < kLanes) {
    for (std::size_t i = 0; i < n; ++i) y[i] = snap(x[i] * factor);
    return;
  }
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) * by)); });
}

template <class T>
void tree(const std::size_t* levels, std::size_t num_levels, const T* q, T* p, T* y) {
  const T root = 1, *parents = &root;
  std::size_t num_parents = 1;
  for (std::size_t level = 0; level < num_levels; ++level) {
    const std::size_t children = levels[level];
    for (std::size_t i = 0; i < num_parents; ++i) scaled(q + i * children, parents[i], children, p + i * children);
    parents = p, num_parents *= children;
    q += num_parents, p += num_parents;
  }
  __builtin_memcpy(y, parents, num_parents * sizeof(T));
}

template <class T>
void tree_backward(const TreeGradient<T>& t) {
  std::size_t nodes = t.leaves, first = t.nodes - nodes;  // of the level at hand
  __builtin_memcpy(t.dp + first, t.dy, nodes * sizeof(T));
  for (std::size_t level = t.num_levels; level-- > 0;) {
    const std::size_t children = t.levels[level], num_parents = nodes / children;
    for (std::size_t i = 0; i < num_parents; ++i) {
      const std::size_t at = first + i * children, parent = first - num_parents + i;
      scaled(t.dp + at, level == 0 ? T{1} : t.p[parent], children, t.dq + at);
      if (level != 0) t.dp[parent] = row_dot(t.dp + at, t.q + at, children);
    }
    nodes = num_parents, first -= level == 0 ? 0 : num_parents;
  }
}

template <class T>
void adaptive(const std::size_t* cutoffs, std::size_t n, const T* q, T* y) {
  const T* tail = q + cutoffs[0] + n - 1;
  __builtin_memcpy(y, q, cutoffs[0] * sizeof(T));
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const std::size_t words = cutoffs[k + 1] - cutoffs[k];
    scaled(tail, q[cutoffs[0] + k], words, y + cutoffs[k]);
    tail += words;
  }
}

template <class T>
void adaptive_backward(const std::size_t* cutoffs, std::size_t n, const T* q, const T* dy, T* dq) {
  __builtin_memcpy(dq, dy, cutoffs[0] * sizeof(T));
  std::size_t at = cutoffs[0] + n - 1;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const std::size_t words = cutoffs[k + 1] - cutoffs[k];
    dq[cutoffs[0] + k] = row_dot(dy + cutoffs[k], q + at, words);
    scaled(dy + cutoffs[k], q[cutoffs[0] + k], words, dq + at);
    at += words;
  }
}

template <class T>
void mixture(std::size_t count, std::size_t n, const T* q, T* y) {
  const T* const rows = q + count;
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(y + i, snap(chain64<Lanes<T>>(
                           0, count, [&](std::size_t m) { return splat(q[m]) * lanes.load(rows + m * n + i); })));
  });
}

template <class T>
void mixture_backward(std::size_t count, std::size_t n, const T* q, const T* dy, T* dq) {
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t at = count + m * n;
    dq[m] = row_dot(dy, q + at, n);
    scaled(dy, q[m], n, dq + at);
  }
}

template <class T>
constexpr CombineKernels<T> kKernels = {
    .tree = tree<T>,
    .tree_backward = tree_backward<T>,
    .adaptive = adaptive<T>,
    .adaptive_backward = adaptive_backward<T>,
    .mixture = mixture<T>,
    .mixture_backward = mixture_backward<T>,
};

}  // namespace

extern const PerElement<CombineKernels> combine_kernels;
const PerElement<CombineKernels> combine_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
