#include "ops/gather/gather.h"

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, float factor, Tensor y) {
  LOOM_ASSERT(ids.size() == y.rows && y.cols == table.cols());
  for (std::size_t r = 0; r < ids.size() && !exec.rehearsal(); ++r)
    if (ids[r] < 0 || static_cast<std::size_t>(ids[r]) >= table.rows()) {
      if (!exec.status)
        exec.status = Error{Code::IndexOutOfRange, fmt::format("embedding: id {} at row {}, the table has {} rows", ids[r], r, table.rows())};
      return;
    }
  for_rows(exec, y.rows, y.cols, [&](std::size_t r) {
    table.decode_row(static_cast<std::size_t>(ids[r]), y.row(r));
    if (factor != 1.0f) exec.kernels.elementwise.f32.scale(y.row(r), factor, y.cols, y.row(r));
  });
}

}  // namespace loom
