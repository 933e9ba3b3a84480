#include "ops/elementwise/elementwise.h"

#include <array>
#include <utility>

#include "core/nearest.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise_gpu.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 31> kNames = {{
    {"linear", Activation::Linear},
    {"relu", Activation::Relu},
    {"silu", Activation::Silu},
    {"gelu", Activation::Gelu},
    {"tanh", Activation::Tanh},
    {"sigmoid", Activation::Sigmoid},
    {"leakyrelu", Activation::LeakyRelu},
    {"relu2", Activation::Relu2},
    {"gelu_exact", Activation::GeluExact},
    {"softplus", Activation::Softplus},
    {"mish", Activation::Mish},
    {"hard_sigmoid", Activation::HardSigmoid},
    {"hard_swish", Activation::HardSwish},
    {"hard_tanh", Activation::HardTanh},
    {"elu", Activation::Elu},
    {"selu", Activation::Selu},
    {"relu6", Activation::Relu6},
    {"softsign", Activation::Softsign},
    {"quick_gelu", Activation::QuickGelu},
    {"sign", Activation::Sign},
    {"step", Activation::Step},
    {"none", Activation::Linear},
    {"identity", Activation::Linear},
    {"swish", Activation::Silu},
    {"gelu_new", Activation::Gelu},
    {"gelu_pytorch_tanh", Activation::Gelu},
    {"gelu_tanh", Activation::Gelu},
    {"leaky_relu", Activation::LeakyRelu},
    {"relu_squared", Activation::Relu2},
    {"6", Activation::Relu2},
    {"gelu_erf", Activation::GeluExact},
}};

}  // namespace

std::string_view name(Activation activation) { return kNames[static_cast<std::size_t>(activation)].first; }

// Case, '_' and '-' do not count, as in all names of specs.
std::optional<Activation> activation_from_name(std::string_view text) {
  const std::string folded = folded_name(text);
  for (const auto& [known, value] : kNames)
    if (folded_name(known) == folded) return value;
  return std::nullopt;
}

namespace {

// f(kernels of T, first element, elements) in pieces.
template <class F>
void each_piece(const Exec& exec, Tensor y, F&& f) {
  with_element(y.element, [&]<class T>() {
    const ElementwiseKernels<T>& kernels = exec.kernels.elementwise.of<T>();
    for_elements(exec, y.rows * y.cols,
                 [&](std::size_t at, std::size_t n) { f.template operator()<T>(kernels, at, n); });
  });
}

}  // namespace

void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add(exec, a, b, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.add(a.as<T>() + at, b.as<T>() + at, n, y.as<T>() + at);
    });
}

void multiply(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::multiply(exec, a, b, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.multiply(a.as<T>() + at, b.as<T>() + at, n, y.as<T>() + at);
    });
}

void scale(const Exec& exec, ConstTensor x, double factor, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::scale(exec, x, factor, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.scale(x.as<T>() + at, factor, n, y.as<T>() + at);
    });
}

void add_to_rows(const Exec& exec, ConstTensor x, const void* row, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_to_rows(exec, x, row, y); }))
    with_element(y.element, [&]<class T>() {
      for_rows(host, y.rows, y.cols, [&](std::size_t r) {
        host.kernels.elementwise.of<T>().add(x.row<T>(r), static_cast<const T*>(row), y.cols, y.row<T>(r));
      });
    });
}

void divide(const Exec& exec, ConstTensor x, double divisor, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::divide(exec, x, divisor, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.divide(x.as<T>() + at, static_cast<T>(divisor), n, y.as<T>() + at);
    });
}

void fill_zero(const Exec& exec, Tensor y) { fill(exec, y, 0); }

void fill(const Exec& exec, Tensor y, double value) {
  for (const Exec& host : dispatch(exec, [&] { gpu::fill(exec, y, value); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.fill(static_cast<T>(value), n, y.as<T>() + at);
    });
}

void copy(const Exec& exec, ConstTensor x, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::copy(exec, x, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.copy(x.as<T>() + at, n, y.as<T>() + at);
    });
}

void convert(const Exec& exec, ConstTensor x, Tensor y) {
  if (x.element == y.element) return copy(exec, x, y);
  each_piece(exec, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
    k.convert(x.as<OtherElement<T>>() + at, n, y.as<T>() + at);
  });
}

void activate(const Exec& exec, const ActivationFn& fn, ConstTensor x, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::activate(exec, fn, x, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.activate(fn, x.as<T>() + at, n, y.as<T>() + at);
    });
}

void activate_backward(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor dy, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::activate_backward(exec, fn, x, dy, dx); }))
    each_piece(host, dx, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.activate_backward(fn, x.as<T>() + at, dy.as<T>() + at, n, dx.as<T>() + at);
    });
}

void gated(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gated(exec, fn, gate, up, y); }))
    each_piece(host, y, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.gated(fn, gate.as<T>() + at, up.as<T>() + at, n, y.as<T>() + at);
    });
}

void gated_backward(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, ConstTensor dy,
                    Tensor dgate, Tensor dup) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gated_backward(exec, fn, gate, up, dy, dgate, dup); }))
    each_piece(host, dup, [&]<class T>(const auto& k, std::size_t at, std::size_t n) {
      k.gated_backward(fn, gate.as<T>() + at, up.as<T>() + at, dy.as<T>() + at, n, dgate.as<T>() + at,
                       dup.as<T>() + at);
    });
}

}  // namespace loom
