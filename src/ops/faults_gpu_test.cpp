// Graphics cards that fail (tests/support/faulty_driver.h): what a device says then, and what it leaves.
#include <array>

#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/norm/norm.h"
#include "support/faulty_driver.h"

namespace loom::op_test {
namespace {

constexpr std::size_t kFaultRows = 5, kFaultCols = 70;

// A norm followed by an add, `times` times.
Result<std::vector<float>> normed(Device* device, int times = 2) {
  auto pool = ThreadPool::create(1).value();
  Arena arena(device);
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
  const std::vector<float> x = values<float>(kFaultRows * kFaultCols, 1);
  std::vector<float> result(x.size());
  LOOM_TRY(Memory in, Memory::create(device, x.size() * 4));
  LOOM_TRY(Memory gains, Memory::create(device, kFaultCols * 4));
  LOOM_TRY(Memory out, Memory::create(device, x.size() * 4));
  in.write(0, std::as_bytes(std::span(x)));
  gains.write(0, std::as_bytes(std::span(x).first(kFaultCols)));
  const Tensor tensor{in.data(), kFaultRows, kFaultCols}, y{out.data(), kFaultRows, kFaultCols};
  const auto op = [&](const Exec& e) {
    rms_norm(e, tensor, gains.data(), 1e-5, y);
    add(e, tensor, y, y);
  };
  LOOM_TRY_VOID(plan_scratch(exec, op));
  for (int i = 0; i < times; ++i) {
    op(exec);
    out.read(0, std::as_writable_bytes(std::span(result)));
    if (device != nullptr) LOOM_TRY_VOID(device->check());
    if (exec.status) return tl::make_unexpected(*exec.status);
  }
  return result;
}

void expect_dead(gpu::GpuDevice& device, const test::Faults& faults) {
  ASSERT_TRUE(device.lost());
  const std::string text = device.lost()->text();
  EXPECT_NE(text.find(device.adapter().name), std::string::npos) << text;
  EXPECT_NE(text.find("--device cpu"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(device.check().error().text(), text);
    EXPECT_EQ(device.allocate(100).error().text(), text);
    EXPECT_EQ(normed(&device).error().text(), text);
    EXPECT_EQ(device.place(std::make_shared<int>(), std::as_bytes(std::span("weights"))).error().text(), text);
  }
  EXPECT_EQ(device.buffer_bytes(), 0u);
  EXPECT_EQ(faults.calls_after_told, 0u);
}

// Loses the card at the n-th event of a kind, from the first to the last of a run. Memory lasts longer than the card.
void lose_at_each(std::uint64_t test::Faults::* when) {
  const std::vector<float> expected = *normed(nullptr);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    test::Faults faults;
    faults.*when = n;
    const auto card = test::open_faulty_card(faults);
    if (!card) {
      EXPECT_EQ(card.error().code, Code::DeviceLost) << card.error().text();
      continue;
    }
    if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
    Memory memory;
    if (auto made = Memory::create(card->device.get(), std::size_t{1} << 19)) memory = *std::move(made);
    const auto got = normed(card->device.get());
    if (got) {
      EXPECT_EQ(*got, expected);
      EXPECT_GT(n, 2u);
      return;
    }
    EXPECT_EQ(got.error().code, Code::DeviceLost) << got.error().text();
    expect_dead(*card->device, *card->faults);
    if (memory.size() == 0) continue;
    memory.write(0, std::as_bytes(std::span("values")));
    memory.clear();
    std::vector<std::byte> read(8);
    memory.read(0, read);
    EXPECT_EQ(read, std::vector(8, std::byte{0xff}));
  }
  ADD_FAILURE() << "no run has ended";
}

TEST(GpuFaults, a_card_that_is_lost_at_any_submit_says_so_and_is_left_alone) {
  lose_at_each(&test::Faults::lost_at_submit);
}
TEST(GpuFaults, a_card_that_is_lost_at_any_read_says_so_and_is_left_alone) {
  lose_at_each(&test::Faults::lost_at_read);
}
TEST(GpuFaults, a_card_that_is_lost_at_any_buffer_says_so_and_is_left_alone) {
  lose_at_each(&test::Faults::lost_at_buffer);
}

TEST(GpuFaults, the_last_kernel_before_a_loss_is_named) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  ASSERT_TRUE(normed(card->device.get()));
  card->faults->lost_at_submit = 0;
  const auto got = normed(card->device.get());
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().text().find(" after add: a fault of the test"), std::string::npos) << got.error().text();
}

