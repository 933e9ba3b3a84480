// How near kernels of a graphics card come to its limits: matrix-vector products of Q4_0 weights in the shapes of a
// model with 7 billion of them, beside a kernel that copies, and products of f32 matrices. A line for each:
//   name <tab> least us <tab> median us <tab> GB/s of weights, or GFLOP/s, of the median
// Everything lies on the card; a time is that of many ops in a row, divided, when the card's clock has risen.
//   bench_gpu_shapes [DEVICE] [ROUNDS]      DEVICE: gpu (the standard), gpu:N

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backend/rehearsal.h"
#include "backend/webgpu/gpu_device.h"
#include "core/clock.h"
#include "core/philox.h"
#include "host/device.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"

namespace loom {
namespace {

struct Times {
  double least_us = 0, median_us = 0;
};

class Bench {
 public:
  static Result<Bench> create(Device& device, std::size_t rounds) {
    LOOM_TRY(auto pool, ThreadPool::create(1));
    LOOM_TRY(const KernelTable* const kernels, kernels_for(best_isa()));
    return Bench(device, std::move(pool), *kernels, rounds);
  }

  Result<Tensor> tensor(std::size_t rows, std::size_t cols) {
    LOOM_TRY(Memory memory, Memory::create(device_, rows * cols * sizeof(float)));
    memory_.push_back(std::move(memory));
    return Tensor{memory_.back().data(), rows, cols, Element::f32};
  }
  Result<Tensor> numbers(std::size_t rows, std::size_t cols, std::uint32_t site) {
    LOOM_TRY(const Tensor made, tensor(rows, cols));
    const RandomStream random{.seed = site};
    std::vector<float> values(rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i) - 0.5f;
    memory_.back().write(0, std::as_bytes(std::span(values)));
    return made;
  }

  // The time of one of `count` ops, which op(exec, i) records one after the other.
  template <class F>
  Result<Times> time(std::size_t count, F&& op) {
    const Exec exec{*pool_, *kernels_, arena_};
    const auto all = [&](const Exec& e) {
      e.arena.clear();
      for (std::size_t i = 0; i < count; ++i) op(e, i);
    };
    LOOM_TRY_VOID(plan_scratch(exec, all));
    std::vector<double> times;
    // Shaders are compiled, and proved, in the first two rounds, while the clock of the card falls.
    constexpr double kWarmMs = 300;
    double warm_ms = 0;
    for (std::size_t round = 0; times.size() < rounds_; ++round) {
      const Clock::time_point begin = Clock::now();
      all(exec);
      std::byte word[4];
      device_->read(memory_.back().data(), word);  // waits
      LOOM_TRY_VOID(device_->check());
      if (exec.status) return tl::make_unexpected(*exec.status);
      const double ms = ms_since(begin);
      if (round < 2) continue;
      if (warm_ms < kWarmMs)
        warm_ms += ms;
      else
        times.push_back(1e3 * ms / static_cast<double>(count));
    }
    std::ranges::sort(times);
    return Times{times[0], times[times.size() / 2]};
  }

 private:
  Bench(Device& device, std::unique_ptr<ThreadPool> pool, const KernelTable& kernels, std::size_t rounds)
      : device_(&device), pool_(std::move(pool)), kernels_(&kernels), rounds_(rounds), arena_(&device) {}

