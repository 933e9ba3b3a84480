// Times products of two matrices of bf16 numbers, kept as f32, by fused instructions and without them, interleaved: for
// each instruction set "name <tab> unfused GFLOP/s <tab> fused GFLOP/s <tab> median of unfused time over fused". The
// look at all numbers, which comes before fused products, is part of their time.
//   bench_exact_products [ROUNDS] [THREADS]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/gemm/gemm.h"
#include "ops/rounding/rounding.h"

namespace loom {
namespace {

constexpr std::size_t kRows = 2048, kCols = 512, kTerms = 1344;

std::vector<float> bf16_numbers(const Exec& exec, std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  round_activations(exec, {v.data(), 1, n}, Mixed::bf16);
  return v;
}

void bench(Isa isa, int rounds, int threads) {
  const FpEnvironment environment;
  const auto pool = ThreadPool::create(threads).value();
  Arena arena = Arena::create(std::size_t{64} << 20).value();
  const Exec exec{*pool, *kernels_for(isa).value(), arena};
  const std::vector<float> a = bf16_numbers(exec, kRows * kTerms, 1), b = bf16_numbers(exec, kTerms * kCols, 2);
  std::vector<float> c(kRows * kCols);
  const auto seconds = [&](FactorKind values) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    gemm(exec, {a.data(), kTerms, 1}, {b.data(), kCols, 1}, kTerms, {c.data(), kRows, kCols}, Into::Store, 0, values);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double unfused = 1e9, fused = 1e9;
  std::vector<double> ratios;
  (void)seconds(FactorKind::Any);
  for (int i = 0; i < rounds; ++i) {
    const double plain = seconds(FactorKind::Any), at_once = seconds(FactorKind::Rounded);
    unfused = std::min(unfused, plain), fused = std::min(fused, at_once);
    ratios.push_back(plain / at_once);
  }
  std::ranges::sort(ratios);
  constexpr double kGigaflops = 2e-9 * static_cast<double>(kRows * kCols * kTerms);
  fmt::print("{}\t{:.1f}\t{:.1f}\t{:.3f}\n", name(isa), kGigaflops / unfused, kGigaflops / fused,
             ratios[ratios.size() / 2]);
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  const int rounds = std::max(1, count > 1 ? std::atoi(arguments[1]) : 21);
  const int threads = std::max(1, count > 2 ? std::atoi(arguments[2]) : 1);
  for (const loom::Isa isa : loom::usable_isas())
    if (loom::kernels_for(isa).value()->gemm.of<float>().fused_panels != nullptr) loom::bench(isa, rounds, threads);
  return 0;
}
