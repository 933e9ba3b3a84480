#include "ops/noise/noise.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/noise/noise_gpu.h"

namespace loom {

void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::normal_noise(exec, scale, stream, y); }))
    with_element(y.element, [&]<class T>() {
      for_elements(host, y.rows * y.cols, [&](std::size_t at, std::size_t n) {
        host.kernels.noise.of<T>().normal(stream, at, static_cast<T>(scale), n, y.as<T>() + at);
      });
    });
}

}  // namespace loom
