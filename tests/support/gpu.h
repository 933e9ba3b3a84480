#pragma once
// The graphics card of tests: number 0 of what LOOM_WEBGPU_LIB finds (tests run on Mesa's lavapipe). Where there is
// none a test is skipped, unless LOOM_NEEDS_GPU is set, as it is in ./test. LOOM_GPU_TEXTS names a folder where every
// shader is kept, for other compilers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"
#include "backend/webgpu/prover.h"
#include "core/sha256.h"
#include "support/files.h"
#include "support/mutants.h"

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
    if (current_mutant() == nullptr) {
      EXPECT_EQ(refused_kernels(device_), "");
    } else {
      const std::set<std::string> refused(report.refused.begin(), report.refused.end());
      std::istringstream wanted{std::string(current_mutant()->refused)};
      for (std::string name; wanted >> name;) EXPECT_TRUE(refused.contains(name)) << name << " has passed";
    }
    if (std::getenv("LOOM_GPU_FIGURES") != nullptr)
      std::printf("%llu trials in %.0f ms, %llu shaders\n", static_cast<unsigned long long>(report.trials), report.ms,
                  static_cast<unsigned long long>(device_.counters().pipelines));
  }

 private:
  gpu::GpuDevice& device_;
};

// Keeps a shader in the folder of LOOM_GPU_TEXTS, and leaves it as it is.
inline std::string keep_text(std::string_view text) {
  static std::set<std::string>& kept = *new std::set<std::string>;
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  const std::string name = to_hex(hash.finish());
  std::string whole(text);
  if (kept.insert(name).second) write_all(std::string(std::getenv("LOOM_GPU_TEXTS")) + "/" + name + ".wgsl", whole);
  return whole;
}

// Null where there is none.
inline std::unique_ptr<gpu::Driver> open_gpu_driver(const gpu::Limits& most = gpu::kNoLimits) {
  const char* const library = std::getenv("LOOM_WEBGPU_LIB");
  auto driver = gpu::open_native(library == nullptr ? "" : library, 0, most);
  if (driver) return std::move(*driver);
  EXPECT_EQ(std::getenv("LOOM_NEEDS_GPU"), nullptr) << driver.error().text();
  return nullptr;
}

// Null where there is none, or where it cannot be made.
inline std::unique_ptr<gpu::GpuDevice> make_gpu_device(const gpu::GpuOptions& options) {
  auto driver = open_gpu_driver();
  if (driver == nullptr) return nullptr;
  auto made = gpu::GpuDevice::create(std::move(driver), options);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : nullptr;
}

// Whether LOOM_GPU_MUTANT names a fault.
inline bool compiler_errs() { return std::getenv("LOOM_GPU_MUTANT") != nullptr; }

// Made once in a process, since devices take a while; with the fault that LOOM_GPU_MUTANT names.
inline gpu::GpuDevice* gpu_device() {
  static const std::unique_ptr<gpu::GpuDevice> device = [] {
    gpu::GpuOptions options;
    if (const char* const name = std::getenv("LOOM_GPU_MUTANT")) {
      current_mutant() = std::ranges::find(kMutants, std::string_view(name), &Mutant::name);
      LOOM_ASSERT(current_mutant() != std::end(kMutants));
      options.checks_arithmetic = false;
      options.alter = &mutate;
    } else if (std::getenv("LOOM_GPU_TEXTS") != nullptr) {
      options.alter = &keep_text;
    }
    auto made = make_gpu_device(options);
    if (made != nullptr) testing::AddGlobalTestEnvironment(new ProofOfAll(*made));
    return made;
  }();
  return device.get();
}

#define LOOM_NEEDS_GPU_DEVICE(device)                                \
  ::loom::gpu::GpuDevice* const device = ::loom::test::gpu_device(); \
  if (device == nullptr) GTEST_SKIP() << "no graphics card"

}  // namespace loom::test
