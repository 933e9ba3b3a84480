#include "ops/fold/fold.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"
#include "ops/formula/formula.h"

namespace loom {

void fold(const Exec& exec, Fold how, const float* x, const FoldAxes& kept, const FoldAxes& reduced, float* y) {
  LOOM_ASSERT(reduced.count() <= kMostFolded && kept.extents.size() + reduced.extents.size() <= kFoldAxes);
  const gpu::Call call(exec, [&] { gpu::fold(exec, how, x, kept, reduced, y); });
  if (call.is_done()) return;
  for_ranges(exec, kept.count(), reduced.count(), [&](std::size_t begin, std::size_t end) {
    exec.kernels.formula.f32.fold(how, x, kept, reduced, begin, end - begin, y);
  });
}

}  // namespace loom
