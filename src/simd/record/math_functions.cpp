#include "simd/record/math_functions.h"

#include "core/error.h"
#include "simd/record/trace.h"

namespace loom::record {
extern const MathKernels math_kernels;
}

namespace loom::recorder {
std::string math_function(std::string_view name) {
  for (const MathFunction& function : kMathFunctions) {
    if (function.name != name) continue;
    const MathKernel kernel = record::math_kernels.*function.kernel;
    return traced_function(name, [&](Trace& t) { kernel(t.operand(0), t.operand(1), t.n()); });
  }
  LOOM_ASSERT(name == "pow_f");
  return traced_function(name,
                         [](Trace& t) { record::math_kernels.pow(t.operand(0), t.operand(1), t.operand(2), t.n()); });
}

}  // namespace loom::recorder
