#include "ops/elementwise/elementwise.h"

#include <array>
#include <utility>

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 14> kNames = {{
    {"linear", Activation::Linear},
    {"relu", Activation::Relu},
    {"silu", Activation::Silu},
    {"gelu", Activation::Gelu},
    {"tanh", Activation::Tanh},
    {"sigmoid", Activation::Sigmoid},
    {"relu2", Activation::Relu2},
    {"gelu_exact", Activation::GeluExact},
    {"quick_gelu", Activation::QuickGelu},
    {"swish", Activation::Silu},
    {"gelu_new", Activation::Gelu},
    {"gelu_pytorch_tanh", Activation::Gelu},
    {"gelu_tanh", Activation::Gelu},
    {"relu_squared", Activation::Relu2},
}};

}  // namespace

std::string_view name(Activation activation) {
  for (const auto& [text, value] : kNames)
    if (value == activation) return text;
  return "linear";
}

std::optional<Activation> activation_from_name(std::string_view text) {
  for (const auto& [known, value] : kNames)
    if (known == text) return value;
  return std::nullopt;
}

void add(const Exec& exec, ConstTensor a, ConstTensor b, Tensor y) {
  for_rows(exec, a.rows, a.cols, [&](std::size_t r) { exec.kernels.elementwise.add(a.row(r), b.row(r), a.cols, y.row(r)); });
}

void activate(const Exec& exec, Activation activation, ConstTensor x, Tensor y) {
  for_rows(exec, x.rows, x.cols, [&](std::size_t r) { exec.kernels.elementwise.activate(activation, x.row(r), x.cols, y.row(r)); });
}

void gated(const Exec& exec, Activation activation, ConstTensor gate, ConstTensor up, Tensor y) {
  for_rows(exec, gate.rows, gate.cols,
           [&](std::size_t r) { exec.kernels.elementwise.gated(activation, gate.row(r), up.row(r), gate.cols, y.row(r)); });
}

void scale(const Exec& exec, ConstTensor x, float factor, Tensor y) {
  for_rows(exec, x.rows, x.cols, [&](std::size_t r) { exec.kernels.elementwise.scale(x.row(r), factor, x.cols, y.row(r)); });
}

}  // namespace loom
