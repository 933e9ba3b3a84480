#include "ops/elements_gpu.h"

#include <array>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "core/mutex.h"

namespace loom::gpu {
namespace {

constexpr std::string_view kNames[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
constexpr std::string_view kNumbers[] = {"number_0", "number_1", "number_2", "number_3", "number_4", "number_5"};

struct Kept {
  std::string name, body;
};
constexpr std::size_t kLongRow = 8192;  // from here on a row is shared by workgroups

const Kept& kept(const std::string& name, bool by_rows, std::size_t numbers,
                 const std::function<std::string()>& statements) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const Kept>, std::less<>>;
  const Mutex::Guard lock(mutex);
  auto& entry = known[by_rows ? name : name + " flat"];
  if (entry == nullptr) {
    std::string body;
    if (numbers != 0) {
      body = "fn param(k: u32) -> f32 {\n  switch (k) {\n";
      for (std::size_t k = 1; k < numbers; ++k)
        body += fmt::format("    case {}u: {{ return {}(); }}\n", k, kNumbers[k]);
      body += fmt::format("    default: {{ return {}(); }}\n  }}\n}}\n", kNumbers[0]);
    }
    body += by_rows ? "fn run(row: u32, thread: u32) {\n"
                      "  for (var i = row * cols() + thread; i < (row + 1u) * cols(); i += 256u) {\n"
                    : "fn run(group: u32, thread: u32) {\n  let i = 64u * group + thread;\n  if (i < elements()) {\n";
    body += statements();
    body += "  }\n}\n";
    entry = std::make_unique<const Kept>(Kept{name, std::move(body)});
  }
  return *entry;
}

}  // namespace

void record_elements(const Exec& exec, const std::string& name, std::size_t rows, std::size_t cols,
                     std::initializer_list<ElementOperand> operands, std::initializer_list<float> numbers,
                     const std::function<void(recorder::Trace&)>& call) {
  const bool by_rows = cols < kLongRow;
  const Kept& text = kept(name, by_rows, numbers.size(), [&] { return recorder::traced(call); });
  Kernel kernel(text.name, text.body, by_rows ? GpuDevice::kRowThreads : Kernel::kThreads);
  std::size_t k = 0;
  for (const ElementOperand& operand : operands) kernel.operand(kNames[k++], operand.at, operand.access, cols);
  by_rows ? kernel.number("cols", cols) : kernel.number("elements", rows * cols);
  k = 0;
  for (const float number : numbers) kernel.number(kNumbers[k++], number);
  by_rows ? exec.gpu()->record_row(exec, kernel, rows)
          : exec.gpu()->record(exec, kernel, ceil_div(rows * cols, Kernel::kThreads));
}

}  // namespace loom::gpu
