#pragma once
// y = f(x), element by element; every result is snapped.

#include <optional>
#include <string_view>

#include "backend/exec.h"

namespace loom {

// Names and formulas: engine 3.2. "gelu" is the tanh form, "gelu_exact" the one by erf.
enum class Activation : std::uint8_t { Linear, Relu, Silu, Gelu, Tanh, Sigmoid, Relu2, GeluExact, QuickGelu };

std::string_view name(Activation activation);
std::optional<Activation> activation_from_name(std::string_view text);

// y = a + b; y may be a or b.
void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y);
// y = activation(x); y may be x.
void activate(const Exec& exec, Activation activation, ConstTensor x, Tensor y);
// y = activation(gate) * up: the hidden layer of SwiGLU and its kin (Shazeer 2020). y may be gate.
void gated(const Exec& exec, Activation activation, ConstTensor gate, ConstTensor up, Tensor y);
// y = x * factor; y may be x.
void scale(const Exec& exec, ConstTensor x, float factor, Tensor y);

struct ElementwiseKernels {
  void (*add)(const float* a, const float* b, std::size_t n, float* y);
  void (*activate)(Activation activation, const float* x, std::size_t n, float* y);
  void (*gated)(Activation activation, const float* gate, const float* up, std::size_t n, float* y);
  void (*scale)(const float* x, float factor, std::size_t n, float* y);
};

}  // namespace loom
