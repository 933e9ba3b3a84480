#include "ops/softmax/softmax.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/softmax/softmax_gpu.h"

namespace loom {
namespace {

// An exponential and its quotient cost about twice what for_rows() counts an element as.
constexpr std::size_t kRowCost = 2;

// f(first entry of a distribution in row r, its width), for every run of the row.
template <class F>
void each_run(std::span<const SoftmaxRun> runs, F&& f) {
  for (const SoftmaxRun& run : runs)
    for (std::size_t g = 0; g < run.count; ++g) f(run.first + g * run.width, run.width);
}

}  // namespace

void softmax(const Exec& exec, ConstTensor x, double temperature, std::span<const SoftmaxRun> runs, Tensor p) {
  for (const Exec& host : dispatch(exec, [&] { gpu::softmax(exec, x, temperature, runs, p); }))
    with_element(x.element, [&]<class T>() {
      const auto& k = host.kernels.softmax.of<T>();
      for_rows(host, x.rows, kRowCost * x.cols, [&](std::size_t r) {
        each_run(runs, [&](std::size_t at, std::size_t n) {
          k.softmax_row(x.row<T>(r) + at, static_cast<T>(temperature), n, p.row<T>(r) + at);
        });
      });
    });
}

void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature,
                      std::span<const SoftmaxRun> runs, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::softmax_backward(exec, p, dy, temperature, runs, dx); }))
    with_element(p.element, [&]<class T>() {
      const auto& k = host.kernels.softmax.of<T>();
      for_rows(host, p.rows, p.cols, [&](std::size_t r) {
        each_run(runs, [&](std::size_t at, std::size_t n) {
          k.backward_row(p.row<T>(r) + at, dy.row<T>(r) + at, static_cast<T>(temperature), n, dx.row<T>(r) + at);
        });
      });
    });
}

void masked_softmax(const Exec& exec, ConstTensor x, double temperature, const SoftmaxMask& mask, Tensor p) {
  for (const Exec& host : dispatch(exec, [&] { gpu::masked_softmax(exec, x, temperature, mask, p); }))
    with_element(x.element, [&]<class T>() {
      const auto& k = host.kernels.softmax.of<T>();
      const T* call = static_cast<const T*>(mask.call);
      for_rows(host, x.rows, kRowCost * x.cols, [&](std::size_t r) {
        k.masked_row(x.row<T>(r), static_cast<T>(temperature),
                     {.call = call == nullptr ? nullptr : call + r * x.cols,
                      .listed = mask.listed.data(),
                      .num_listed = mask.listed.size()},
                     x.cols, p.row<T>(r));
      });
    });
}

void add_gumbel_noise(const Exec& exec, ConstTensor x, std::uint64_t seed, std::uint32_t step, std::uint32_t site,
                      Tensor y, std::size_t first) {
  const RandomStream stream{seed, RandomDomain::Gumbel, step, site};
  for (const Exec& host : dispatch(exec, [&] { gpu::add_gumbel_noise(exec, x, stream, first, y); }))
    with_element(x.element, [&]<class T>() {
      for_elements(host, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
        host.kernels.softmax.of<T>().gumbel(x.as<T>() + at, stream, first + at, n, y.as<T>() + at);
      });
    });
}

void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::one_hot_of_largest(exec, p, y); }))
    with_element(p.element, [&]<class T>() {
      for_rows(host, p.rows, p.cols,
               [&](std::size_t r) { host.kernels.softmax.of<T>().one_hot_row(p.row<T>(r), p.cols, y.row<T>(r)); });
    });
}

}  // namespace loom
