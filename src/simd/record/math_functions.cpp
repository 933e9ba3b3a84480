#include "simd/record/math_functions.h"

#include "core/error.h"
#include "simd/math_kernels.h"
#include "simd/record/trace.h"

namespace loom::record {
extern const MathKernels math_kernels;
}

namespace loom::recorder {
namespace {

constexpr struct {
  std::string_view name;
  MathKernel MathKernels::* kernel;
} kFunctions[] = {{"exp_f", &MathKernels::exp},   {"expm1_f", &MathKernels::expm1},
                  {"log_f", &MathKernels::log},   {"log1p_f", &MathKernels::log1p},
                  {"tanh_f", &MathKernels::tanh}, {"sigmoid_f", &MathKernels::sigmoid},
                  {"erf_f", &MathKernels::erf},   {"sin_f", &MathKernels::sin},
                  {"cos_f", &MathKernels::cos},   {"rsqrt_f", &MathKernels::rsqrt}};

}  // namespace

std::string math_function(std::string_view name) {
  for (const auto& function : kFunctions) {
    if (function.name != name) continue;
    const MathKernel kernel = record::math_kernels.*function.kernel;
    return traced_function(name, [&](Trace& t) { kernel(t.operand(0), t.operand(1), t.n()); });
  }
  LOOM_ASSERT(name == "pow_f");
  return traced_function(name,
                         [](Trace& t) { record::math_kernels.pow(t.operand(0), t.operand(1), t.operand(2), t.n()); });
}

}  // namespace loom::recorder
