#include "ops/softmax/softmax.h"

#include "core/philox.h"
#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {
namespace {

// f(first entry of a distribution in row r, its width), for every run of the row.
template <class F>
void each_run(std::span<const SoftmaxRun> runs, F&& f) {
  for (const SoftmaxRun& run : runs)
    for (std::size_t g = 0; g < run.count; ++g) f(run.first + g * run.width, run.width);
}

}  // namespace

void softmax(const Exec& exec, ConstTensor x, double temperature, std::span<const SoftmaxRun> runs, Tensor p) {
  with_element(x.element, [&]<class T>() {
    const auto& k = exec.kernels.softmax.of<T>();
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      each_run(runs, [&](std::size_t at, std::size_t n) { k.softmax_row(x.row<T>(r) + at, static_cast<T>(temperature), n, p.row<T>(r) + at); });
    });
  });
}

void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature, std::span<const SoftmaxRun> runs, Tensor dx) {
  with_element(p.element, [&]<class T>() {
    const auto& k = exec.kernels.softmax.of<T>();
    for_rows(exec, p.rows, p.cols, [&](std::size_t r) {
      each_run(runs, [&](std::size_t at, std::size_t n) {
        k.backward_row(p.row<T>(r) + at, dy.row<T>(r) + at, static_cast<T>(temperature), n, dx.row<T>(r) + at);
      });
    });
  });
}

void masked_softmax(const Exec& exec, ConstTensor x, double temperature, const SoftmaxMask& mask, Tensor p) {
  with_element(x.element, [&]<class T>() {
    const auto& k = exec.kernels.softmax.of<T>();
    const T* call = static_cast<const T*>(mask.call);
    for_rows(exec, x.rows, x.cols, [&](std::size_t r) {
      const T* from = x.row<T>(r);
      T* to = p.row<T>(r);
      std::size_t left = 0;
      for (std::size_t i = 0; i < x.cols; ++i) {
        const bool seen = call != nullptr ? call[r * x.cols + i] > 0 : i >= mask.listed.size() || mask.listed[i] != 0;
        left += seen;
        to[i] = seen ? from[i] : -std::numeric_limits<T>::infinity();
      }
      if (left != 0) return k.softmax_row(to, static_cast<T>(temperature), x.cols, to);
      for (std::size_t i = 0; i < x.cols; ++i) to[i] = 0;
    });
  });
}

void add_gumbel_noise(const Exec& exec, ConstTensor x, std::uint64_t seed, std::uint32_t step, std::uint32_t site, Tensor y,
                      std::size_t first) {
  const RandomStream stream{seed, RandomDomain::Gumbel, step, site};
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
      T* to = y.as<T>() + at;
      for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>(stream.uniform(first + at + i));  // at least 2^-24
      exec.kernels.softmax.of<T>().gumbel_row(x.as<T>() + at, to, n, to);
    });
  });
}

void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y) {
  with_element(p.element, [&]<class T>() {
    for_rows(exec, p.rows, p.cols, [&](std::size_t r) {
      const T* from = p.row<T>(r);
      std::size_t best = 0;
      for (std::size_t i = 1; i < p.cols; ++i)
        if (from[i] > from[best] || (from[best] != from[best] && from[i] == from[i])) best = i;
      for (std::size_t i = 0; i < p.cols; ++i) y.row<T>(r)[i] = i == best ? T{1} : T{0};
    });
  });
}

}  // namespace loom
