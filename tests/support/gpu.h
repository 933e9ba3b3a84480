#pragma once
// The graphics card of tests: number 0 of what LOOM_WEBGPU_LIB finds (tests run on Mesa's lavapipe). Where there is
// none a test is skipped, unless LOOM_NEEDS_GPU is set, as it is in ./test.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"
#include "backend/webgpu/prover.h"

namespace loom::test {

// The names of kernels that have failed their trial on a device, with blanks between.
inline std::string refused_kernels(gpu::GpuDevice& device) {
  std::string names;
  for (const std::string& name : device.prover().report().refused) names += name + " ";
  return names;
}

// After all tests: every shader that they used was proved, and none failed.
class ProofOfAll : public testing::Environment {
 public:
  explicit ProofOfAll(gpu::GpuDevice& device) : device_(device) {}
  void TearDown() override {
    const gpu::Prover::Report& report = device_.prover().report();
    EXPECT_EQ(refused_kernels(device_), "");
    EXPECT_GT(report.trials, 0u);
    testing::Test::RecordProperty("trials", static_cast<int>(report.trials));
    if (std::getenv("LOOM_GPU_FIGURES") != nullptr)
      std::printf("%llu trials in %.0f ms, %llu shaders\n", static_cast<unsigned long long>(report.trials), report.ms,
                  static_cast<unsigned long long>(device_.counters().pipelines));
  }

 private:
  gpu::GpuDevice& device_;
};

// Null where there is none; made once in a process, since devices take a while.
inline gpu::GpuDevice* gpu_device() {
  static const std::unique_ptr<gpu::GpuDevice> device = []() -> std::unique_ptr<gpu::GpuDevice> {
    const char* const library = std::getenv("LOOM_WEBGPU_LIB");
    auto driver = gpu::open_native(library == nullptr ? "" : library, 0);
    if (!driver) {
      EXPECT_EQ(std::getenv("LOOM_NEEDS_GPU"), nullptr) << driver.error().text();
      return nullptr;
    }
    auto made = gpu::GpuDevice::create(std::move(*driver));
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return nullptr;
    testing::AddGlobalTestEnvironment(new ProofOfAll(**made));
    return std::move(*made);
  }();
  return device.get();
}

#define LOOM_NEEDS_GPU_DEVICE(device)                                \
  ::loom::gpu::GpuDevice* const device = ::loom::test::gpu_device(); \
  if (device == nullptr) GTEST_SKIP() << "no graphics card"

}  // namespace loom::test
