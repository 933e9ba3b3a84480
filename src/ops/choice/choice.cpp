#include "ops/choice/choice.h"

#include "ops/all.h"
#include "ops/choice/choice_gpu.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"

namespace loom {

void choose(const Exec& exec, ConstTensor x, std::span<const std::int32_t> banned, std::span<std::int32_t> ids) {
  LOOM_ASSERT(ids.size() == x.rows);
  for (const Exec& host : dispatch(exec, [&] { gpu::choose(exec, x, banned, ids); }))
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols, [&](std::size_t r) {
        ids[r] = host.kernels.choice.of<T>().greatest(x.row<T>(r), x.cols, banned.data(), banned.size());
      });
    });
}

}  // namespace loom
