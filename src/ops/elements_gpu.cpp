#include "ops/elements_gpu.h"

#include <array>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/mutex.h"

namespace loom::gpu {
namespace {

struct Kept {
  std::string name, body;
};
constexpr std::size_t kLongRow = 8192;  // from this length on workgroups share a row, by pieces where it divides
constexpr std::size_t kPiece = 1024;
constexpr std::size_t kManyElements = std::size_t{1} << 17;

const Kept& kept(const std::string& name, bool by_rows, bool guarded, std::size_t numbers,
                 const std::function<std::string()>& statements) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const Kept>, std::less<>>;
  const Mutex::Guard lock(mutex);
  auto& entry = known[name + (by_rows ? "" : guarded ? " guarded" : " flat")];
  if (entry == nullptr) {
    std::string body = param_text(numbers);
    const std::string guard = guarded ? "  if (bits_unless(0u) != 0u) { return; }\n" : "";
    body += by_rows ? "fn run(row: u32, thread: u32) {\n" + guard +
                          "  for (var i = row * cols() + thread; i < (row + 1u) * cols(); i += 256u) {\n"
                    : "fn run(group: u32, thread: u32) {\n" + guard +
                          "  for (var i = span() * group + thread; i < min(span() * (group + 1u), elements()); i += "
                          "64u) {\n";
    body += statements();
    body += "  }\n}\n";
    entry = std::make_unique<const Kept>(Kept{name, std::move(body)});
  }
  return *entry;
}

}  // namespace

std::string named(std::string_view op, const ActivationFn& fn) {
  return fmt::format("{} {} {:a} {:a} {}", op, name(fn.kind), fn.leaky_slope, fn.elu_alpha, fn.ste);
}

std::string param_text(std::size_t numbers) {
  if (numbers == 0) return {};
  std::string text = "fn param(k: u32) -> f32 {\n  switch (k) {\n";
  for (std::size_t k = 1; k < numbers; ++k)
    text += fmt::format("    case {}u: {{ return {}(); }}\n", k, kNumberNames[k]);
  return text + fmt::format("    default: {{ return {}(); }}\n  }}\n}}\n", kNumberNames[0]);
}

void record_elements(const Exec& exec, const std::string& name, std::size_t rows, std::size_t cols,
                     std::span<const ElementOperand> operands, std::span<const float> numbers,
                     const std::function<void(recorder::Trace&)>& call, const void* unless) {
  if (cols >= kLongRow && cols % kPiece == 0 && unless == nullptr)
    return record_elements(exec, name, rows * (cols / kPiece), kPiece, operands, numbers, call);
  const bool by_rows = cols < kLongRow && unless == nullptr;
  const Kept& text = kept(name, by_rows, unless != nullptr, numbers.size(), [&] { return recorder::traced(call); });
  Kernel kernel(text.name, text.body, by_rows ? GpuDevice::kRowThreads : Kernel::kThreads);
  std::size_t k = 0;
  for (const ElementOperand& operand : operands)
    kernel.operand(kOperandNames[k++], operand.at, operand.access, operand.is_number ? 0 : cols);
  if (unless != nullptr) kernel.reads("unless", unless);
  // Several elements of a thread where there are many, lest workgroups begin and end all the time.
  const std::size_t elements = rows * cols, span = Kernel::kThreads * (elements < kManyElements ? 1 : 4);
  by_rows ? kernel.number("cols", cols) : kernel.number("elements", elements).number("span", span);
  k = 0;
  for (const float number : numbers) kernel.number(kNumberNames[k++], number);
  by_rows ? exec.gpu()->record_row(exec, kernel, rows) : exec.gpu()->record(exec, kernel, ceil_div(elements, span));
}

}  // namespace loom::gpu
