#include "ops/sums/sums.h"

#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void fold_blocks(const T* lanes, std::size_t blocks, std::size_t sums, T* to) {
  for (std::size_t s = 0; s < sums; ++s) {
    Lanes<T> total = zeros<T>();
    for (std::size_t b = 0; b < blocks; ++b) total = total + load(lanes + (b * sums + s) * kLanes);
    to[s] = fold(total);
  }
}

}  // namespace

extern const PerElement<SumsKernels> sums_kernels;
const PerElement<SumsKernels> sums_kernels = {{.fold_blocks = fold_blocks<float>},
                                              {.fold_blocks = fold_blocks<double>}};

}  // namespace loom::inline LOOM_TARGET
