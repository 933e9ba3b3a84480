#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/gather/gather.h"
#include "ops/gather/gather.wgsl.h"
#include "ops/gather/gather_rows.wgsl.h"
#include "ops/gather/take_rows.wgsl.h"
#include "ops/matmul/code_panels.wgsl.h"
#include "ops/matmul/code_values.wgsl.h"
#include "ops/matmul/float_panels.wgsl.h"
#include "ops/matmul/float_values.wgsl.h"
#include "ops/matmul/matrix_gpu.h"

namespace loom::gpu {
void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double factor, Tensor y) {
  static const std::string bodies[2] = {
      joined({wgsl::float_panels, wgsl::float_values, wgsl::gather_rows, wgsl::gather}),
      joined({wgsl::code_panels, wgsl::code_values, wgsl::gather_rows, wgsl::gather})};
  Kernel kernel("gather_rows", bodies[holds_codes(table)]);
  if (!add_matrix(exec, table, kernel)) return;
  add_layout(table, kernel);
  kernel.reads("ids", exec.gpu()->upload(exec, ids))
      .writes("y", y.data)
      .number("rows", y.rows)
      .number("factor", static_cast<float>(factor))
      .fixed("scaled", factor != 1);
  exec.gpu()->record(exec, kernel, ceil_div(y.rows * y.cols, Kernel::kThreads));
}

void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y) {
  static const std::string body = joined({wgsl::take_rows, wgsl::gather});
  exec.gpu()->record(exec,
                     Kernel("take_rows", body)
                         .reads("table", table.data)
                         .reads("ids", exec.gpu()->upload(exec, ids))
                         .writes("y", y.data)
                         .number("rows", y.rows)
                         .fixed("cols", y.cols),
                     ceil_div(y.rows * y.cols, Kernel::kThreads));
}

}  // namespace loom::gpu
