#include "ops/statistics/statistics.h"

#include <cmath>

#include "simd/orders.h"

namespace loom {

TensorStats tensor_statistics(const Exec& exec, ConstTensor x) {
  TensorStats s;
  const std::size_t n = x.rows * x.cols;
  if (exec.rehearsal() || n == 0) return s;
  with_element(x.element, [&]<class T>() {
    const T* v = x.as<T>();
    const auto at = [&](std::size_t i) { return static_cast<double>(v[i]); };
    s.total = static_cast<double>(n);
    s.avg = snap(lanes16<double>(n, at) / s.total);
    const double variance = lanes16<double>(n, [&](std::size_t i) { return (at(i) - s.avg) * (at(i) - s.avg); }) / s.total;
    s.std = snap(std::sqrt(variance));
    s.max = s.min = at(0);
    for (std::size_t i = 0; i < n; ++i) {
      if (!(s.max >= at(i)) && at(i) == at(i)) s.max = at(i);
      if (!(s.min <= at(i)) && at(i) == at(i)) s.min = at(i);
      s.active += std::abs(at(i)) > 1e-6 ? 1 : 0;
    }
  });
  return s;
}

}  // namespace loom
