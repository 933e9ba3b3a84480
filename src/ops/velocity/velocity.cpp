#include "ops/velocity/velocity.h"

#include "ops/dispatch.h"
#include "ops/sums/sums.h"
#include "ops/velocity/velocity_gpu.h"

namespace loom {
namespace {

// f<T>(kernels, first, count) over parts of the elements of y.
template <class F>
void each_moved(const Exec& exec, Tensor y, F&& f) {
  with_element(y.element, [&]<class T>() {
    const VelocityKernels<T>& kernels = exec.kernels.velocity.of<T>();
    for_elements(exec, y.rows * y.cols,
                 [&](std::size_t at, std::size_t n) { f.template operator()<T>(kernels, at, n); });
  });
}

}  // namespace

void move_rate(const Exec& exec, double base, ConstTensor figures, ConstTensor factor, Tensor rate) {
  for (const Exec& host : dispatch(exec, [&] { gpu::move_rate(exec, base, figures, factor, rate); })) {
    if (!host.computes()) return;
    with_element(rate.element, [&]<class T>() {
      host.kernels.velocity.of<T>().rate(static_cast<T>(base), figures.as<T>(), factor.as<T>(), rate.as<T>());
    });
  }
}

void add_products(const Exec& exec, ConstTensor rate, ConstTensor g, Tensor sum, Tensor moved) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_products(exec, rate, g, sum, moved); })) {
    each_moved(host, sum, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.products(rate.as<T>(), g.as<T>() + at, n, sum.as<T>() + at);
    });
    if (!host.computes()) return;
    with_element(sum.element, [&]<class T>() { host.kernels.velocity.of<T>().take_part(rate.as<T>(), moved.as<T>()); });
  }
}

void velocity(const Exec& exec, const VelocityStep& step, ConstTensor rate, ConstTensor g, ConstTensor w, Tensor v,
              Tensor figures, Tensor failed) {
  for (const Exec& host : dispatch(exec, [&] { gpu::velocity(exec, step, rate, g, w, v, figures, failed); }))
    with_element(v.element, [&]<class T>() {
      const VelocityKernels<T>& kernels = host.kernels.velocity.of<T>();
      sum_blocks(host, v.rows * v.cols, kVelocityFigures, figures.as<T>(),
                 [&](std::size_t first, std::size_t count, T* lanes) {
                   kernels.velocity(static_cast<T>(step.keep), static_cast<T>(step.take), rate.as<T>(),
                                    g.as<T>() + first, w.as<T>() + first, count, v.as<T>() + first, lanes);
                 });
      if (host.computes()) kernels.check(figures.as<T>(), failed.as<float>());
    });
}

void add_velocity(const Exec& exec, ConstTensor rate, ConstTensor figures, ConstTensor failed, ConstTensor v,
                  double limit, Tensor w) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_velocity(exec, rate, figures, failed, v, limit, w); }))
    each_moved(host, w, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.move(rate.as<T>(), figures.as<T>(), failed.as<float>(), v.as<T>() + at, static_cast<T>(limit), n,
             w.as<T>() + at);
    });
}

void add_scaled(const Exec& exec, double factor, ConstTensor x, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_scaled(exec, factor, x, y); }))
    each_moved(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.scaled(static_cast<T>(factor), x.as<T>() + at, n, y.as<T>() + at);
    });
}

void add_change(const Exec& exec, ConstTensor before, ConstTensor now, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_change(exec, before, now, y); }))
    each_moved(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.change(before.as<T>() + at, now.as<T>() + at, n, y.as<T>() + at);
    });
}

}  // namespace loom
