// A long operation ends soon after its pass is cancelled: kernels that count products in place of computing them cancel
// the pass in their first call, and nothing large may follow.

#include "ops/until_cancelled.h"

#include <gtest/gtest.h>

#include "ops/all.h"
#include "ops/conv/conv.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/matmul.h"
#include "ops/unfold/unfold.h"
#include "support/gpu.h"

namespace loom::until_cancelled_test {

std::atomic<bool> cancel{false};
std::atomic<std::size_t> calls{0}, largest{0};

// A call of a kernel of so many products.
void count(std::size_t products) {
  ++calls;
  std::size_t before = largest;
  while (products > before && !largest.compare_exchange_weak(before, products)) continue;
  cancel = true;
}

template <class T>
ConvKernels<T> counting(const ConvKernels<T>& real) {
  ConvKernels<T> k = real;
  k.tiles = [](const ConvTask<T>& task, const ConvTile<T>*, std::size_t n) { count(n * 16 * task.filters * task.k); };
  k.depthwise = [](const DepthwiseTask<T>& task) {
    count(task.rows * task.width * task.kernel_rows * task.kernel_cols);
  };
  k.gradient = [](const ConvGradientTask<T>& task, std::size_t begin, std::size_t end) {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < task.num_runs; ++i) rows += task.runs[i].count;
    count(rows * 16 * (end - begin));
  };
  return k;
}
template <class T>
GemmKernels<T> counting(const GemmKernels<T>& real) {
  GemmKernels<T> k = real;
  k.panels = [](const GemmTask<T>& task, std::size_t begin, std::size_t end, std::size_t, std::size_t rows) {
    count((end - begin) * 16 * rows * task.k);
  };
  k.direct = [](const DirectGemmTask<T>& task, std::size_t, std::size_t rows, std::size_t begin, std::size_t end) {
    count(rows * (end - begin) * task.k);
  };
  return k;
}
MatmulKernels counting(const MatmulKernels& real) {
  MatmulKernels k = real;
  for (PanelKernel& kernel : k.panels)
    kernel = [](const MatmulTask& task, std::size_t begin, std::size_t end) {
      count((end - begin) * 16 * task.rows * task.cols);
    };
  return k;
}
template <template <class> class K>
PerElement<K> counting_both(const PerElement<K>& real) {
  return {counting(real.f32), counting(real.f64)};
}
// The kernels of an op as they are, or those that count.
template <class K>
struct OrCounting {
  static const K& of(const K& real) { return real; }
};
template <>
struct OrCounting<MatmulKernels> {
  static const MatmulKernels& of(const MatmulKernels& real) {
    static const MatmulKernels made = counting(real);
    return made;
  }
};
template <>
struct OrCounting<PerElement<ConvKernels>> {
  static const PerElement<ConvKernels>& of(const PerElement<ConvKernels>& real) {
    static const PerElement<ConvKernels> made = counting_both(real);
    return made;
  }
};
template <>
struct OrCounting<PerElement<GemmKernels>> {
  static const PerElement<GemmKernels>& of(const PerElement<GemmKernels>& real) {
    static const PerElement<GemmKernels> made = counting_both(real);
    return made;
  }
};
const KernelTable& counting_kernels() {
  static const KernelTable& real = **kernels_for(usable_isas().front());
  static const KernelTable table = {
#define LOOM_KERNELS(name, Kernels) OrCounting<Kernels>::of(real.name),
#define LOOM_ELEMENT_KERNELS(name, Kernels) OrCounting<PerElement<Kernels>>::of(real.name),
#include "ops/kernels.inc"
  };
  return table;
}

// Runs f, whose first call of a kernel cancels it; it is long, and would make many.
template <class F>
void expect_soon(const char* what, F&& f) {
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(std::string(what) + ", threads " + std::to_string(threads));
    const auto pool = ThreadPool::create(threads).value();
    Arena arena = Arena::create(std::size_t{1} << 30).value();
    calls = 0;
    f(Exec{*pool, counting_kernels(), arena});
    EXPECT_GT(calls, 3u * static_cast<std::size_t>(threads)) << "too short to show anything";
    const Exec exec{*pool, counting_kernels(), arena, &cancel};
    cancel = false, calls = 0, largest = 0;
    f(exec);
    EXPECT_GE(calls, 1u);
    EXPECT_LE(calls, static_cast<std::size_t>(threads)) << "calls after the pass was cancelled";
    EXPECT_LE(largest, kProductsPerLook + kProductsPerLook / 2);
    ASSERT_TRUE(exec.status);
    EXPECT_EQ(exec.status->code, Code::Cancelled);
  }
}

