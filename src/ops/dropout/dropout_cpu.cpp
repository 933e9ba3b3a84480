#include "ops/dropout/dropout.h"

#include "simd/philox.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void dropout_row(const T* x, T least, T keep, const RandomStream& stream, std::uint64_t first, std::size_t n, T* y) {
  const Lanes<T> from = splat(least), by = splat(keep), one = splat(T{1}), zero = zeros<T>();
  for_uniforms<T>(stream, first, n, [&](std::size_t at, std::size_t count, const T* u) {
    for_lanes(count, [&](std::size_t i, auto lanes) {
      const Lanes<T> mask = select(load(u + i) >= from, one, zero);
      lanes.store(y + at + i, snap(lanes.load(x + at + i) * mask / by));
    });
  });
}

}  // namespace

extern const PerElement<DropoutKernels> dropout_kernels;
const PerElement<DropoutKernels> dropout_kernels = {{.dropout = dropout_row<float>}, {.dropout = dropout_row<double>}};

}  // namespace loom::inline LOOM_TARGET
