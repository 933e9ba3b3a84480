// Sparsemax and entmax: a threshold tau per row, found in the sorted row or by bisection.

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_gpu.h"

namespace loom {
namespace {

// f(kernels, row, its scratch) for every row of x, which costs `cost` elements of work for each of its entries.
template <class F>
void each_sparse_row(const Exec& exec, ConstTensor x, std::size_t cost, F&& f) {
  const ArenaScope scope(exec.arena);
  const Tensor scratch = exec.arena.tensor(x.rows, x.cols, x.element);
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols * cost,
             [&](std::size_t r) { f(exec.kernels.sparse_softmax.of<T>(), r, scratch.row<T>(r)); });
  });
}

}  // namespace

void sparsemax(const Exec& exec, ConstTensor x, double temperature, Tensor p) {
  for (const Exec& host : dispatch(exec, [&] { gpu::sparsemax(exec, x, temperature, p); }))
    each_sparse_row(host, x, 8, [&]<class T>(const SparseSoftmaxKernels<T>& k, std::size_t r, T* scratch) {
      k.sparsemax(x.row<T>(r), static_cast<T>(temperature), x.cols, scratch, p.row<T>(r));
    });
}

void sparsemax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::sparsemax_backward(exec, p, dy, temperature, dx); }))
    with_element(p.element, [&]<class T>() {
      for_rows(host, p.rows, p.cols, [&](std::size_t r) {
        host.kernels.sparse_softmax.of<T>().sparsemax_backward(p.row<T>(r), dy.row<T>(r), static_cast<T>(temperature),
                                                               p.cols, dx.row<T>(r));
      });
    });
}

void entmax(const Exec& exec, ConstTensor x, double temperature, double alpha, Tensor p) {
  for (const Exec& host : dispatch(exec, [&] { gpu::entmax(exec, x, temperature, alpha, p); })) {
    const bool sorts = alpha == 1.5;
    each_sparse_row(host, x, sorts ? 8 : 1024,
                    [&]<class T>(const SparseSoftmaxKernels<T>& k, std::size_t r, T* scratch) {
                      const T t = static_cast<T>(temperature);
                      if (sorts) return k.entmax15(x.row<T>(r), t, x.cols, scratch, p.row<T>(r));
                      k.entmax(x.row<T>(r), t, static_cast<T>(alpha - 1), static_cast<T>(1 / (alpha - 1)), x.cols,
                               scratch, p.row<T>(r));
                    });
  }
}

void entmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, double alpha, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::entmax_backward(exec, p, dy, temperature, alpha, dx); })) {
    const bool sorts = alpha == 1.5;
    each_sparse_row(host, p, sorts ? 4 : 64, [&]<class T>(const SparseSoftmaxKernels<T>& k, std::size_t r, T* scratch) {
      const T t = static_cast<T>(temperature);
      if (sorts) return k.entmax15_backward(p.row<T>(r), dy.row<T>(r), t, p.cols, scratch, dx.row<T>(r));
      k.entmax_backward(p.row<T>(r), dy.row<T>(r), t, static_cast<T>(2 - alpha), p.cols, scratch, dx.row<T>(r));
    });
  }
}

}  // namespace loom
