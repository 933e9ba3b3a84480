#include "ops/kmeans/kmeans.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/kmeans/kmeans_gpu.h"

namespace loom {

void kmeans_scores(const Exec& exec, ConstTensor x, const void* centers, double t2, Tensor l) {
  for (const Exec& host : dispatch(exec, [&] { gpu::kmeans_scores(exec, x, centers, t2, l); }))
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols * l.cols, [&](std::size_t r) {
        host.kernels.kmeans.of<T>().scores(x.row<T>(r), static_cast<const T*>(centers), l.cols, x.cols,
                                           static_cast<T>(t2), l.row<T>(r));
      });
    });
}

void kmeans_input_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, double t2, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::kmeans_input_gradient(exec, x, centers, u, t2, dx); }))
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols * u.cols, [&](std::size_t r) {
        host.kernels.kmeans.of<T>().input_gradient(x.row<T>(r), static_cast<const T*>(centers), u.row<T>(r), u.cols,
                                                   x.cols, static_cast<T>(t2), dx.row<T>(r));
      });
    });
}

void kmeans_center_gradient(const Exec& exec, ConstTensor x, const void* centers, ConstTensor u, ConstTensor a,
                            ConstTensor g, double t2, std::size_t block, void* dcenters) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::kmeans_center_gradient(exec, x, centers, u, a, g, t2, block, dcenters); }))
    with_element(x.element, [&]<class T>() {
      const KmeansTask<T> task{x.as<T>(), static_cast<const T*>(centers),
                               u.as<T>(), a.as<T>(),
                               g.as<T>(), x.rows,
                               x.cols,    u.cols,
                               block,     static_cast<T>(t2)};
      for_rows(host, u.cols, x.rows * x.cols, [&](std::size_t k) {
        host.kernels.kmeans.of<T>().center_gradient(task, k, static_cast<T*>(dcenters) + k * x.cols);
      });
    });
}

}  // namespace loom