template <class T>
void convolve_zeros(const Exec& exec, const ConvGeometry& g, const ConvSizes& n, bool gradient = false) {
  const ConvGeometry::Axes out = g.out().value();
  const PatchLayout layout = PatchLayout::create(g, out).value();
  const std::vector<T> x(n.samples * n.groups * n.channels * ConvGeometry::product(g.in)),
      w(n.groups * n.filters * n.channels * g.taps()), bias(n.groups * n.filters);
  std::vector<T> y(n.samples * n.groups * n.filters * ConvGeometry::product(out)), dw(w.size());
  if (gradient)
    convolve_weight_gradient(exec, layout, n, x.data(), y.data(), false, dw.data(), nullptr, element_of<T>);
  else
    convolve(exec, layout, n, x.data(), w.data(), bias.data(), y.data(), element_of<T>);
}
ConvGeometry geometry(ConvGeometry::Axes in, ConvGeometry::Axes kernel, bool transposed = false) {
  ConvGeometry g;
  g.in = in, g.kernel = kernel, g.stride = {1, transposed ? 2u : 1u, transposed ? 2u : 1u}, g.dilation = {1, 1, 1};
  g.transposed = transposed;
  return g;
}

TEST(UntilCancelled, ConvolutionsEndSoon) {
  const ConvSizes many{1, 1, 64, 64}, few{1, 1, 512, 4}, wide{1, 1, 64, 2048};
  const auto both = [](const char* what, const ConvGeometry& g, const ConvSizes& n) {
    expect_soon(what, [&](const Exec& exec) { convolve_zeros<float>(exec, g, n); });
    expect_soon(what, [&](const Exec& exec) { convolve_zeros<double>(exec, g, n); });
  };
  both("rows of sixteen", geometry({1, 66, 514}, {1, 3, 3}), many);
  both("positions across rows", geometry({1, 62, 62}, {1, 7, 7}), many);
  both("narrow planes of few filters", geometry({1, 200, 14}, {1, 9, 9}), few);
  both("many filters", geometry({1, 26, 26}, {1, 9, 9}), wide);
  both("one long row", geometry({1, 1, 200'000}, {1, 1, 9}), many);
  both("large patches", geometry({1, 320, 320}, {1, 300, 300}), {1, 1, 4, 16});
  both("depthwise", geometry({1, 9004, 2020}, {1, 5, 5}), {1, 1, 1, 1});
  both("transposed", geometry({1, 100, 100}, {1, 5, 5}, true), many);
  both("samples", geometry({1, 34, 34}, {1, 3, 3}), {64, 1, 64, 64});
}

TEST(UntilCancelled, GradientsOfFiltersEndSoon) {
  const auto run = [](const char* what, const ConvGeometry& g, const ConvSizes& n) {
    expect_soon(what, [&](const Exec& exec) { convolve_zeros<float>(exec, g, n, true); });
  };
  run("a large plane", geometry({1, 514, 514}, {1, 3, 3}), {1, 1, 16, 16});
  run("many samples", geometry({1, 34, 34}, {1, 3, 3}), {64, 1, 64, 64});
}

TEST(UntilCancelled, ProductsOfMatricesEndSoon) {
  const auto gemm_of = [](const char* what, std::size_t m, std::size_t k, std::size_t n) {
    const std::vector<float> a(m * k), b(k * n);
    std::vector<float> c(m * n);
    expect_soon(what, [&](const Exec& exec) {
      gemm(exec, {a.data(), k, 1}, {b.data(), n, 1}, k, {c.data(), m, n, Element::f32}, Into::Store);
    });
  };
  gemm_of("square", 2048, 2048, 2048);
  gemm_of("long sums", 300, 100'000, 16);
  gemm_of("few rows", 4, 1024, 40'000);
  gemm_of("few terms", 100'000, 4, 512);
  const auto matmul_of = [](const char* what, DType type, std::size_t rows, std::size_t cols, std::size_t outputs) {
    const Matrix w = Matrix::zeros(type, outputs, cols).value();
    const std::vector<float> x(rows * cols);
    std::vector<float> y(rows * outputs), z(rows * outputs);
    expect_soon(what, [&](const Exec& exec) {
      const std::array jobs{MatmulJob{&w, {y.data(), rows, outputs, Element::f32}},
                            MatmulJob{&w, {z.data(), rows, outputs, Element::f32}}};
      matmul(exec, {x.data(), rows, cols, Element::f32}, jobs);
    });
  };
  for (const DType type : {DType::float32, DType::int8, DType::q4_0, DType::ternary}) {
    const std::string named(name(type));
    matmul_of((named + ", many rows").c_str(), type, 20'000, 512, 512);
    matmul_of((named + ", many outputs").c_str(), type, 64, 2048, 20'000);
  }
}

// Rows that run a part at a time have the bits of all together.
TEST(UntilCancelled, PartsHaveTheBitsOfTheWhole) {
  const std::size_t rows = 530, cols = 8192, outputs = 16;
  std::vector<float> x(rows * cols), values(outputs * cols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 257) / 128 - 1;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 104729 % 509) / 254 - 1;
  const auto pool = ThreadPool::create(2).value();
  Arena arena = Arena::create(std::size_t{256} << 20).value();
  const std::atomic<bool> never{false};
  for (const Isa isa : usable_isas())
    for (const DType type : {DType::float32, DType::bfloat16, DType::int8, DType::q4_0, DType::ternary}) {
      const Matrix w = Matrix::from_floats(type, values, outputs, cols).value();
      std::vector<float> whole(rows * outputs), parts(rows * outputs);
      const auto run = [&](const std::atomic<bool>* looks, std::vector<float>& y) {
        const Exec exec{*pool, **kernels_for(isa), arena, looks};
        matmul(exec, {x.data(), rows, cols, Element::f32},
               std::array{MatmulJob{&w, {y.data(), rows, outputs, Element::f32}}});
      };
      run(nullptr, whole), run(&never, parts);
      EXPECT_EQ(whole, parts) << name(isa) << " " << name(type);
    }
}

// A tile of so many long filters is computed some filters at a time.
TEST(UntilCancelled, PartsOfFiltersHaveTheBitsOfTheWhole) {
  const ConvGeometry g = geometry({1, 10, 10}, {1, 6, 6});
  const ConvGeometry::Axes out = g.out().value();
  const PatchLayout layout = PatchLayout::create(g, out).value();
  constexpr std::size_t kFilters = 2048, kParts = 4, kChannels = 64;
  const std::size_t terms = kChannels * g.taps(), positions = ConvGeometry::product(out);
  std::vector<float> x(kChannels * ConvGeometry::product(g.in)), w(kFilters * terms), bias(kFilters);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 257) / 128 - 1;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 104729 % 509) / 254 - 1;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 11);
  ASSERT_GT(16 * kFilters * terms, kProductsPerLook);
  const auto pool = ThreadPool::create(2).value();
  Arena arena = Arena::create(std::size_t{64} << 20).value();
  for (const Isa isa : usable_isas()) {
    const Exec exec{*pool, **kernels_for(isa), arena};
    std::vector<float> whole(kFilters * positions), parts(whole.size());
    convolve(exec, layout, {1, 1, kChannels, kFilters}, x.data(), w.data(), bias.data(), whole.data(), Element::f32);
    for (std::size_t p = 0; p < kParts; ++p) {
      const std::size_t first = p * kFilters / kParts;
      convolve(exec, layout, {1, 1, kChannels, kFilters / kParts}, x.data(), w.data() + first * terms,
               bias.data() + first, parts.data() + first * positions, Element::f32);
    }
    EXPECT_EQ(whole, parts) << name(isa);
  }
}

// Layers call keep_cancel() where a device records their operations, which nothing may refuse for it.
TEST(GpuUntilCancelled, OnlyACancelEndsAPassOnADevice) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const auto pool = ThreadPool::create(1).value();
  Arena arena = Arena::create(1024, device).value();
  std::atomic<bool> stop{false};
  const Exec exec{*pool, *kernels_for(best_isa()).value(), arena, &stop};
  keep_cancel(exec);
  EXPECT_FALSE(exec.status) << exec.status->text();
  stop = true;
  keep_cancel(exec);
  ASSERT_TRUE(exec.status);
  EXPECT_EQ(exec.status->code, Code::Cancelled);
}

}  // namespace loom::until_cancelled_test
