// A dense layer of 4096 x 4096 at batch 1 in every type, beside f32: weights in memory, time, and how many times
// faster. The rounds of all types are interleaved, so that another process's load falls on all of them. Prints a
// Markdown table; fails when int8, int4, ternary or binary is not at least half as much faster as their weights are
// smaller.
//   bench_dense_types [THREADS [ROUNDS [SIZE [ISA]]]]       (1 thread, 15 rounds, 4096, the best instruction set)

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/matmul/matmul.h"

namespace loom {
namespace {

constexpr double kSampleMs = 15;  // long enough that a clock's step does not show

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = random.uniform(i) - 0.5f;
  return v;
}

// Returns how many times as fast as f32 a type must be: half as many times as it has fewer bits. Others need not be
// faster.
double required_ratio(DType t) {
  switch (t) {
    case DType::int8:
    case DType::int4:
    case DType::ternary:
    case DType::binary: return t == DType::binary ? 16.0 : t == DType::ternary ? 8.0 : t == DType::int4 ? 4.0 : 2.0;
    default: return 0;
  }
}

struct Row {
  DType dtype;
  Matrix weight;
  std::vector<double> micros;
  double least() const { return *std::ranges::min_element(micros); }
  double median() const {
    std::vector<double> sorted = micros;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

Result<int> bench(int threads, int rounds, std::size_t size, Isa isa) {
  using Clock = std::chrono::steady_clock;
  const FpEnvironment environment;
  LOOM_TRY(const auto pool, ThreadPool::create(threads));
  LOOM_TRY(const KernelTable* kernels, kernels_for(isa));
  LOOM_TRY(Arena arena, Arena::create(std::size_t{1} << 22));
  const Exec exec{*pool, *kernels, arena, nullptr, Activations::int16};
  const std::vector<float> values = random_floats(size * size, 1), x = random_floats(size, 2);
  std::vector<float> y(size);
  std::vector<Row> rows;
  for (const DType t : {DType::float32, DType::float16, DType::bfloat16, DType::fp8e4m3, DType::int8, DType::uint8,
                        DType::int4, DType::uint4, DType::fp4, DType::int2, DType::ternary, DType::binary}) {
    LOOM_TRY(Matrix w, Matrix::from_floats(t, values, size, size));
    rows.push_back({t, std::move(w), {}});
  }
  const auto run = [&](const Row& row) {
    const MatmulJob job{&row.weight, Tensor{y.data(), 1, size}, nullptr};
    matmul(exec, ConstTensor{x.data(), 1, size}, std::span(&job, 1));
  };
  const auto elapsed = [](Clock::time_point since) {
    return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
  };
  for (int round = 0; round < rounds; ++round)
    for (Row& row : rows) {
      run(row);  // what the last type left in the caches is gone
      const auto begin = Clock::now();
      int calls = 0;
      do run(row), ++calls;
      while (elapsed(begin) < kSampleMs * 1e3);
      row.micros.push_back(elapsed(begin) / calls);
    }
  fmt::print(
      "| type | weights MiB | least us | median us | GB/s | times faster than float32 (least, median) | required "
      "|\n|---|---|---|---|---|---|---|\n");
  bool met = true;
  for (const Row& row : rows) {
    const double ratio = rows[0].least() / row.least(), required = required_ratio(row.dtype);
    met = met && ratio >= required;
    fmt::print(
        "| {} | {:.1f} | {:.0f} | {:.0f} | {:.1f} | {:.2f}, {:.2f} | {} |\n", name(row.dtype),
        static_cast<double>(row.weight.resident_bytes()) / 1048576.0, row.least(), row.median(),
        static_cast<double>(row.weight.resident_bytes()) * 1e-3 / row.least(), ratio, rows[0].median() / row.median(),
        required == 0 ? std::string("-") : fmt::format("{:.0f}: {}", required, ratio >= required ? "met" : "missed"));
  }
  return met ? 0 : 1;
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  const auto number = [&](int i, int otherwise) {
    return count > i ? std::max(1, std::atoi(arguments[i])) : otherwise;
  };
  loom::Isa isa = loom::usable_isas().back();
  if (count > 4)
    for (const loom::Isa each : loom::usable_isas())
      if (loom::name(each) == std::string_view(arguments[4])) isa = each;
  const auto done = loom::bench(number(1, 1), number(2, 15), static_cast<std::size_t>(number(3, 4096)), isa);
  if (!done) return fmt::print(stderr, "{}\n", done.error().text()), 2;
  return *done;
}
