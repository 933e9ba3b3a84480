#include "ops/magnitude/magnitude.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/magnitude/magnitude_gpu.h"

namespace loom {

void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound) { magnitude_bounds(exec, {&x, 1}, bound); }

void magnitude_bounds(const Exec& exec, std::span<const ConstTensor> x, Tensor bounds) {
  if (x.empty()) return;
  for (const Exec& host : dispatch(exec, [&] { gpu::magnitude_bounds(exec, x, bounds); }))
    with_element(x[0].element, [&]<class T>() {
      const MagnitudeKernels<T>& kernels = host.kernels.magnitude.of<T>();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t n = x[i].rows * x[i].cols;
        const ArenaScope scope(host.arena);
        T* const pieces = host.arena.take<T>(pieces_of(n));
        for_pieces(host, n, [&](std::size_t piece, std::size_t first, std::size_t count) {
          kernels.bound(x[i].as<T>() + first, count, pieces + piece);
        });
        if (host.computes()) kernels.largest(pieces, pieces_of(n), bounds.as<T>() + i);
      }
    });
}

void check_finite(const Exec& exec, ConstTensor x, Tensor failed) {
  for (const Exec& host : dispatch(exec, [&] { gpu::check_finite(exec, x, failed); })) {
    if (!host.computes()) return;
    with_element(x.element, [&]<class T>() {
      host.kernels.magnitude.of<T>().check(x.as<T>(), x.rows * x.cols, failed.as<float>());
    });
  }
}

}  // namespace loom
