// Proofs that a graphics card has to pass before its results count (backend/webgpu/prover.h), and the form of its dots.
#include <array>

#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_gpu.h"
#include "ops/gpu_test.h"
#include "ops/matmul/matmul.h"
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

// A row kernel keeps 10 KiB in each workgroup of the one after it, which declares 8 KiB: too much for a card with
// 16 KiB.
TEST(GpuRows, KernelsJoinWhereTheirWorkgroupMemoryFits) {
  constexpr std::size_t kWords = 2560;
  constexpr std::string_view kDouble = R"(
fn run(group: u32, thread: u32) {
  for (var i = thread; i < words_of_row; i += 256u) { put_y(group * words_of_row + i, 2u * bits_x(group * words_of_row + i)); }
}
)";
  constexpr std::string_view kAdd = R"(
const quads = 2u * 256u;
var<workgroup> own: array<vec4<u32>, quads>;
fn run(group: u32, thread: u32) {
  let first = group * (words_of_row / 2u);
  for (var i = thread; i < words_of_row / 2u; i += 256u) {
    own[thread].x = bits_x(first + i);
    put_y(first + i, own[thread].x + 1u);
  }
}
)";
  for (const std::uint32_t bytes : {16384u, 32768u}) {
    SCOPED_TRACE(bytes);
    gpu::Limits limits = gpu::kNoLimits;
    limits.workgroup_bytes = bytes;
    auto driver = test::open_gpu_driver(limits);
    if (driver == nullptr) GTEST_SKIP() << "no graphics card";
    const auto device = gpu::GpuDevice::create(std::move(driver), {});
    ASSERT_TRUE(device) << device.error().text();
    auto pool = ThreadPool::create(1).value();
    Arena arena(device->get());
    const Exec exec{*pool, *kernels_for(best_isa()).value(), arena};
    std::vector<std::uint32_t> x(kWords), y(kWords);
    for (std::size_t i = 0; i < kWords; ++i) x[i] = static_cast<std::uint32_t>(i);
    Memory in = Memory::create(device->get(), kWords * 4).value(),
           doubled = Memory::create(device->get(), kWords * 4).value(),
           out = Memory::create(device->get(), kWords * 4).value();
    in.write(0, std::as_bytes(std::span(x)));
    const auto words = [](Memory& memory) { return reinterpret_cast<std::uint32_t*>(memory.data()); };
    const auto op = [&](const Exec& call) {
      for (const Exec& host : dispatch(call, [&] {
             call.gpu()->record_row(call,
                                    gpu::Kernel("double", kDouble, 256)
                                        .reads("x", in.data(), kWords)
                                        .writes("y", doubled.data(), kWords)
                                        .fixed("words_of_row", kWords),
                                    1);
           }))
        for (std::size_t i = 0; host.computes() && i < kWords; ++i) words(doubled)[i] = 2 * words(in)[i];
      for (const Exec& host : dispatch(call, [&] {
             call.gpu()->record(call,
                                gpu::Kernel("add", kAdd, 256)
                                    .reads("x", doubled.data(), kWords)
                                    .writes("y", out.data(), kWords)
                                    .fixed("words_of_row", kWords)
                                    .groups_of_row(2),
                                2);
           }))
        for (std::size_t i = 0; host.computes() && i < kWords; ++i) words(out)[i] = words(doubled)[i] + 1;
    };
    ASSERT_TRUE(plan_scratch(exec, op));
    std::uint64_t dispatches = 0;
    for (int pass = 0; pass < 4; ++pass) {  // the first ones are trials
      const std::uint64_t before = (*device)->counters().dispatches;
      op(exec);
      out.read(0, std::as_writable_bytes(std::span(y)));
      ASSERT_TRUE((*device)->check());
      for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(y[i], 2 * i + 1);
      dispatches = (*device)->counters().dispatches - before;
    }
    EXPECT_FALSE(exec.status) << exec.status->text();
    EXPECT_EQ(test::refused_kernels(**device), "");
    EXPECT_EQ(dispatches, bytes == 16384 ? 2u : 1u);
  }
}

}  // namespace
}  // namespace loom::op_test

