#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/gather/gather_gpu.h"
#include "ops/gather/gather.wgsl.h"
#include "ops/gather/gather_rows.wgsl.h"
#include "ops/gather/ids.wgsl.h"
#include "ops/gather/scatter_add.wgsl.h"
#include "ops/gather/take_rows.wgsl.h"
#include "ops/matmul/code_panels.wgsl.h"
#include "ops/matmul/code_values.wgsl.h"
#include "ops/matmul/float_panels.wgsl.h"
#include "ops/matmul/float_values.wgsl.h"
#include "ops/matmul/fp4_values.wgsl.h"
#include "ops/matmul/matrix_gpu.h"

namespace loom::gpu {
namespace {

const void* ids_on(const Exec& exec, std::span<const std::int32_t> ids) {
  return are_on_device(exec, ids) ? ids.data() : exec.gpu()->upload(exec, ids);
}

std::string_view rows_of_matrix(const Matrix& table) {
  static const std::string bodies[] = {
      joined({wgsl::float_panels, wgsl::float_values, wgsl::gather_rows, wgsl::gather}),
      joined({wgsl::code_panels, wgsl::code_values, wgsl::gather_rows, wgsl::gather}),
      joined({wgsl::code_panels, wgsl::fp4_values, wgsl::gather_rows, wgsl::gather})};
  return bodies[static_cast<std::size_t>(panel_text(table))];
}

// Rows by their numbers, or all of them in their order.
void take(const Exec& exec, const Matrix& table, const void* ids, double factor, Tensor y) {
  Kernel kernel("gather_rows", rows_of_matrix(table));
  if (!add_matrix(exec, table, kernel)) return;
  add_layout(table, kernel);
  kernel.reads("ids", ids == nullptr ? y.data : ids)
      .writes("y", y.data)
      .number("rows", y.rows)
      .number("factor", static_cast<float>(factor))
      .fixed("scaled", factor != 1)
      .fixed("all", ids == nullptr);
  exec.gpu()->record(exec, kernel, ceil_div(y.rows * y.cols, Kernel::kThreads));
}

}  // namespace

bool are_on_device(const Exec& exec, std::span<const std::int32_t> ids) { return exec.gpu()->holds(ids.data()); }

void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double factor, Tensor y) {
  if (exec.rehearsal()) return;
  take(exec, table, ids_on(exec, ids), factor, y);
}

void decode_matrix(const Exec& exec, const Matrix& matrix, Tensor y) {
  if (!exec.rehearsal()) take(exec, matrix, nullptr, 1, y);
}

void ids_from_values(const Exec& exec, ConstTensor x, std::size_t table_rows, OutOfTable out,
                     std::span<std::int32_t> ids) {
  const bool reports = out == OutOfTable::Error;
  void* const fault =
      reports ? exec.gpu()->fault(exec,
                                  [table_rows](std::uint32_t row, std::uint32_t value) {
                                    return no_id(static_cast<double>(std::bit_cast<float>(value)), row, table_rows);
                                  })
              : ids.data();
  exec.gpu()->record(exec,
                     Kernel("ids", wgsl::ids, 256)
                         .reads("x", x.data)
                         .writes("ids", ids.data())
                         .updates("fault", fault)
                         .number("count", ids.size())
                         .number("table_rows", table_rows)
                         .fixed("reports", reports),
                     1);
}

void scatter_add_rows(const Exec& exec, std::span<const std::int32_t> ids, double factor, ConstTensor dy,
                      void* dtable) {
  if (exec.rehearsal()) return;
  exec.gpu()->record(exec,
                     Kernel("scatter_add", wgsl::scatter_add)
                         .reads("ids", ids_on(exec, ids))
                         .reads("dy", dy.data)
                         .updates("dtable", dtable)
                         .number("rows", ids.size())
                         .number("cols", dy.cols)
                         .number("factor", static_cast<float>(factor)),
                     ceil_div(dy.cols, Kernel::kThreads));
}

void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y) {
  if (exec.rehearsal()) return;
  static const std::string body = joined({wgsl::take_rows, wgsl::gather});
  exec.gpu()->record(exec,
                     Kernel("take_rows", body)
                         .reads("table", table.data)
                         .reads("ids", ids_on(exec, ids))
                         .writes("y", y.data)
                         .number("rows", y.rows)
                         .fixed("cols", y.cols)
                         .fixed("all", 0),
                     ceil_div(y.rows * y.cols, Kernel::kThreads));
}

}  // namespace loom::gpu
