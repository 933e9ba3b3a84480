#include "ops/kmeans/kmeans.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void scores(const T* x, const T* centers, std::size_t clusters, std::size_t n, T t2, T* l) {
  for (std::size_t k = 0; k < clusters; ++k) {
    const T* c = centers + k * n;
    const T squares = lanes16<T>(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> d = snap(lanes.load(x + i) - lanes.load(c + i));
      return d * d;
    });
    l[k] = snap(-(squares / (2 * t2)));
  }
}

template <class T>
void input_gradient(const T* x, const T* centers, const T* u, std::size_t clusters, std::size_t n, T t2, T* dx) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    const Lanes<T> sum = chain64<Lanes<T>>(
        0, clusters, [&](std::size_t k) { return splat(u[k]) * snap(v - lanes.load(centers + k * n + i)); });
    lanes.store(dx + i, snap(negate(snap(sum)) / splat(t2)));
  });
}

template <class T>
void center_gradient(const KmeansTask<T>& t, std::size_t cluster, T* dc) {
  for_lanes(t.n, [&](std::size_t i, auto lanes) {
    const Lanes<T> c = lanes.load(t.centers + cluster * t.n + i);
    Lanes<T> sum = lanes.load(dc + i);
    for (std::size_t begin = 0; begin < t.rows; begin += t.block) {
      const std::size_t end = begin + t.block < t.rows ? begin + t.block : t.rows;
      if (t.a != nullptr)
        sum = snap(sum + chain64<Lanes<T>>(begin, end, [&](std::size_t r) {
                     return splat(t.a[r * t.clusters + cluster]) * lanes.load(t.g + r * t.n + i);
                   }));
      const Lanes<T> run = chain64<Lanes<T>>(begin, end, [&](std::size_t r) {
        return splat(t.u[r * t.clusters + cluster]) * snap(lanes.load(t.x + r * t.n + i) - c);
      });
      sum = snap(sum + snap(snap(run) / splat(t.t2)));
    }
    lanes.store(dc + i, sum);
  });
}

template <class T>
constexpr KmeansKernels<T> kKernels = {
    .scores = scores<T>,
    .input_gradient = input_gradient<T>,
    .center_gradient = center_gradient<T>,
};

}  // namespace

extern const PerElement<KmeansKernels> kmeans_kernels;
const PerElement<KmeansKernels> kmeans_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
