#include "ops/functions_gpu.h"

#include "simd/math_kernels.h"
#include "simd/record/trace.h"

namespace loom::record {
extern const MathKernels math_kernels;
}

namespace loom::gpu {

std::string function_texts() {
  const auto text = [](const char* name, MathKernel kernel) {
    return recorder::traced_function(
        name, [&](recorder::Trace& t) { kernel(t.operand(0), t.operand(1), recorder::Trace::n()); });
  };
  return text("exp_f", record::math_kernels.exp) + text("tanh_f", record::math_kernels.tanh);
}

}  // namespace loom::gpu
