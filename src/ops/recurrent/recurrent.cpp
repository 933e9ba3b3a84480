#include "ops/recurrent/recurrent.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/recurrent/recurrent_gpu.h"

namespace loom {
namespace {

// An activation costs about as much as this many plain elements.
constexpr std::size_t kCost = 8;

}  // namespace

void cell_forward(const Exec& exec, const CellForward& task, std::size_t t) {
  for (const Exec& host : dispatch(exec, [&] { gpu::cell_forward(exec, task, t); }))
    with_element(task.h.element, [&]<class T>() {
      const auto kernel = host.kernels.cell.of<T>().forward[static_cast<std::size_t>(task.shape.cell)];
      for_ranges(host, task.shape.batch, task.shape.units * gates_of(task.shape.cell) * kCost,
                 [&](std::size_t begin, std::size_t end) { kernel(task, t, begin, end); });
    });
}

void cell_backward(const Exec& exec, const CellBackward& task, std::size_t t) {
  for (const Exec& host : dispatch(exec, [&] { gpu::cell_backward(exec, task, t); }))
    with_element(task.dh.element, [&]<class T>() {
      const auto kernel = host.kernels.cell.of<T>().backward[static_cast<std::size_t>(task.shape.cell)];
      for_ranges(host, task.shape.batch, task.shape.units * gates_of(task.shape.cell) * kCost,
                 [&](std::size_t begin, std::size_t end) { kernel(task, t, begin, end); });
    });
}

void gate_slopes(const Exec& exec, const GateSlopes& task) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gate_slopes(exec, task); }))
    with_element(task.sums[0].element, [&]<class T>() {
      const auto kernel = host.kernels.cell.of<T>().slopes[static_cast<std::size_t>(task.cell)];
      for_ranges(host, task.rows, task.units * gates_of(task.cell) * kCost,
                 [&](std::size_t begin, std::size_t end) { kernel(task, begin, end); });
    });
}

void cell_gap(const Exec& exec, const CellBackward& task, const GateSlopes& slopes, double carry, std::size_t t) {
  for (const Exec& host : dispatch(exec, [&] { gpu::cell_gap(exec, task, slopes, carry, t); }))
    with_element(task.dh.element, [&]<class T>() {
      const auto kernel = host.kernels.cell.of<T>().gap[static_cast<std::size_t>(task.shape.cell)];
      for_ranges(host, task.shape.batch, task.shape.units * gates_of(task.shape.cell),
                 [&](std::size_t begin, std::size_t end) { kernel(task, slopes, carry, t, begin, end); });
    });
}

}  // namespace loom
