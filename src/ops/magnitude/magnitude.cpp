#include "ops/magnitude/magnitude.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound) {
  const gpu::Call call(exec, [&] { gpu::magnitude_bound(exec, x, bound); });
  if (call.is_done()) return;
  with_element(x.element, [&]<class T>() {
    const MagnitudeKernels<T>& kernels = exec.kernels.magnitude.of<T>();
    const std::size_t n = x.rows * x.cols;
    const ArenaScope scope(exec.arena);
    T* const bounds = exec.arena.take<T>(pieces_of(n));
    for_pieces(exec, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
      kernels.bound(x.as<T>() + first, count, bounds + piece);
    });
    if (exec.computes()) kernels.largest(bounds, pieces_of(n), bound.as<T>());
  });
}

void check_finite(const Exec& exec, ConstTensor x, Tensor failed) {
  const gpu::Call call(exec, [&] { gpu::check_finite(exec, x, failed); });
  if (call.is_done()) return;
  if (!exec.computes()) return;
  with_element(x.element, [&]<class T>() {
    exec.kernels.magnitude.of<T>().check(x.as<T>(), x.rows * x.cols, failed.as<float>());
  });
}

}  // namespace loom
