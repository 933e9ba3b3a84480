#include "ops/choice/choice.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void choose(const Exec& exec, ConstTensor x, std::span<const std::int32_t> banned, std::span<std::int32_t> ids) {
  LOOM_ASSERT(ids.size() == x.rows);
  const gpu::Call call(exec, [&] { gpu::choose(exec, x, banned, ids); });
  if (call.is_done()) return;
  with_element(x.element, [&]<class T>() {
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      ids[r] = exec.kernels.choice.of<T>().greatest(x.row<T>(r), x.cols, banned.data(), banned.size());
    });
  });
}

}  // namespace loom
