#include "ops/noise/noise.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void normal_noise(const Exec& exec, double scale, const RandomStream& stream, Tensor y) {
  const gpu::Call call(exec, [&] { gpu::normal_noise(exec, scale, stream, y); });
  if (call.is_done()) return;
  with_element(y.element, [&]<class T>() {
    for_elements(exec, y.rows * y.cols, [&](std::size_t at, std::size_t n) {
      exec.kernels.noise.of<T>().normal(stream, at, static_cast<T>(scale), n, y.as<T>() + at);
    });
  });
}

}  // namespace loom
