#pragma once
// The graphics card of tests: number 0 of what LOOM_WEBGPU_LIB finds (tests run on Mesa's lavapipe). Where there is
// none a test is skipped, unless LOOM_NEEDS_GPU is set, as it is in ./test.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"

namespace loom::test {

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
    return made ? std::move(*made) : nullptr;
  }();
  return device.get();
}

#define LOOM_NEEDS_GPU_DEVICE(device)                                \
  ::loom::gpu::GpuDevice* const device = ::loom::test::gpu_device(); \
  if (device == nullptr) GTEST_SKIP() << "no graphics card"

}  // namespace loom::test
