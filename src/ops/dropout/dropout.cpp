#include "ops/dropout/dropout.h"

#include <cmath>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/dropout/dropout_gpu.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

// The least of the numbers (k + 1/2) 2^-23 that uniforms are which is not below `rate`: kernels compare with it in the
// element type, where `rate` itself may be no number.
double least_uniform(double rate) { return (std::ceil(rate * 0x1p23 - 0.5) + 0.5) * 0x1p-23; }

}  // namespace

void dropout(const Exec& exec, ConstTensor x, double rate, const RandomStream& stream, Tensor y, std::size_t first) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::dropout(exec, x, least_uniform(rate), 1 - rate, stream, y, first); }))
    with_element(x.element, [&]<class T>() {
      for_elements(host, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
        host.kernels.dropout.of<T>().dropout(x.as<T>() + at, static_cast<T>(least_uniform(rate)),
                                             static_cast<T>(1 - rate), stream, first + at, n, y.as<T>() + at);
      });
    });
}

}  // namespace loom