TEST(GpuFaults, a_read_that_never_comes_ends_as_a_loss) {
  auto card = test::open_faulty_card({}, 50);
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  card->faults->answers = false;
  const auto got = normed(card->device.get());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::DeviceLost);
  EXPECT_NE(got.error().text().find("no answer for 0.05 seconds"), std::string::npos) << got.error().text();
  EXPECT_TRUE(card->faults->is_abandoned);
  expect_dead(*card->device, *card->faults);
}

TEST(GpuFaults, memory_that_is_not_to_be_had_is_told_and_the_card_goes_on) {
  auto card = test::open_faulty_card();
  ASSERT_TRUE(card);
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  gpu::GpuDevice& device = *card->device;
  const std::vector<float> expected = *normed(nullptr);
  EXPECT_EQ(*normed(&device), expected);
  const std::uint64_t before = device.buffer_bytes();
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  {
    const Memory held = Memory::create(&device, kLarge).value();
    card->faults->no_memory_at_buffer = card->faults->buffers;
    const auto refused = Memory::create(&device, 2 * kLarge);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::OutOfMemory);
    const std::string text = refused.error().text();
    for (const std::string& part : {device.adapter().name, fmt::format("{} bytes", 2 * kLarge),
                                    std::string("free memory on the card"), std::string("--device cpu")})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(device.buffer_bytes(), before + kLarge);
    EXPECT_TRUE(Memory::create(&device, 2 * kLarge));
  }
  EXPECT_EQ(device.buffer_bytes(), before);
  EXPECT_EQ(*normed(&device), expected);
  const auto beyond = Memory::create(&device, std::size_t{1} << 40);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::OutOfMemory);
  EXPECT_NE(beyond.error().text().find("in one piece"), std::string::npos) << beyond.error().text();
}

// Bits of the CPU, with kernels that the report lists as computed on the host.
void expect_computed_on_host(const test::Faults& faults, std::string_view refused, std::string_view said) {
  auto card = test::open_faulty_card(faults);
  ASSERT_TRUE(card) << card.error().text();
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  for (int i = 0; i < 2; ++i) {
    const auto got = normed(card->device.get());
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(*got, *normed(nullptr));
  }
  const gpu::Prover::Report& report = card->device->prover().report();
  EXPECT_EQ(test::refused_kernels(*card->device), refused);
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find(card->device->adapter().name), std::string::npos) << report.problems[0];
  EXPECT_NE(report.problems[0].find(said), std::string::npos) << report.problems[0];
}

TEST(GpuFaults, a_kernel_that_does_not_compile_is_computed_on_host) {
  test::Faults faults;
  faults.broken_pipeline = "rms_norm";
  expect_computed_on_host(faults, "rms_norm ", "the shader rms_norm does not compile");
  faults.broken_pipeline = "add";  // the two as one shader have that name too
  expect_computed_on_host(faults, "add ", "the shader add does not compile");
}

TEST(GpuFaults, a_kernel_that_the_limits_are_too_small_for_is_computed_on_host) {
  test::Faults faults;
  faults.limits = test::kDefaultLimits;
  faults.limits->threads = 64;
  expect_computed_on_host(faults, "rms_norm add ", "needs 256 threads in a workgroup, the device runs 64");
  faults.limits = test::kDefaultLimits;
  faults.limits->storage_buffers = 0;
  expect_computed_on_host(faults, "rms_norm add ", "storage buffers, the device binds 0");
}

// Only the trial after a thousand uses sees a compiler that has passed and errs then.
TEST(GpuFaults, a_driver_that_errs_after_its_proof_is_found_at_the_next_trial) {
  test::Faults faults;
  faults.alter = [](std::string_view text) {
    constexpr std::string_view kSnap = "fn snap(x: f32) -> f32 {";
    std::string out(text);
    if (const std::size_t at = out.find(kSnap); at != out.npos)
      out.replace(at, kSnap.size(), std::string(kSnap) + " return x + x; }\nfn right_snap(x: f32) -> f32 {");
    return out;
  };
  auto card = test::open_faulty_card(faults);
  ASSERT_TRUE(card) << card.error().text();
  if (card->device == nullptr) GTEST_SKIP() << "no graphics card";
  const std::vector<float> expected = *normed(nullptr);
  EXPECT_EQ(*normed(card->device.get(), 3), expected);
  card->faults->errs = true;
  EXPECT_NE(*normed(card->device.get(), 1), expected);
  EXPECT_EQ(test::refused_kernels(*card->device), "");
  ASSERT_TRUE(normed(card->device.get(), gpu::Shader::kUsesToNextTrial));
  EXPECT_NE(test::refused_kernels(*card->device), "");
  EXPECT_EQ(*normed(card->device.get(), 3), expected);
}

}  // namespace
}  // namespace loom::op_test
