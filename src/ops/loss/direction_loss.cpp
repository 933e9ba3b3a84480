#include "ops/loss/direction_loss.h"

#include <numeric>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm.h"
#include "ops/loss/direction_loss_gpu.h"
#include "ops/loss/softmax_loss.h"

namespace loom {
namespace {

struct Units {
  Tensor unit, norm;  // [rows, n], [rows, 1]
};

Units units_of(const Exec& exec, ConstTensor x) {
  const Units out{exec.arena.tensor(x.rows, x.cols, x.element), exec.arena.tensor(x.rows, 1, x.element)};
  for (const Exec& host : dispatch(exec, [&] { gpu::unit_rows(exec, x, out.unit, out.norm); }))
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols, [&](std::size_t r) {
        host.kernels.direction_loss.of<T>().unit_row(x.row<T>(r), x.cols, out.unit.row<T>(r), out.norm.row<T>(r));
      });
    });
  return out;
}

// dx from du = slopes others, through the norm of x.
void units_backward(const Exec& exec, const Operand& slopes, const Units& x, const Units& others, Tensor du,
                    Tensor dx) {
  if (dx.data == nullptr) return;
  gemm(exec, slopes, Operand::of(others.unit), others.unit.rows, du);
  for (const Exec& host : dispatch(exec, [&] { gpu::unit_rows_backward(exec, x.unit, x.norm, du, dx); }))
    with_element(dx.element, [&]<class T>() {
      for_rows(host, dx.rows, dx.cols, [&](std::size_t r) {
        host.kernels.direction_loss.of<T>().unit_backward(x.unit.row<T>(r), x.norm.row<T>(r), du.row<T>(r), dx.cols,
                                                          dx.row<T>(r));
      });
    });
}

}  // namespace

void cosine_loss(const Exec& exec, ConstTensor o, ConstTensor t, const RowScale& scale, Tensor values,
                 Tensor gradient) {
  for (const Exec& host : dispatch(exec, [&] { gpu::cosine_loss(exec, o, t, scale, values, gradient); }))
    with_element(o.element, [&]<class T>() {
      for_rows(host, o.rows, o.cols, [&](std::size_t r) {
        host.kernels.direction_loss.of<T>().cosine_row(o.row<T>(r), t.row<T>(r), scale.of<T>(r), o.cols,
                                                       values.as<T>() + r,
                                                       gradient.data == nullptr ? nullptr : gradient.row<T>(r));
      });
    });
}

void contrastive_loss(const Exec& exec, ConstTensor o, ConstTensor t, double temperature, const RowScale& scale,
                      Tensor values, Tensor gradient, Tensor target_gradient) {
  const std::size_t rows = o.rows;
  const ArenaScope scope(exec.arena);
  const Units from = units_of(exec, o), to = units_of(exec, t);
  const Tensor cosines = exec.arena.tensor(rows, rows, o.element);
  const bool wanted = gradient.data != nullptr || target_gradient.data != nullptr;
  const Tensor slopes = wanted ? exec.arena.tensor(rows, rows, o.element) : Tensor{};
  const Tensor du = wanted ? exec.arena.tensor(rows, o.cols, o.element) : Tensor{};
  std::int64_t* own = exec.arena.note<std::int64_t>(rows);
  if (!exec.rehearsal()) std::iota(own, own + rows, 0);
  gemm(exec, Operand::of(from.unit), Operand::transposed(to.unit), o.cols, cosines);
  loom::scale(exec, cosines, 1 / temperature, cosines);
  RowScale of_cosines = scale;
  of_cosines.divisor *= temperature;
  softmax_crossentropy(exec, cosines, {.classes = {own, rows}}, of_cosines, values, slopes);
  units_backward(exec, Operand::of(slopes), from, to, du, gradient);
  units_backward(exec, Operand::transposed(slopes), to, from, du, target_gradient);
}

}  // namespace loom
