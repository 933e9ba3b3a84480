#pragma once
// y = f(x), element by element; every result is snapped. Tensors of one call have the same element type and as many
// elements.

#include <optional>
#include <string_view>
#include <type_traits>

#include "backend/exec.h"

namespace loom {

// Names, formulas and derivatives: engine 3.2. "gelu" is the tanh form, "gelu_exact" the one by erf.
enum class Activation : std::uint8_t {
  Linear,
  Relu,
  Silu,
  Gelu,
  Tanh,
  Sigmoid,
  LeakyRelu,
  Relu2,
  GeluExact,
  Softplus,
  Mish,
  HardSigmoid,
  HardSwish,
  HardTanh,
  Elu,
  Selu,
  Relu6,
  Softsign,
  QuickGelu,
  Sign,
  Step,
};
inline constexpr std::size_t kNumActivations = 21;

// An activation with its constants (engine L-10, L-12).
struct ActivationFn {
  Activation kind = Activation::Linear;
  double leaky_slope = 0.01, elu_alpha = 1.0;
  bool ste = true;  // sign and step: the derivative counts as 1 for |x| < 1

  ActivationFn() = default;
  ActivationFn(Activation k) : kind(k) {}
  bool is_linear() const { return kind == Activation::Linear; }
};

// Activations that He's initialisation is for (engine J-02).
constexpr bool is_relu_like(Activation a) {
  return a == Activation::Relu || a == Activation::LeakyRelu || a == Activation::Relu2 || a == Activation::Relu6;
}

std::string_view name(Activation activation);
// The inverse, aliases included; nullopt for an unknown name.
std::optional<Activation> activation_from_name(std::string_view text);

// y = a + b, y = a * b; y may be a or b.
void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y);
void multiply(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y);
// y = x * factor, y = x / divisor; y may be x.
void scale(const Exec& exec, ConstTensor x, double factor, Tensor y);
void divide(const Exec& exec, ConstTensor x, double divisor, Tensor y);
// y[r] = x[r] + row, row [cols]; y may be x.
void add_to_rows(const Exec& exec, ConstTensor x, const void* row, Tensor y);
void fill_zero(const Exec& exec, Tensor y);
void fill(const Exec& exec, Tensor y, double value);  // rounded once to the element
void copy(const Exec& exec, ConstTensor x, Tensor y);
void convert(const Exec& exec, ConstTensor x, Tensor y);  // between element types: f64 is rounded once
// y = activation(x); y may be x.
void activate(const Exec& exec, const ActivationFn& fn, ConstTensor x, Tensor y);
// dx = dy * activation'(x); dx may be dy.
void activate_backward(const Exec& exec, const ActivationFn& fn, ConstTensor x, ConstTensor dy, Tensor dx);
// y = activation(gate) * up: the hidden layer of SwiGLU and its kin (Shazeer 2020). y may be gate.
void gated(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, Tensor y);
// dup = dy * activation(gate), dgate = dy * up * activation'(gate); neither may be an input.
void gated_backward(const Exec& exec, const ActivationFn& fn, ConstTensor gate, ConstTensor up, ConstTensor dy,
                    Tensor dgate, Tensor dup);

// f64 of f32 and the reverse.
template <class T>
using OtherElement = std::conditional_t<sizeof(T) == 8, float, double>;

template <class T>
struct ElementwiseKernels {
  void (*add)(const T* a, const T* b, std::size_t n, T* y);
  void (*multiply)(const T* a, const T* b, std::size_t n, T* y);
  void (*scale)(const T* x, double factor, std::size_t n, T* y);
  void (*divide)(const T* x, T divisor, std::size_t n, T* y);
  void (*fill)(T value, std::size_t n, T* y);
  void (*copy)(const T* x, std::size_t n, T* y);
  void (*convert)(const OtherElement<T>* x, std::size_t n, T* y);
  void (*activate)(const ActivationFn& fn, const T* x, std::size_t n, T* y);
  void (*activate_backward)(const ActivationFn& fn, const T* x, const T* dy, std::size_t n, T* dx);
  void (*gated)(const ActivationFn& fn, const T* gate, const T* up, std::size_t n, T* y);
  void (*gated_backward)(const ActivationFn& fn, const T* gate, const T* up, const T* dy, std::size_t n, T* dgate,
                         T* dup);
};

}  // namespace loom
