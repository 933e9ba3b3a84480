#pragma once
// Tests of ops on a graphics card: an op runs on the device and on the host, and the bits must be equal.

#include <functional>

#include "backend/rehearsal.h"
#include "ops/op_test.h"
#include "support/gpu.h"

namespace loom::op_test {

// A tensor of each input, and the one that is written: [rows, cols].
using Inputs = std::span<const Tensor>;
using Op = std::function<void(const Exec&, Inputs, Tensor)>;
struct Values {
  std::size_t rows, cols;
  std::vector<float> numbers;
};

// The parts of an output to which several ops write, one after the other.
class Parts {
 public:
  explicit Parts(Tensor y) : at_(y.as<float>()) {}
  Tensor take(std::size_t rows, std::size_t cols) {
    return {std::exchange(at_, at_ + rows * cols), rows, cols, Element::f32};
  }
  void* take(std::size_t elements) { return take(1, elements).data; }

 private:
  float* at_;
};

// Returns the output of an op that runs on a device, or on the host for null.
inline std::vector<float> run(Device* device, std::span<const Values> inputs, std::size_t rows, std::size_t cols,
                              const Op& op) {
  auto pool = ThreadPool::create(2).value();
  Arena arena(device);
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
  std::vector<Memory> memory;
  std::vector<Tensor> tensors;
  for (const Values& v : inputs) {
    memory.push_back(Memory::create(device, v.numbers.size() * 4).value());
    memory.back().write(0, std::as_bytes(std::span(v.numbers)));
    tensors.push_back({memory.back().data(), v.rows, v.cols, Element::f32});
  }
  Memory out = Memory::create(device, rows * cols * 4).value();
  const Tensor y{out.data(), rows, cols, Element::f32};
  EXPECT_TRUE(plan_scratch(exec, [&](const Exec& e) { op(e, tensors, y); }));
  if (device != nullptr) {  // scratch begins as anything
    const ArenaScope scope(arena);
    const std::size_t bytes = rehearse(exec, [&](const Exec& e) { op(e, tensors, y); }).value().tensors;
    device->write(arena.take<std::byte>(bytes), std::vector(bytes, std::byte{0xff}));
  }
  op(exec, tensors, y);
  EXPECT_FALSE(exec.status) << exec.status->text();
  std::vector<float> result(rows * cols);
  out.read(0, std::as_writable_bytes(std::span(result)));
  if (device != nullptr) {
    const auto checked = device->check();
    EXPECT_TRUE(checked) << checked.error().text();
  }
  return result;
}

inline void expect_equal(gpu::GpuDevice& device, std::span<const Values> inputs, std::size_t rows, std::size_t cols,
                         const Op& op) {
  const std::vector<float> expected = run(nullptr, inputs, rows, cols, op), got = run(&device, inputs, rows, cols, op);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(expected[i]) == std::bit_cast<std::uint32_t>(got[i]);
    if (!same && ++wrong <= 3)
      ADD_FAILURE() << "element " << i << ": " << got[i] << " on the device, " << expected[i] << " here";
  }
  EXPECT_EQ(wrong, 0u) << "of " << expected.size();
}

}  // namespace loom::op_test
