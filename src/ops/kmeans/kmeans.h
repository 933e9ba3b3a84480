#pragma once
// Distances of rows to centers and their gradients (engine 3.14). x [rows, n], centers [K, n] row-major; t2 is the
// squared temperature.
//   l[r, k] = -sum_j (x_rj - c_kj)^2 / (2 t2), the sum by lanes16
//   dx_j = -(sum_k u_k (x_j - c_kj)) / t2, chain64 over k
//   dC_kj += sum_r a_rk g_rj and dC_kj += (sum_r u_rk (x_rj - c_kj)) / t2, chain64 over the rows of each block, both
//     sums per block
// Snapped: x - c, l, and every stored sum.

#include "backend/exec.h"

namespace loom {

void kmeans_scores(const Exec& exec, ConstTensor x, const void* centers, double t2, Tensor l);
void kmeans_input_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, double t2, Tensor dx);
// a and g have no data where only the distances matter. `block` as in ops/gemm.
void kmeans_center_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, ConstTensor a,
                            ConstTensor g, double t2, std::size_t block, void* dcenters);

template <class T>
struct KmeansTask {
  const T* x;
  const T* centers;
  const T* u;
  const T* a;  // null: probabilities
  const T* g;
  std::size_t rows, n, clusters, block;
  T t2;
};
template <class T>
struct KmeansKernels {
  // one row
  void (*scores)(const T* x, const T* centers, std::size_t clusters, std::size_t n, T t2, T* l);
  // one row
  void (*input_gradient)(const T* x, const T* centers, const T* u, std::size_t clusters, std::size_t n, T t2, T* dx);
  // one center
  void (*center_gradient)(const KmeansTask<T>& task, std::size_t cluster, T* dc);
};

}  // namespace loom
