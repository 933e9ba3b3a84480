#include "ops/mix/mix.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm.h"
#include "ops/mix/mix_gpu.h"

namespace loom {

void mean_of_rows(const Exec& exec, ConstTensor x, std::size_t rows, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mean_of_rows(exec, x, rows, y); })) {
    if (host.rehearsal()) return;  // it takes no memory, and there may be more groups than memory holds
    fill_zero(host, y);
    for (std::size_t g = 0; g < y.rows; ++g) {
      const std::size_t size = x.cols * bytes_of(x.element);
      const auto* from = static_cast<const std::byte*>(x.data) + g * rows * size;
      add_column_sums(host, {from, rows, x.cols, x.element}, 0, static_cast<std::byte*>(y.data) + g * size);
    }
    divide(host, y, static_cast<double>(rows), y);
  }
}

void mean_of_rows_backward(const Exec& exec, ConstTensor dy, std::size_t rows, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mean_of_rows_backward(exec, dy, rows, dx); }))
    with_element(dx.element, [&]<class T>() {
      for_rows(host, dx.rows, dx.cols, [&](std::size_t r) {
        host.kernels.elementwise.of<T>().divide(dy.row<T>(r / rows), static_cast<T>(rows), dx.cols, dx.row<T>(r));
      });
    });
}

void gate_weights(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor p) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gate_weights(exec, rule, z, p); }))
    with_element(p.element, [&]<class T>() {
      for_rows(host, p.rows, p.cols * 8,
               [&](std::size_t g) { host.kernels.mix.of<T>().weights(rule, z.row<T>(g), p.cols, p.row<T>(g)); });
    });
}

void gate_weights_backward(const Exec& exec, const GateRule& rule, ConstTensor z, ConstTensor p, ConstTensor q,
                           Tensor dz) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gate_weights_backward(exec, rule, z, p, q, dz); }))
    with_element(p.element, [&]<class T>() {
      for_rows(host, p.rows, p.cols * 4, [&](std::size_t g) {
        host.kernels.mix.of<T>().weights_backward(rule, z.row<T>(g), p.row<T>(g), q.row<T>(g), p.cols, dz.row<T>(g));
      });
    });
}

void mix(const Exec& exec, ConstTensor p, const void* const* branches, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mix(exec, p, branches, y); })) {
    const std::size_t width = y.rows * y.cols / p.rows;
    with_element(y.element, [&]<class T>() {
      const T* const* b = reinterpret_cast<const T* const*>(branches);
      for_pieces(host, p.rows, width, [&](std::size_t g, std::size_t, std::size_t first, std::size_t n) {
        host.kernels.mix.of<T>().mix(p.row<T>(g), b, p.cols, g * width + first, n, y.as<T>());
      });
    });
  }
}

void mix_backward(const Exec& exec, ConstTensor p, std::size_t branch, ConstTensor dy, Tensor d) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mix_backward(exec, p, branch, dy, d); })) {
    const std::size_t width = d.rows * d.cols / p.rows;
    with_element(d.element, [&]<class T>() {
      for_pieces(host, p.rows, width, [&](std::size_t g, std::size_t, std::size_t at, std::size_t n) {
        const std::size_t first = g * width + at;
        host.kernels.mix.of<T>().branch(p.row<T>(g) + branch, dy.as<T>() + first, n, d.as<T>() + first);
      });
    });
  }
}

void mix_gate_backward(const Exec& exec, ConstTensor dy, ConstTensor b, std::size_t branch, Tensor q) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mix_gate_backward(exec, dy, b, branch, q); })) {
    const std::size_t width = dy.rows * dy.cols / q.rows;
    with_element(q.element, [&]<class T>() {
      for_rows(host, q.rows, width, [&](std::size_t g) {
        host.kernels.mix.of<T>().dot(dy.as<T>() + g * width, b.as<T>() + g * width, width, q.row<T>(g) + branch);
      });
    });
  }
}

}  // namespace loom
