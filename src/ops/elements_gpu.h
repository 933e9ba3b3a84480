#pragma once
// Operations on each element alone, on a graphics card: the text of such a kernel is recorded from the CPU's own
// (simd/record), so that a formula is written once.

#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "backend/exec.h"
#include "backend/webgpu/kernel.h"
#include "ops/elementwise/elementwise.h"
#include "simd/record/trace.h"

namespace loom::gpu {

inline std::size_t elements_of(const ConstTensor& t) { return t.rows * t.cols; }
// A tensor that may be absent: another one stands for it, which a text names and never reads.
inline const void* or_else(const void* tensor, const void* other) { return tensor == nullptr ? other : tensor; }
// The name of a kernel whose text holds an activation with its constants.
std::string named(std::string_view op, const ActivationFn& fn);

// Operand k of a kernel, which its text calls load_k and store_k.
struct ElementOperand {
  const void* at;
  Access access;
  bool is_number = false;  // one for all elements
};

// Records the kernel that call(trace) calls, for `rows` rows of `cols` elements. `name` is another one for other
// constants in the text. Nothing is done where `unless`, a number on the device, is not 0.
void record_elements(const Exec& exec, const std::string& name, std::size_t rows, std::size_t cols,
                     std::span<const ElementOperand> operands, std::span<const float> numbers,
                     const std::function<void(recorder::Trace&)>& call, const void* unless = nullptr);
inline void record_elements(const Exec& exec, const std::string& name, std::size_t rows, std::size_t cols,
                            std::initializer_list<ElementOperand> operands, std::initializer_list<float> numbers,
                            const std::function<void(recorder::Trace&)>& call) {
  record_elements(exec, name, rows, cols, std::span(operands.begin(), operands.size()),
                  std::span(numbers.begin(), numbers.size()), call);
}

// The names of operands and numbers in the text that calls them load_0, store_0, param(0).
inline constexpr std::string_view kOperandNames[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
inline constexpr std::string_view kNumberNames[] = {"number_0",  "number_1",  "number_2",  "number_3", "number_4",
                                                    "number_5",  "number_6",  "number_7",  "number_8", "number_9",
                                                    "number_10", "number_11", "number_12", "number_13"};
// `fn param(k: u32) -> f32` of so many numbers.
std::string param_text(std::size_t numbers);

}  // namespace loom::gpu
