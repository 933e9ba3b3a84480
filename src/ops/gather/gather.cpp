#include "ops/gather/gather.h"

#include "dtypes/panel_pages.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/gather/gather_gpu.h"
#include "ops/velocity/velocity.h"

namespace loom {

Error no_id(double value, std::size_t row, std::size_t table_rows) {
  return {Code::IndexOutOfRange, fmt::format("embedding: {} at row {} is no id, expected an integer from 0 to {}",
                                             value, row, table_rows - 1)};
}

namespace {

// Holds the panels of a matrix for a call on the host; false, with the error in exec.status, where they cannot be read.
bool hold(const Exec& exec, const Matrix& matrix, PanelHold& to) {
  if (exec.rehearsal()) return true;
  auto held = PanelHold::take(matrix);
  if (held) {
    to = std::move(*held);
    return true;
  }
  if (!exec.status) exec.status = std::move(held).error();
  return false;
}

}  // namespace

void gather_rows(const Exec& exec, const Matrix& table, std::span<const std::int32_t> ids, double factor, Tensor y,
                 OutOfTable out) {
  LOOM_ASSERT(ids.size() == y.rows && y.cols == table.cols());
  const bool checks_ids =
      !exec.rehearsal() && (exec.arena.device() == nullptr || (exec.records() && !gpu::are_on_device(exec, ids)));
  for (std::size_t r = 0; r < ids.size() && checks_ids; ++r)
    if ((ids[r] < 0 && out == OutOfTable::Error) || (ids[r] >= 0 && static_cast<std::size_t>(ids[r]) >= table.rows())) {
      if (!exec.status)
        exec.status = Error{Code::IndexOutOfRange,
                            fmt::format("embedding: id {} at row {}, the table has {} rows", ids[r], r, table.rows())};
      return;
    }
  for (const Exec& host : dispatch(exec, [&] { gpu::gather_rows(exec, table, ids, factor, y); })) {
    PanelHold held;
    if (!hold(host, table, held)) return;
    with_element(y.element, [&]<class T>() {
      for_rows(host, y.rows, y.cols, [&](std::size_t r) {
        const ElementwiseKernels<T>& k = host.kernels.elementwise.of<T>();
        if (ids[r] < 0) return k.fill(T{0}, y.cols, y.row<T>(r));
        table.decode_row(static_cast<std::size_t>(ids[r]), y.row<T>(r));
        if (factor != 1) k.scale(y.row<T>(r), factor, y.cols, y.row<T>(r));
      });
    });
  }
}

void take_rows(const Exec& exec, ConstTensor table, std::span<const std::int32_t> ids, Tensor y) {
  LOOM_ASSERT(ids.size() == y.rows && y.cols == table.cols);
  for (const Exec& host : dispatch(exec, [&] { gpu::take_rows(exec, table, ids, y); }))
    with_element(y.element, [&]<class T>() {
      for_rows(host, y.rows, y.cols, [&](std::size_t r) {
        const ElementwiseKernels<T>& k = host.kernels.elementwise.of<T>();
        if (ids[r] < 0) return k.fill(T{0}, y.cols, y.row<T>(r));
        k.copy(table.row<T>(static_cast<std::size_t>(ids[r])), y.cols, y.row<T>(r));
      });
    });
}

void decode_matrix(const Exec& exec, const Matrix& matrix, Tensor y) {
  LOOM_ASSERT(y.rows == matrix.rows() && y.cols == matrix.cols());
  for (const Exec& host : dispatch(exec, [&] { gpu::decode_matrix(exec, matrix, y); })) {
    PanelHold held;
    if (!hold(host, matrix, held)) return;
    if (y.element == Element::f64)
      return for_rows(host, y.rows, y.cols, [&](std::size_t r) { matrix.decode_row(r, y.row<double>(r)); });
    for_rows(host, matrix.panels(), kPanelRows * y.cols,
             [&](std::size_t p) { matrix.decode_panel(p, y.row(p * kPanelRows)); });
  }
}

void ids_from_values(const Exec& exec, ConstTensor x, std::size_t table_rows, OutOfTable out,
                     std::span<std::int32_t> ids) {
  for (const Exec& host : dispatch(exec, [&] { gpu::ids_from_values(exec, x, table_rows, out, ids); })) {
    if (!host.computes()) return;
    with_element(x.element, [&]<class T>() {
      const std::size_t r = host.kernels.gather.of<T>().ids(x.as<T>(), ids.size(), table_rows, ids.data());
      if (r == ids.size() || out == OutOfTable::Zero || host.status) return;
      host.status = no_id(read_element(x, r), r, table_rows);
    });
  }
}

void scatter_add_rows(const Exec& exec, std::span<const std::int32_t> ids, double scale, ConstTensor dy,
                      std::size_t table_rows, void* dtable) {
  for (const Exec& host : dispatch(exec, [&] { gpu::scatter_add_rows(exec, ids, scale, dy, dtable); }))
    with_element(dy.element, [&]<class T>() {
      const auto factor = static_cast<T>(scale);
      // Every row of the table has one author, who walks all ids.
      const std::size_t cost = ids.size() * dy.cols / table_rows + 1;
      for_ranges(host, table_rows, cost, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = 0; r < ids.size(); ++r) {
          if (ids[r] < 0 || static_cast<std::size_t>(ids[r]) < begin || static_cast<std::size_t>(ids[r]) >= end)
            continue;
          T* to = static_cast<T*>(dtable) + static_cast<std::size_t>(ids[r]) * dy.cols;
          const T* from = dy.row<T>(r);
          host.kernels.velocity.of<T>().scaled(factor, from, dy.cols, to);
        }
      });
    });
}

}  // namespace loom
