#pragma once
// What is done to each element alone, on a graphics card: the text of such a kernel is recorded from the CPU's own
// (simd/record), so that a formula is written once.

#include <functional>
#include <initializer_list>
#include <string>

#include "backend/exec.h"
#include "backend/webgpu/kernel.h"
#include "simd/record/trace.h"

namespace loom::gpu {

// Operand k of a kernel, which its text calls load_k and store_k.
struct ElementOperand {
  const void* at;
  Access access;
};

// Records the kernel that call(trace) calls, for `rows` rows of `cols` elements. `name` is another one for other
// constants in the text.
void record_elements(const Exec& exec, const std::string& name, std::size_t rows, std::size_t cols,
                     std::initializer_list<ElementOperand> operands, std::initializer_list<float> numbers,
                     const std::function<void(recorder::Trace&)>& call);

}  // namespace loom::gpu
