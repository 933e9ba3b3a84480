#include "ops/fold/fold.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/fold/fold_gpu.h"
#include "ops/for_rows.h"
#include "ops/formula/formula.h"

namespace loom {

void fold(const Exec& exec, Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, float* y) {
  LOOM_ASSERT(reduced.count() <= kMostFolded && kept.extents.size() + reduced.extents.size() <= kFoldAxes);
  for (const Exec& host : dispatch(exec, [&] { gpu::fold(exec, how, x, kept, reduced, y); }))
    for_ranges(host, kept.count(), reduced.count(), [&](std::size_t begin, std::size_t end) {
      host.kernels.formula.f32.fold(how, x, kept, reduced, begin, end - begin, y);
    });
}

}  // namespace loom
