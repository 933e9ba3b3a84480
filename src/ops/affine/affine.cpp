#include "ops/affine/affine.h"

#include "ops/affine/affine_gpu.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/formula/formula.h"

namespace loom {

void affine(const Exec& exec, const float* x, std::size_t samples, std::size_t channels, std::size_t inner,
            const float* numbers, float* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::affine(exec, x, samples, channels, inner, numbers, y); }))
    for_rows(host, samples * channels, inner, [&](std::size_t row) {
      const std::size_t c = row % channels;
      const float mean = numbers[c], scale = numbers[channels + c], bias = numbers[2 * channels + c];
      host.kernels.formula.f32.affine(x + row * inner, mean, scale, bias, inner, y + row * inner);
    });
}

}  // namespace loom
