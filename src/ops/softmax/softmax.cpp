#include "ops/softmax/softmax.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

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
  const gpu::Call call(exec, [&] { gpu::softmax(exec, x, temperature, runs, p); });
  if (call.is_done()) return;
  with_element(x.element, [&]<class T>() {
    const auto& k = exec.kernels.softmax.of<T>();
    for_rows(exec, x.rows, kRowCost * x.cols, [&](std::size_t r) {
      each_run(runs, [&](std::size_t at, std::size_t n) {
        k.softmax_row(x.row<T>(r) + at, static_cast<T>(temperature), n, p.row<T>(r) + at);
      });
    });
  });
}

void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature,
                      std::span<const SoftmaxRun> runs, Tensor dx) {
  const gpu::Call call(exec, [&] { gpu::softmax_backward(exec, p, dy, temperature, runs, dx); });
  if (call.is_done()) return;
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
  const gpu::Call call(exec, [&] { gpu::masked_softmax(exec, x, temperature, mask, p); });
  if (call.is_done()) return;
  with_element(x.element, [&]<class T>() {
    const auto& k = exec.kernels.softmax.of<T>();
    const T* call = static_cast<const T*>(mask.call);
    for_rows(exec, x.rows, kRowCost * x.cols, [&](std::size_t r) {
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
  const gpu::Call call(exec, [&] { gpu::add_gumbel_noise(exec, x, stream, first, y); });
  if (call.is_done()) return;
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
      exec.kernels.softmax.of<T>().gumbel(x.as<T>() + at, stream, first + at, n, y.as<T>() + at);
    });
  });
}

void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y) {
  const gpu::Call call(exec, [&] { gpu::one_hot_of_largest(exec, p, y); });
  if (call.is_done()) return;
  with_element(p.element, [&]<class T>() {
    for_rows(exec, p.rows, p.cols,
             [&](std::size_t r) { exec.kernels.softmax.of<T>().one_hot_row(p.row<T>(r), p.cols, y.row<T>(r)); });
  });
}

}  // namespace loom