  Device* device_;
  std::unique_ptr<ThreadPool> pool_;
  const KernelTable* kernels_;
  std::size_t rounds_;
  Arena arena_;
  std::vector<Memory> memory_;
};

void tell(std::string_view name, const Times& t, double giga_in_all) {
  fmt::print("{}\t{:.2f}\t{:.2f}\t{:.1f}\n", name, t.least_us, t.median_us, giga_in_all / (1e-6 * t.median_us));
  std::fflush(stdout);
}

Result<void> copies(Bench& bench) {
  constexpr std::size_t kRows = 16384, kCols = 4096;  // 268 MB each, more than any cache holds
  LOOM_TRY(const Tensor from, bench.numbers(kRows, kCols, 1));
  LOOM_TRY(const Tensor to, bench.tensor(kRows, kCols));
  LOOM_TRY(const Times t, bench.time(4, [&](const Exec& exec, std::size_t) { copy(exec, from, to); }));
  tell("copy, read and written", t, 2e-9 * static_cast<double>(kRows * kCols * sizeof(float)));
  return {};
}

// Eight matrices in turn, so that none is found in a cache.
Result<void> vectors(Bench& bench, std::size_t outputs, std::size_t inputs) {
  constexpr std::size_t kMatrices = 8, kBlockBytes = 18;
  const std::size_t bytes = outputs * inputs / 32 * kBlockBytes;
  std::vector<std::byte> blocks(bytes);
  const RandomStream random{.seed = 2};
  for (std::size_t i = 0; i < bytes; ++i) blocks[i] = static_cast<std::byte>(random.below(i, 256));
  constexpr std::uint16_t kScale = 0x2000;  // 2^-7 as a half
  for (std::size_t i = 0; i < bytes; i += kBlockBytes) std::memcpy(blocks.data() + i, &kScale, sizeof kScale);
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < kMatrices; ++i) {
    LOOM_TRY(Matrix made, Matrix::from_source(DType::q4_0, blocks, outputs, inputs));
    matrices.push_back(std::move(made));
  }
  LOOM_TRY(const Tensor x, bench.numbers(1, inputs, 3));
  LOOM_TRY(const Tensor y, bench.tensor(1, outputs));
  LOOM_TRY(const Times t, bench.time(32, [&](const Exec& exec, std::size_t i) {
    const MatmulJob job{&matrices[i % kMatrices], y};
    matmul(exec, x, {&job, 1});
  }));
  tell(fmt::format("Q4_0 {} x {} by a vector", outputs, inputs), t, 1e-9 * static_cast<double>(bytes));
  return {};
}

// [m, k] by [k, n], as forward passes, and [k, m] by [k, n], as gradients of weights over k samples.
Result<void> matrices(Bench& bench, std::size_t m, std::size_t n, std::size_t k, bool turned = false) {
  LOOM_TRY(const Tensor a, bench.numbers(turned ? k : m, turned ? m : k, 4));
  LOOM_TRY(const Tensor b, bench.numbers(k, n, 5));
  LOOM_TRY(const Tensor c, bench.tensor(m, n));
  const double operations = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  LOOM_TRY(const Times t, bench.time(operations < 20 ? 16 : 4, [&](const Exec& exec, std::size_t) {
    gemm(exec, turned ? Operand::transposed(a) : Operand::of(a), Operand::of(b), k, c);
  }));
  tell(fmt::format("f32 {} x {} x {}{}", m, k, n, turned ? ", the first transposed" : ""), t, operations);
  return {};
}

Result<void> run(const char* name, std::size_t rounds) {
  LOOM_TRY(Device* const device, device_from_name(name));
  if (device == nullptr || device->gpu() == nullptr) return fail(Code::InvalidArgument, "a graphics card is expected");
  fmt::print("# {}\n", device->gpu()->adapter().name);
  LOOM_TRY(Bench bench, Bench::create(*device, rounds));
  LOOM_TRY_VOID(copies(bench));
  for (const auto& [outputs, inputs] : {std::pair<std::size_t, std::size_t>{4096, 4096}, {14336, 4096}, {4096, 14336}})
    LOOM_TRY_VOID(vectors(bench, outputs, inputs));
  for (const std::size_t side : {512, 1024, 2048, 4096}) LOOM_TRY_VOID(matrices(bench, side, side, side));
  for (const std::size_t width : {256, 1024}) {  // of a transformer with 4096 positions at once
    LOOM_TRY_VOID(matrices(bench, 4096, width, 256));
    LOOM_TRY_VOID(matrices(bench, width, 256, 4096, true));
  }
  return {};
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  const auto done =
      loom::run(count > 1 ? arguments[1] : "gpu", count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 7);
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 1;
  return 0;
}
