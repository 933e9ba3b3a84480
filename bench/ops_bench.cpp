// The ops alone, with Google Benchmark: GFLOP/s or GB/s per weight type, shape and instruction set. One thread.
//   cmake --preset release -DLOOM_BENCH=ON && cmake --build build --target bench_ops_bench && build/bin/bench_ops_bench

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/attention/attention.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"

namespace loom {
namespace {

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  return v;
}

struct Bench {
  explicit Bench(Isa isa)
      : pool(ThreadPool::create(1).value()),
        kernels(*kernels_for(isa).value()),
        arena(Arena::create(std::size_t{64} << 20).value()) {}
  Exec exec(Activations activations = Activations::int16) { return {*pool, kernels, arena, nullptr, activations}; }
  FpEnvironment environment;
  std::unique_ptr<ThreadPool> pool;
  const KernelTable& kernels;
  Arena arena;
};

// rows = 1: bound by memory, GB/s of weights; more rows: GFLOP/s (a multiply and an add each).
void bench_matmul(benchmark::State& state, Isa isa, DType dtype, std::size_t rows, std::size_t outputs,
                  std::size_t inputs, Activations activations) {
  Bench bench(isa);
  const Matrix w = Matrix::from_floats(dtype, random_floats(outputs * inputs, 1), outputs, inputs).value();
  const std::vector<float> x = random_floats(rows * inputs, 2);
  std::vector<float> y(rows * outputs);
  const MatmulJob job{&w, Tensor{y.data(), rows, outputs}, nullptr};
  const Exec exec = bench.exec(activations);
  for (auto _ : state) matmul(exec, ConstTensor{x.data(), rows, inputs}, std::span(&job, 1));
  const auto runs = static_cast<double>(state.iterations());
  if (rows == 1)
    state.counters["GB/s"] =
        benchmark::Counter(runs * static_cast<double>(w.resident_bytes()) * 1e-9, benchmark::Counter::kIsRate);
  else
    state.counters["GFLOP/s"] =
        benchmark::Counter(runs * 2e-9 * static_cast<double>(rows * outputs * inputs), benchmark::Counter::kIsRate);
}

void bench_attention(benchmark::State& state, Isa isa, std::size_t positions) {
  Bench bench(isa);
  const AttentionConfig config{9, 3, 64, 0, 0.125f};
  KvCache cache =
      KvCache::create({.kv_heads = 3, .head_dim = 64, .max_positions = positions, .window = 0, .max_chunk = 1}).value();
  if (!cache.extend(0, positions)) return state.SkipWithError("no memory");
  const std::vector<float> kv = random_floats(64, 1), q = random_floats(9 * 64, 2), k = random_floats(3 * 64, 3);
  for (std::size_t h = 0; h < 3; ++h)
    for (std::size_t p = 0; p + 1 < positions; ++p)
      bench.exec().kernels.attention.append(cache, h, p, kv.data(), kv.data());
  std::vector<float> out(9 * 64);
  const SequenceRows run{.count = 1, .position = positions - 1};
  const Exec exec = bench.exec();
  for (auto _ : state)
    attention(exec, config, {q.data(), 1, 9 * 64}, {k.data(), 1, 3 * 64}, {k.data(), 1, 3 * 64}, {&run, 1}, {&cache, 1},
              {out.data(), 1, 9 * 64});
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 2e-9 * 4 * 3 * 64 * static_cast<double>(positions),
                         benchmark::Counter::kIsRate);
}

void bench_norm(benchmark::State& state, Isa isa, std::size_t width) {
  Bench bench(isa);
  const std::vector<float> x = random_floats(width, 1), weight(width, 1.0f);
  std::vector<float> y(width);
  const Exec exec = bench.exec();
  for (auto _ : state) rms_norm(exec, {x.data(), 1, width}, weight.data(), 1e-5f, {y.data(), 1, width});
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 8e-9 * static_cast<double>(width), benchmark::Counter::kIsRate);
}

void register_all() {
  for (const Isa isa : usable_isas()) {
    const std::string target = "/" + std::string(name(isa));
    for (const std::size_t n : {256, 512, 1024})
      benchmark::RegisterBenchmark(("gemm/float32/" + std::to_string(n) + target).c_str(), bench_matmul, isa,
                                   DType::float32, n, n, n, Activations::int16);
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int4, DType::q4_0,
                              DType::q4_1, DType::q8_0, DType::tq2_0}) {
      const std::string type(name(dtype));
      benchmark::RegisterBenchmark(("gemv/" + type + "/8192x2048" + target).c_str(), bench_matmul, isa, dtype, 1, 8192,
                                   2048, Activations::int16);
      benchmark::RegisterBenchmark(("gemv/" + type + "/256x256" + target).c_str(), bench_matmul, isa, dtype, 1, 256,
                                   256,
                                   Activations::int16);  // from cache
      for (const Activations a : {Activations::int8, Activations::int16})
        benchmark::RegisterBenchmark(
            ("gemm/" + type + (a == Activations::int8 ? " int8" : " int16") + "/128x1536x1536" + target).c_str(),
            bench_matmul, isa, dtype, 128, 1536, 1536, a);
    }
    for (const std::size_t positions : {32, 256, 1024, 4096})
      benchmark::RegisterBenchmark(("attention/" + std::to_string(positions) + target).c_str(), bench_attention, isa,
                                   positions);
    for (const std::size_t width : {576, 4096})
      benchmark::RegisterBenchmark(("rms_norm/" + std::to_string(width) + target).c_str(), bench_norm, isa, width);
  }
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  loom::register_all();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
