// Proofs that a graphics card has to pass before its results count (backend/webgpu/prover.h).
#include <array>

#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_gpu.h"
#include "ops/gpu_test.h"
#include "ops/norm/norm.h"
#include "support/files.h"

namespace loom::op_test {
namespace {

constexpr std::size_t kRows = 7, kCols = 300;

// A norm followed by an add: two kernels by rows, which become one.
void norm_and_add(gpu::GpuDevice& device, std::size_t rows = kRows) {
  const Values x{rows, kCols, values<float>(rows * kCols, 1)}, gains{1, kCols, values<float>(kCols, 2)};
  expect_equal(device, std::array{x, gains}, rows, kCols, [](const Exec& exec, Inputs in, Tensor y) {
    rms_norm(exec, in[0], in[1].data, 1e-5, y);
    add(exec, in[0], y, y);
  });
}

TEST(GpuProof, a_shader_is_tried_once_and_again_for_other_sizes_and_after_a_thousand_uses) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  const gpu::Prover::Report& report = device->prover().report();
  norm_and_add(*device);
  norm_and_add(*device);  // as one shader now
  const std::uint64_t trials = report.trials;
  EXPECT_GE(trials, 2u);
  norm_and_add(*device);
  EXPECT_EQ(report.trials, trials);
  norm_and_add(*device, 100 * kRows);
  EXPECT_GT(report.trials, trials);
  norm_and_add(*device, 100 * kRows);
  const std::uint64_t all = report.trials;
  for (std::uint32_t i = 0; i < 100; ++i) norm_and_add(*device);
  EXPECT_EQ(report.trials, all);
  for (std::uint32_t i = 0; i < gpu::Shader::kUsesToNextTrial; ++i) norm_and_add(*device);
  EXPECT_EQ(report.trials, all + 3);  // of each alone, and joined
  EXPECT_EQ(test::refused_kernels(*device), "");
}

TEST(GpuProof, ATrialCallsTheHostWithAnExecOfItsOwn) {
  const auto device = test::make_gpu_device({});
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  const auto pool = ThreadPool::create(1).value();
  Arena arena(device.get());
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
  Memory memory = Memory::create(device.get(), 2 * kCols * 4).value();
  const std::vector<float> numbers = values<float>(2 * kCols, 1);
  memory.write(0, std::as_bytes(std::span(numbers)));
  const Tensor x{memory.data(), 1, kCols, Element::f32}, y{memory.data() + kCols * 4, 1, kCols, Element::f32};
  int trials = 0;
  const auto add_on = [&](const Exec& on) {
    for (const Exec& host : dispatch(on, [&] { gpu::add(on, x, y, y); })) {
      EXPECT_EQ(on.arena.device(), device.get()) << "the arena of the call stays";
      EXPECT_EQ(host.arena.device(), nullptr);
      EXPECT_EQ(host.gpu(), nullptr);
      EXPECT_EQ(host.rehearsal(), on.rehearsal());
      add(host, x, y, y);
      trials += host.rehearsal() ? 0 : 1;
      host.status = Error{Code::OutOfRange, "an error of the host"};
    }
  };
  arena = Arena::measuring(device.get());
  add_on(exec);
  EXPECT_EQ(trials, 0);
  EXPECT_EQ(exec.status->message, "an error of the host");
  exec.status.reset();
  arena = Arena(device.get());
  add_on(exec);
  EXPECT_EQ(trials, 1);
  EXPECT_EQ(exec.status->message, "an error of the host");
}

TEST(GpuProof, passes_are_kept_in_a_file_that_may_hold_anything) {
  gpu::GpuOptions options;
  const test::TempFolder folder;
  options.passes = folder.path() + "/passes";
  const auto trials_of_a_run = [&] {
    const auto device = test::make_gpu_device(options);
    if (device == nullptr) return std::uint64_t{0};
    for (int i = 0; i < 3; ++i) norm_and_add(*device);
    return device->prover().report().trials;
  };
  if (test::gpu_device() == nullptr) GTEST_SKIP() << "no graphics card";
  EXPECT_GE(trials_of_a_run(), 2u);
  EXPECT_EQ(trials_of_a_run(), 0u);
  const std::string whole = test::read_all(options.passes);
  test::write_all(options.passes, "rubbish\n" + std::string(1000, 'x') + "\n" + whole.substr(0, 50));
  EXPECT_GE(trials_of_a_run(), 2u);
  test::write_all(options.passes, "rubbish\n" + whole + std::string(64, 'z') + " zzzzzzzzzzzzzzzz 1\nhalf a line");
  EXPECT_EQ(trials_of_a_run(), 0u);
  options.passes = folder.path() + "/no such folder/passes";
  EXPECT_GE(trials_of_a_run(), 2u);
}

TEST(GpuProof, a_kernel_that_fails_is_refused_by_name_and_its_op_computed_on_host) {
  gpu::GpuOptions options;
  options.alter = [](std::string_view text) {  // errs in kernels, not in what is tried when a device is opened
    constexpr std::string_view kSnap = "fn snap(x: f32) -> f32 {";
    std::string out(text);
    if (text.find("fn canary(") == text.npos)
      out.replace(out.find(kSnap), kSnap.size(),
                  std::string(kSnap) + " return x + x; }\nfn right_snap(x: f32) -> f32 {");
    return out;
  };
  const auto device = test::make_gpu_device(options);
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  for (int i = 0; i < 3; ++i) norm_and_add(*device);
  EXPECT_NE(test::refused_kernels(*device).find("rms_norm"), std::string::npos);
  EXPECT_GE(device->prover().report().calls_on_host, 2u);
}

TEST(GpuMemory, addresses_are_handed_out_again_when_there_are_no_more) {
  gpu::GpuOptions options;
  options.checks_arithmetic = false;
  options.addresses = std::size_t{8} << 20;
  const auto device = test::make_gpu_device(options);
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  const std::vector<float> numbers = values<float>(3 * 65536, 1);
  const auto bytes = std::as_bytes(std::span(numbers));
  const auto holds_them = [&](const Memory& memory) {
    std::vector<float> got(numbers.size());
    memory.read(0, std::as_writable_bytes(std::span(got)));
    return got == numbers;
  };
  std::vector<Memory> kept;
  for (int i = 0; i < 30; ++i) {
    auto memory = Memory::create(device.get(), bytes.size());
    ASSERT_TRUE(memory) << i << ": " << memory.error().text();
    memory->write(0, bytes);
    if (i % 10 == 1) kept.push_back(std::move(*memory));
  }
  for (const Memory& memory : kept) EXPECT_TRUE(holds_them(memory));
  for (int i = 0; i < 20 && kept.size() < 20; ++i) {
    auto memory = Memory::create(device.get(), bytes.size());
    if (!memory) break;
    memory->write(0, bytes);
    kept.push_back(std::move(*memory));
  }
  EXPECT_EQ(Memory::create(device.get(), bytes.size()).error().code, Code::OutOfMemory);
  EXPECT_GE(kept.size(), 7u);
  for (const Memory& memory : kept) EXPECT_TRUE(holds_them(memory));
  norm_and_add(*device);
}

}  // namespace
}  // namespace loom::op_test
