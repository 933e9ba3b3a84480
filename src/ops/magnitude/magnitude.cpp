#include "ops/magnitude/magnitude.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound) { magnitude_bounds(exec, {&x, 1}, bound); }

void magnitude_bounds(const Exec& exec, std::span<const ConstTensor> x, Tensor bounds) {
  if (x.empty()) return;
  const gpu::Call call(exec, [&] { gpu::magnitude_bounds(exec, x, bounds); });
  if (call.is_done()) return;
  with_element(x[0].element, [&]<class T>() {
    const MagnitudeKernels<T>& kernels = exec.kernels.magnitude.of<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t n = x[i].rows * x[i].cols;
      const ArenaScope scope(exec.arena);
      T* const pieces = exec.arena.take<T>(pieces_of(n));
      for_pieces(exec, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
        kernels.bound(x[i].as<T>() + first, count, pieces + piece);
      });
      if (exec.computes()) kernels.largest(pieces, pieces_of(n), bounds.as<T>() + i);
    }
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