namespace loom::dots_test {
namespace {

// The forms of dot_bytes() (backend/webgpu/prelude.h): the same bits, and the one that is chosen is used.
using gpu::Dots;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

// Counts the shaders of products, and those that have the text of a form.
struct Seen {
  std::string_view form;
  std::size_t products = 0, with_form = 0;
};
Seen seen;

std::string see(std::string_view text) {
  const std::size_t body = text.find("var<uniform> words");
  if (text.find("dot_bytes(", body) != text.npos && text.find("fn canary(") == text.npos) {
    ++seen.products;
    seen.with_form += text.substr(0, body).find(seen.form) != text.npos;
  }
  return std::string(text);
}

// A product of a vector, of a few rows and of many: they have kernels of their own.
void expect_products(gpu::GpuDevice& device) {
  constexpr std::size_t kOutputs = 40, kCols = 256;
  for (const DType dtype : {DType::q4_0, DType::int8, DType::q4_1, DType::q8_0})
    for (const std::size_t rows : {1, 3, 40}) {
      SCOPED_TRACE(fmt::format("{}, {} rows", name(dtype), rows));
      const Matrix matrix = Matrix::from_floats(dtype, values<float>(kOutputs * kCols, 5), kOutputs, kCols).value();
      const Values inputs[] = {{rows, kCols, values<float>(rows * kCols, 6, 2)}};
      op_test::expect_equal(device, inputs, rows, kOutputs, [&](const Exec& exec, Inputs in, Tensor y) {
        const MatmulJob job{&matrix, y, nullptr, 0};
        matmul(exec, in[0], {&job, 1});
      });
    }
  EXPECT_EQ(test::refused_kernels(device), "");
}

TEST(GpuDots, each_form_gives_the_bits_of_the_cpu_and_is_used_where_it_is_named) {
  for (const Dots dots : {Dots::Packed, Dots::Integers, Dots::Floats}) {
    SCOPED_TRACE(name(dots));
    gpu::GpuOptions options;
    options.dots = dots;
    options.alter = &see;
    seen = {gpu::text_of(dots)};
    const auto device = test::make_gpu_device(options);
    if (device == nullptr) GTEST_SKIP() << "no graphics card";
    EXPECT_EQ(device->dots(), dots);
    expect_products(*device);
    EXPECT_GE(seen.products, 6u);
    EXPECT_EQ(seen.with_form, seen.products);
  }
}

TEST(GpuDots, the_fastest_form_is_measured_once_and_kept_beside_the_passes) {
  const test::TempFolder folder;
  gpu::GpuOptions options;
  options.passes = folder.path() + "/passes";
  const auto dots_of_a_run = [&]() -> std::optional<Dots> {
    const auto device = test::make_gpu_device(options);
    return device == nullptr ? std::nullopt : std::optional(device->dots());
  };
  const auto measured = dots_of_a_run();
  if (!measured) GTEST_SKIP() << "no graphics card";
  const std::string line = fmt::format("dots {}\n", name(*measured));
  EXPECT_EQ(test::read_all(options.passes), line);
  EXPECT_EQ(dots_of_a_run(), measured);
  EXPECT_EQ(test::read_all(options.passes), line) << "it was measured again";
  for (const Dots dots : {Dots::Packed, Dots::Integers, Dots::Floats}) {
    test::write_all(options.passes, fmt::format("rubbish\ndots of rubbish\ndots {}\nhalf a line", name(dots)));
    EXPECT_EQ(dots_of_a_run(), dots);
  }
  options.dots = Dots::Integers;  // what is named comes before what is kept
  EXPECT_EQ(dots_of_a_run(), Dots::Integers);
}

// Forms packed, which does not compile, and integers, which adds wrongly.
std::string without_two_forms(std::string_view text) {
  std::string out(text);
  for (const std::string_view function : {"dot4I8Packed(a", "left * right"})
    for (std::size_t at = out.find(function); at != out.npos; at = out.find(function, at + 1))
      out.replace(at, function.size(), function[0] == 'd' ? "no_function(a" : "left * (right + 1)");
  return out;
}

// A form that the compiler does not know, or computes wrongly, is not taken.
TEST(GpuDots, forms_that_give_wrong_sums_are_left_out) {
  gpu::GpuOptions options;
  options.alter = &without_two_forms;
  const auto device = test::make_gpu_device(options);
  if (device == nullptr) GTEST_SKIP() << "no graphics card";
  EXPECT_EQ(device->dots(), Dots::Floats);
  expect_products(*device);
}

TEST(GpuDots, AFormThatIsNamedAndDoesNotWorkIsAnErrorOfExactAndFastCards) {
  if (test::gpu_device() == nullptr) GTEST_SKIP() << "no graphics card";
  for (const Precision precision : {Precision::Strict, Precision::Fast})
    for (const Dots dots : {Dots::Packed, Dots::Integers, Dots::Floats}) {
      SCOPED_TRACE(fmt::format("{} {}", name(precision), name(dots)));
      gpu::GpuOptions options;
      options.precision = precision, options.dots = dots, options.alter = &without_two_forms;
      const auto device = gpu::GpuDevice::create(test::open_gpu_driver(), options);
      if (dots == Dots::Floats) {
        ASSERT_TRUE(device) << device.error().text();
        EXPECT_EQ((*device)->dots(), dots);
        continue;
      }
      ASSERT_FALSE(device);
      EXPECT_EQ(device.error().code, Code::InvalidArgument);
      EXPECT_TRUE(device.error().text().ends_with(fmt::format(
          "dots by {} do not compile or give wrong sums; expected another of packed, integers, floats", name(dots))))
          << device.error().text();
    }
}

}  // namespace
}  // namespace loom::dots_test
