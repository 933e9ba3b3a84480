#include "ops/matmul/matmul.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "dtypes/block_formats.h"
#include "loom_targets.h"
#include "ops/all.h"
#include "ops/rounding/rounding.h"
#include "support/divided.h"
#include "support/plain_product.h"

namespace loom {

#define LOOM_DECLARE(variant, target)        \
  namespace variant {                        \
  extern const MatmulKernels matmul_kernels; \
  }
LOOM_PLAIN_VARIANTS(LOOM_DECLARE)
#undef LOOM_DECLARE

}  // namespace loom

namespace loom::matmul_test {
namespace {

constexpr DType kFileTypes[] = {DType::q5_0, DType::q5_1, DType::q2_k,  DType::q3_k, DType::q4_k,
                                DType::q5_k, DType::q6_k, DType::tq1_0, DType::mxfp4};

std::vector<float> random_floats(std::size_t n, std::uint64_t seed, float size = 1.0f) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = snapped((static_cast<float>(random.word(i) >> 8) * 0x1p-23f - 1.0f) * size);
  return v;
}

// Returns the offsets of the f16 scales in a block.
std::vector<std::size_t> scales_at(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q5_0:
    case DType::q8_0: return {0};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k: return {0, 2};
    case DType::q2_k: return {80, 82};
    case DType::q3_k: return {108};
    case DType::q6_k: return {208};
    case DType::tq1_0: return {52};
    case DType::tq2_0: return {64};
    default: return {};
  }
}

// Random bytes are a valid block of every format once its f16 scales are harmless. `edges`: some scales are negative,
// zero, subnormal or as large as there are.
std::vector<std::byte> random_blocks(DType dtype, std::size_t rows, std::size_t cols, std::uint64_t seed,
                                     bool edges = false) {
  constexpr std::uint16_t kEdges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0xa800};
  const RandomStream random{.seed = seed, .step = 1};
  std::vector<std::byte> bytes(rows * row_bytes(dtype, cols).value());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.word(i) & 0xff);
  const std::size_t block = info(dtype).block_bytes;
  for (const std::size_t offset : scales_at(dtype))
    for (std::size_t b = 0; b < bytes.size(); b += block) {
      auto half = static_cast<std::uint16_t>(0x2000 + (random.word(b) & 0x0fff));
      if (const std::size_t kind = (b / block + offset) % 31; edges && kind < std::size(kEdges)) half = kEdges[kind];
      std::memcpy(bytes.data() + b + offset, &half, 2);
    }
  if (dtype == DType::mxfp4)
    for (std::size_t b = 0; b < bytes.size(); b += block)
      bytes[b] =
          static_cast<std::byte>(edges && b / block % 5 == 0 ? 100 + random.word(b) % 8 : 115 + random.word(b) % 12);
  return bytes;
}

template <class T>
T value_of(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().text();
  return std::move(result).value();
}

Matrix make(DType dtype, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  if (std::find(std::begin(kFileTypes), std::end(kFileTypes), dtype) != std::end(kFileTypes))
    return value_of(Matrix::from_source(dtype, random_blocks(dtype, rows, cols, seed), rows, cols));
  return value_of(Matrix::from_floats(dtype, random_floats(rows * cols, seed), rows, cols));
}

// The kernels of an instruction set, or of tiles in plain C++ (src/simd/amx_plain).
struct Kernels {
  std::string name;
  KernelTable table;
};
std::vector<Kernels> all_kernels() {
  std::vector<Kernels> all;
  for (const Isa isa : usable_isas()) all.push_back({std::string(name(isa)), *kernels_for(isa).value()});
#define LOOM_ADD(variant, target) \
  if (cpu_runs(Isa::target))      \
    all.push_back({#variant, with_products(*kernels_for(Isa::target).value(), variant::matmul_kernels)});
  LOOM_PLAIN_VARIANTS(LOOM_ADD)
#undef LOOM_ADD
  return all;
}

struct Runner {
  explicit Runner(Isa isa, int threads = 1) : Runner(*kernels_for(isa).value(), threads) {}
  explicit Runner(const KernelTable& table, int threads = 1)
      : pool(ThreadPool::create(threads).value()), kernels(table), arena(Arena::create(1 << 24).value()) {}
  std::vector<float> operator()(const Matrix& w, const std::vector<float>& x, const float* bias = nullptr) {
    const FpEnvironment environment;
    const std::size_t rows = x.size() / w.cols();
    std::vector<float> y(rows * w.rows(), -1.0f);
    const Exec exec{*pool, kernels, arena, nullptr, activations};
    const MatmulJob job{&w, Tensor{y.data(), rows, w.rows()}, bias};
    matmul(exec, ConstTensor{x.data(), rows, w.cols()}, std::span(&job, 1));
    return y;
  }
  std::unique_ptr<ThreadPool> pool;
  const KernelTable& kernels;
  Arena arena;
  Activations activations = Activations::int16;
};

std::vector<DType> all_types() {
  std::vector<DType> all;
  for (const DTypeInfo& type : kDTypes) all.push_back(type.dtype);
  return all;
}

TEST(Matmul, IsCloseToTheProductOfTheDecodedWeights) {
  for (const DType dtype : all_types()) {
    const std::size_t rows = 45, cols = 768;
    const Matrix w = make(dtype, rows, cols, 3);
    const std::vector<float> x = random_floats(3 * cols, 4);
    const std::vector<float> y = Runner(usable_isas().front())(w, x);
    std::vector<float> row(cols);
    for (std::size_t o = 0; o < rows; ++o) {
      w.decode_row(o, row.data());
      for (std::size_t t = 0; t < 3; ++t) {
        double exact = 0, size = 0;
        for (std::size_t c = 0; c < cols; ++c) {
          const double term = static_cast<double>(row[c]) * static_cast<double>(x[t * cols + c]);
          exact += term, size += term * term;
        }
        // An int8 input is off by 1/254 of its largest at most, independently per element.
        const double bound = w.layout().quantises_input() ? 0.02 * std::sqrt(size) : 1e-5 * std::sqrt(size);
        ASSERT_NEAR(y[t * rows + o], exact, bound) << name(dtype) << " output " << o << " row " << t;
      }
    }
  }
}

// ---- packed products against plain loops over codes, scales and zero points (engine D-30 to D-35) ----

using test::InputWay;
using test::spans_of;

constexpr InputWay kInputWays[] = {{Activations::int16},
                                   {Activations::int8},
                                   {Activations::int16, PanelScales::ByRow},
                                   {Activations::int16, PanelScales::ByGroup}};

// Every output of every row of x.
std::vector<float> simulate(const QuantizedMatrix& q, const std::vector<float>& x, const InputWay& way) {
  const test::PlainMatrix m = test::plain_matrix(q);
  std::vector<float> y;
  for (std::size_t r = 0; r * q.cols < x.size(); ++r) {
    const std::vector<float> row = test::plain_product(m, 0, q.rows, x.data() + r * q.cols, way);
    y.insert(y.end(), row.begin(), row.end());
  }
  return y;
}

void expect_packed_equals_simulated(DType dtype, ScaleSpan span, std::size_t cols) {
  constexpr std::size_t kOutputs = 35, kRows = 19;
  SCOPED_TRACE(fmt::format("{}, {} columns, span {} {}", name(dtype), cols, static_cast<int>(span.granularity),
                           span.group_size));
  std::vector<float> w = random_floats(kOutputs * cols, 11, 0.7f);
  for (std::size_t i = 0; i < cols; ++i) w[3 * cols + i] = 0;                          // a row of zeros
  for (std::size_t i = 0; i < cols; ++i) w[5 * cols + i] = std::abs(w[5 * cols + i]);  // and one without a sign
  const QuantizedMatrix q = value_of(quantize(dtype, w, kOutputs, cols, span));
  Matrix m = value_of(Matrix::from_quantized(q));
  const std::vector<float> x = random_floats(kRows * cols, 12, 3.0f), decoded = dequantize(q);
  std::vector<float> row(cols);
  for (std::size_t o = 0; o < kOutputs; ++o) {
    m.decode_row(o, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), decoded.begin() + static_cast<std::ptrdiff_t>(o * cols)))
        << "row " << o;
  }
  const QuantizedMatrix back = value_of(m.to_quantized());
  EXPECT_EQ(back.codes, q.codes);
  EXPECT_EQ(dequantize(back), decoded);
  for (const InputWay way : kInputWays) {
    const std::vector<float> expected = simulate(q, x, way);
    m.set_input_scales(way.scales);
    for (const Kernels& kernels : all_kernels()) {
      Runner run(kernels.table);
      run.activations = way.activations;
      EXPECT_EQ(run(m, x), expected) << kernels.name;
      const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(cols));
      EXPECT_EQ(run(m, first), std::vector<float>(expected.begin(), expected.begin() + kOutputs))
          << kernels.name << ", one row";
    }
  }
}

TEST(Matmul, packed_equals_simulated_for_every_type_and_target) {  // D-30, D-35, G-56
  const FpEnvironment environment;
  for (const std::size_t cols : {64, 100, 353})
    for (std::size_t t = 0; t < kNumTypes; ++t) expect_packed_equals_simulated(static_cast<DType>(t), {}, cols);
}

// Fewer outputs than a panel has rows leave in another way than many; biases in every way there is.
TEST(Matmul, narrow_batches_are_their_rows_one_by_one_and_the_chain_itself) {  // D-35
  const FpEnvironment environment;
  for (const DType dtype : {DType::float32, DType::float16, DType::fp8e4m3})
    for (const std::size_t outputs : {1, 2, 3, 7, 8, 15, 16, 17, 31})
      for (const auto& [rows, cols] :
           {std::pair<std::size_t, std::size_t>{2, 1}, {4, 3}, {13, 70}, {97, 5}, {200, 300}}) {
        const QuantizedMatrix q = value_of(quantize(dtype, random_floats(outputs * cols, 31), outputs, cols, {}));
        const Matrix m = value_of(Matrix::from_quantized(q));
        const std::vector<float> x = random_floats(rows * cols, 32, 3.0f), bias = random_floats(outputs, 33);
        const std::vector<float> bare = simulate(q, x, {});
        std::vector<float> biased = bare;
        for (std::size_t i = 0; i < biased.size(); ++i) biased[i] = snapped(bare[i] + bias[i % outputs]);
        for (const Isa isa : usable_isas()) {
          Runner run(isa);
          EXPECT_EQ(run(m, x), bare) << name(dtype) << " " << outputs << " " << rows << " " << name(isa);
          EXPECT_EQ(run(m, x, bias.data()), biased) << name(dtype) << " " << outputs << " " << rows << " " << name(isa);
          const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(cols));
          EXPECT_EQ(run(m, first, bias.data()),
                    std::vector<float>(biased.begin(), biased.begin() + static_cast<std::ptrdiff_t>(outputs)));
        }
      }
}

TEST(Matmul, packed_equals_simulated_for_every_span) {  // D-06, D-35
  const FpEnvironment environment;
  for (const std::size_t cols : {100, 128, 353})
    for (std::size_t t = 0; t < kNumTypes; ++t)
      for (const ScaleSpan& span : spans_of(static_cast<DType>(t)))
        expect_packed_equals_simulated(static_cast<DType>(t), span, cols);
}

// Instructions take rows of inputs in pairs, loops by sixteen: any number of rows gives what each row gives alone.
TEST(Matmul, any_number_of_rows_gives_what_each_row_gives) {  // D-35, G-56
  constexpr std::size_t kOutputs = 35, kCols = 768, kMost = 33;
  const FpEnvironment environment;
  const std::vector<float> x = random_floats(kMost * kCols, 61, 3.0f);
  const auto rows_of = [](const std::vector<float>& v, std::size_t first, std::size_t count, std::size_t width) {
    const auto from = v.begin() + static_cast<std::ptrdiff_t>(first * width);
    return std::vector<float>(from, from + static_cast<std::ptrdiff_t>(count * width));
  };
  for (const DType dtype : all_types()) {
    Matrix m = make(dtype, kOutputs, kCols, 62);
    for (const InputWay way : kInputWays) {
      m.set_input_scales(way.scales);
      std::vector<float> expected;
      for (std::size_t r = 0; r < kMost; ++r) {
        Runner run(usable_isas().front());
        run.activations = way.activations;
        const std::vector<float> y = run(m, rows_of(x, r, 1, kCols));
        expected.insert(expected.end(), y.begin(), y.end());
      }
      for (const Kernels& kernels : all_kernels()) {
        Runner run(kernels.table);
        run.activations = way.activations;
        for (const std::size_t rows : {1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 21, 33})
          EXPECT_EQ(run(m, rows_of(x, 0, rows, kCols)), rows_of(expected, 0, rows, kOutputs))
              << name(dtype) << ", " << rows << " rows, " << kernels.name;
      }
    }
  }
}

// At the size of use: threads divide outputs and rows of inputs.
TEST(Matmul, every_way_of_inputs_is_divided_among_threads) {  // D-33, D-34
  constexpr std::size_t kOutputs = 270, kCols = 416, kRows = 100;
  static_assert(kRows * kCols >= 32768);
  const FpEnvironment environment;
  const std::vector<float> w = random_floats(kOutputs * kCols, 41), x = random_floats(kRows * kCols, 42, 3.0f);
  for (const DType dtype :
       {DType::int8, DType::uint8, DType::int4, DType::uint4, DType::uint2, DType::ternary, DType::binary})
    for (const ScaleSpan& span : {ScaleSpan{Granularity::Row}, ScaleSpan{Granularity::Group, 64}})
      for (const InputWay way : kInputWays) {
        const QuantizedMatrix q = value_of(quantize(dtype, w, kOutputs, kCols, span));
        Matrix m = value_of(Matrix::from_quantized(q));
        m.set_input_scales(way.scales);
        Runner alone(best_isa()), together(best_isa(), 3);
        alone.activations = together.activations = way.activations;
        const std::vector<float> y = alone(m, x);
        const test::ExpectDivided divided;
        EXPECT_EQ(together(m, x), y) << name(dtype);
        EXPECT_EQ(y, simulate(q, x, way)) << name(dtype);
        // One row goes by panels in pairs, of which an odd number leaves one.
        const std::vector<float> row(x.begin(), x.begin() + kCols);
        for (const Isa isa : usable_isas())
          for (const int threads : {1, 3}) {
            Runner runner(isa, threads);
            runner.activations = way.activations;
            EXPECT_EQ(runner(m, row), std::vector<float>(y.begin(), y.begin() + kOutputs)) << name(dtype) << name(isa);
          }
      }
}

// At the size of use: rows of inputs within a tile, above it and above a batch, columns that fill the blocks that stand
// side by side, chunks, and parts of each.
TEST(Matmul, elements_and_wide_codes_for_any_rows_and_threads) {  // D-30, D-32
  constexpr std::size_t kOutputs = 83, kRows = 101;
  const FpEnvironment environment;
  for (const DType dtype : {DType::float64, DType::int64, DType::int32, DType::int16, DType::uint64, DType::uint32,
                            DType::uint16, DType::fp8e4m3, DType::fp8e5m2, DType::float16, DType::bfloat16})
    for (const std::size_t cols : {200, 256, 619}) {
      QuantizedMatrix q = value_of(quantize(dtype, random_floats(kOutputs * cols, 51), kOutputs, cols, {}));
      if (dtype == DType::int64)  // files may hold codes that f64 rounds
        for (std::size_t i = 0; i < 4 * cols; ++i) {
          const auto code =
              static_cast<std::int64_t>(RandomStream{.seed = 53}.word(i) * std::uint64_t{0x9e3779b97f4a7c15});
          std::memcpy(q.codes.data() + i * sizeof code, &code, sizeof code);
        }
      const Matrix m = value_of(Matrix::from_quantized(q));
      const std::vector<float> x = random_floats(kRows * cols, 52, 3.0f), expected = simulate(q, x, {});
      for (const Isa isa : usable_isas())
        for (const int threads : {1, 3}) {
          Runner run(isa, threads);
          const test::ExpectDivided divided(threads);
          for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, std::size_t{7}, kRows}) {
            const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(rows * cols));
            EXPECT_EQ(
                run(m, first),
                std::vector<float>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(rows * kOutputs)))
                << name(dtype) << ", " << cols << " columns, " << name(isa) << ", " << rows << " rows, " << threads
                << " threads";
          }
        }
    }
}

// One call may meet weights whose inputs are rounded in every way there is.
TEST(Matmul, jobs_of_one_call_with_different_spans) {  // D-34
  constexpr std::size_t kCols = 160, kOutputs = 20;
  const std::vector<float> w = random_floats(kOutputs * kCols, 21), x = random_floats(3 * kCols, 22);
  std::vector<Matrix> weights;
  for (const DType dtype : {DType::int4, DType::int8, DType::binary})
    for (const ScaleSpan& span : spans_of(dtype))
      for (const PanelScales inputs : {PanelScales::None, PanelScales::ByRow, PanelScales::ByGroup}) {
        weights.push_back(value_of(Matrix::from_quantized(value_of(quantize(dtype, w, kOutputs, kCols, span)))));
        weights.back().set_input_scales(inputs);
      }
  Runner run(best_isa());
  std::vector<std::vector<float>> together(weights.size(), std::vector<float>(3 * kOutputs));
  std::vector<MatmulJob> jobs;
  for (std::size_t i = 0; i < weights.size(); ++i)
    jobs.push_back({&weights[i], Tensor{together[i].data(), 3, kOutputs}, nullptr});
  const FpEnvironment environment;
  matmul({*run.pool, run.kernels, run.arena, nullptr, Activations::int16}, ConstTensor{x.data(), 3, kCols}, jobs);
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(together[i], run(weights[i], x)) << i;
}

// ---- block formats: packed products against plain loops over the parts of the blocks as their files hold them ----

// A matrix of blocks as plain numbers, a scale and a minimum for each sub-block.
struct PlainBlocks {
  std::size_t cols, sub;
  bool has_min;
  std::vector<std::int8_t> codes;
  std::vector<float> scales, mins;
};

PlainBlocks plain_blocks(DType dtype, const std::vector<std::byte>& bytes, std::size_t cols) {
  const BlockLayout& layout = block_layout(dtype);
  PlainBlocks m{cols, layout.sub_elements, layout.has_min, {}, {}, {}};
  for (std::size_t at = 0; at < bytes.size(); at += info(dtype).block_bytes) {
    std::int8_t codes[kMaxBlockElements];
    float scales[kMaxSubBlocks], mins[kMaxSubBlocks];
    unpack_block(dtype, bytes.data() + at, codes, scales, mins);
    m.codes.insert(m.codes.end(), codes, codes + layout.elements);
    m.scales.insert(m.scales.end(), scales, scales + layout.sub_blocks());
    m.mins.insert(m.mins.end(), mins, mins + layout.sub_blocks());
  }
  return m;
}

// Outputs for one row of inputs. Sub-blocks ascending, of 32 columns where theirs are longer.
std::vector<float> plain_block_product(const PlainBlocks& m, const float* x, const InputWay& way) {
  const std::size_t outputs = m.codes.size() / m.cols, step = std::min<std::size_t>(m.sub, 32);
  const bool by_row = way.scales == PanelScales::ByRow;
  const bool wide = way.scales == PanelScales::None && way.activations == Activations::int16;
  const test::PlainCodes row = test::plain_codes(x, m.cols, 127.0f);
  std::vector<test::PlainCodes> blocks;
  for (std::size_t b = 0; b < m.cols; b += 32) blocks.push_back(test::plain_codes(x + b, 32, wide ? 32512.0f : 127.0f));
  std::vector<float> y;
  for (std::size_t o = 0; o < outputs; ++o) {
    float total = 0;
    for (std::size_t b = 0; b < m.cols; b += step) {
      const std::int64_t* const q = by_row ? row.q.data() + b : blocks[b / 32].q.data() + b % 32;
      const float sx = by_row ? 1.0f : blocks[b / 32].scale;
      std::int64_t dot = 0, sum = 0;
      for (std::size_t i = 0; i < step; ++i) dot += m.codes[o * m.cols + b + i] * q[i], sum += q[i];
      const std::size_t sub = (o * m.cols + b) / m.sub;
      total = total + static_cast<float>(dot) * (m.scales[sub] * sx);
      if (m.has_min) total = total + m.mins[sub] * (sx * static_cast<float>(sum));
    }
    y.push_back(snapped(by_row ? total * row.scale : total));
  }
  return y;
}

void expect_block_products(DType dtype, std::size_t cols) {
  constexpr std::size_t kOutputs = 45, kMostRows = 17;
  SCOPED_TRACE(fmt::format("{}, {} columns", name(dtype), cols));
  const std::vector<std::byte> bytes = random_blocks(dtype, kOutputs, cols, 51, true);
  Matrix m = value_of(Matrix::from_source(dtype, bytes, kOutputs, cols));
  std::vector<float> decoded(kOutputs * cols), row(cols);
  decode_block_row(dtype, bytes.data(), decoded.data(), decoded.size());
  for (std::size_t o = 0; o < kOutputs; ++o) {
    m.decode_row(o, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), decoded.begin() + static_cast<std::ptrdiff_t>(o * cols)))
        << "row " << o;
  }
  const PlainBlocks plain = plain_blocks(dtype, bytes, cols);
  std::vector<float> x = random_floats(kMostRows * cols, 52, 3.0f);
  for (std::size_t i = 0; i < cols / 2; ++i) x[i] = 5.0f;  // sums of codes of one sign
  for (const InputWay way : kInputWays) {
    m.set_input_scales(way.scales);
    std::vector<float> expected;
    for (std::size_t r = 0; r < kMostRows; ++r) {
      const std::vector<float> y = plain_block_product(plain, x.data() + r * cols, way);
      expected.insert(expected.end(), y.begin(), y.end());
    }
    for (const Kernels& kernels : all_kernels())
      for (const int threads : {1, 3}) {
        Runner run(kernels.table, threads);
        run.activations = way.activations;
        const test::ExpectDivided divided(cols > 256 ? threads : 1);
        for (const std::size_t rows : {1, 3, 17}) {
          const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(rows * cols));
          EXPECT_EQ(run(m, first), std::vector<float>(expected.begin(),
                                                      expected.begin() + static_cast<std::ptrdiff_t>(rows * kOutputs)))
              << kernels.name << ", " << rows << " rows, " << threads << " threads";
        }
      }
  }
}

// At the size of use: inputs of a whole batch of tiles and of a part of one, panels that leave one beside the pairs.
TEST(Matmul, packed_blocks_by_tiles_for_any_rows) {  // D-26, D-35
  const FpEnvironment environment;
  constexpr std::size_t kOutputs = 77, kCols = 512, kMostRows = 300;
  const std::vector<float> x = random_floats(kMostRows * kCols, 57, 3.0f);
  std::vector<DType> types{DType::int4, DType::uint4, DType::int8, DType::uint2, DType::ternary};
  for (std::size_t t = kNumTypes; t < kNumDTypes; ++t) types.push_back(static_cast<DType>(t));
  for (const DType dtype : types) {
    const Matrix m = make(dtype, kOutputs, kCols, 56);
    for (const Activations activations : {Activations::int16, Activations::int8}) {
      Runner plain(usable_isas().front());
      plain.activations = activations;
      const std::vector<float> expected = plain(m, x);
      for (const Kernels& kernels : all_kernels())
        for (const std::size_t rows : {11, 12, 16, 31, 33, 48, 256, 300}) {
          Runner run(kernels.table, 3);
          run.activations = activations;
          const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(rows * kCols));
          EXPECT_EQ(run(m, first), std::vector<float>(expected.begin(),
                                                      expected.begin() + static_cast<std::ptrdiff_t>(rows * kOutputs)))
              << name(dtype) << ", " << kernels.name << ", " << rows << " rows";
        }
    }
  }
}

TEST(Matmul, packed_blocks_equal_plain_loops_over_their_parts) {  // D-26, D-35
  const FpEnvironment environment;
  for (std::size_t t = kNumTypes; t < kNumDTypes; ++t)
    for (const std::size_t cols : {256, 768}) expect_block_products(static_cast<DType>(t), cols);
}

// Bytes of 256 weights: those of the file, and what integers of 6 bits, five digits to a byte and the filling of a
// cache line add.
TEST(Matmul, resident_bytes_are_near_those_of_the_file) {  // D-26
  constexpr std::size_t kRows = 48, kCols = 768;
  for (std::size_t t = kNumTypes; t < kNumDTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    const Matrix m = value_of(Matrix::from_source(dtype, random_blocks(dtype, kRows, kCols, 53), kRows, kCols));
    const std::size_t bytes = m.resident_bytes() * 256 / (kRows * kCols);
    const std::size_t file = row_bytes(dtype, 256).value();
    const std::size_t more = dtype == DType::tq1_0 ? 14 : 6;
    EXPECT_LE(bytes, file + more) << name(dtype);
  }
}

TEST(Matmul, spans_without_a_kernel_are_refused) {  // D-06
  const std::vector<float> w = random_floats(32 * 64, 5);
  const std::pair<DType, ScaleSpan> refused[] = {{DType::fp4, {Granularity::Row}},
                                                 {DType::fp4, {Granularity::Tensor}},
                                                 {DType::fp8e4m3, {Granularity::Group, 64}},
                                                 {DType::int16, {Granularity::Group, 32}},
                                                 {DType::uint64, {Granularity::Group, 128}}};
  for (const auto& [dtype, span] : refused) {
    const auto m = Matrix::from_quantized(value_of(quantize(dtype, w, 32, 64, span)));
    ASSERT_FALSE(m) << name(dtype);
    EXPECT_EQ(m.error().code, Code::Unsupported);
  }
}

// Codes below a byte are packed in memory: rows of the last panel, scales and zero points are all that comes on top.
TEST(Matmul, resident_bytes) {  // D-11, G-55
  constexpr std::size_t kRows = 48, kCols = 320;
  const std::vector<float> w = random_floats(kRows * kCols, 13);
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans_of(static_cast<DType>(t))) {
      const auto dtype = static_cast<DType>(t);
      const QuantizedMatrix q = value_of(quantize(dtype, w, kRows, kCols, span));
      const Matrix m = value_of(Matrix::from_quantized(q));
      const std::size_t factor = info(dtype).compute == ComputeClass::Wide ? 8 : 4;
      const std::size_t scales = q.scales.size() == 1 ? kRows : q.scales.size(),
                        zeros = q.zero_points.size() == 1 ? kRows : q.zero_points.size();
      EXPECT_LE(m.resident_bytes(), kRows * kCols * info(dtype).bits / 8 + scales * factor + zeros * factor + 64)
          << name(dtype);
    }
}

// Calls of the kernels of bf16 panels that were given the bits of their inputs.
std::atomic<int> calls_with_bits;
PanelKernel bf16_panels;

// Inputs that are called rounded and have more bits than a product beside these weights may have: a fused product of
// 1 + 2^-14 and 1 + 2^-10 keeps a bit that the sum of a rounded one lacks.
TEST(Matmul, products_that_are_not_exact_are_not_fused) {  // N-03
  const FpEnvironment environment;
  constexpr std::size_t kRows = 40, kOutputs = 35, kCols = 64;
  const std::vector<float> weights(kOutputs * kCols, 1 + 0x1p-10F);
  const Matrix w = Matrix::from_floats(DType::float16, weights, kOutputs, kCols).value();
  const std::vector<float> x(kRows * kCols, 1 + 0x1p-14F);
  float wanted = 0;
  for (std::size_t c = 0; c < kCols; ++c) wanted += static_cast<float>(weights[c] * x[c]);
  for (const Kernels& k : all_kernels())
    for (const FactorKind values : {FactorKind::Any, FactorKind::Rounded}) {
      const auto pool = ThreadPool::create(1).value();
      Arena arena = Arena::create(1 << 20).value();
      std::vector<float> y(kRows * kOutputs);
      matmul(Exec{*pool, k.table, arena}, {x.data(), kRows, kCols, Element::f32},
             std::array{MatmulJob{&w, {y.data(), kRows, kOutputs, Element::f32}}}, values);
      EXPECT_EQ(y, std::vector<float>(y.size(), wanted)) << k.name;
    }
}

TEST(Matmul, rounded_inputs_give_the_same_bits) {  // N-03
  const FpEnvironment environment;
  const auto rounded = [](std::size_t n, Mixed to) {
    std::vector<float> x = random_floats(n, 71, 3);
    const auto pool = ThreadPool::create(1).value();
    Arena arena = Arena::create(1 << 20).value();
    round_activations(Exec{*pool, *kernels_for(best_isa()).value(), arena}, {x.data(), 1, n, Element::f32}, to);
    return x;
  };
  struct Size {
    std::size_t rows, outputs, cols;
  };
  for (const auto& [rows, outputs, cols] : {Size{33, 70, 65}, {200, 40, 700}, {131, 9, 300}, {2048, 512, 1344}})
    for (const DType dtype : {DType::bfloat16, DType::float16, DType::fp8e4m3, DType::fp8e5m2, DType::float32})
      for (const Mixed mixed : {Mixed::bf16, Mixed::f16, Mixed::none}) {
        const bool is_large = rows == 2048;
        if (is_large && (dtype != DType::bfloat16 || mixed != Mixed::bf16)) continue;
        const Matrix w = make(dtype, outputs, cols, 72);
        const std::vector<float> x = rounded(rows * cols, mixed);
        for (const Kernels& k : all_kernels()) {
          if (is_large && k.table.gemm.of<float>().fused_panels == nullptr) continue;
          MatmulKernels products = k.table.matmul;
          PanelKernel& panels = products.panels[static_cast<std::size_t>(PanelKind::BFloat16)];
          bf16_panels = panels, calls_with_bits = 0;
          panels = [](const MatmulTask& task, std::size_t begin, std::size_t end) {
            if (task.input_bits != nullptr) ++calls_with_bits;
            bf16_panels(task, begin, end);
          };
          const KernelTable table = with_products(k.table, products);
          const auto product = [&](int threads, FactorKind values) {
            const auto pool = ThreadPool::create(threads).value();
            Arena arena = Arena::create(std::size_t{16} << 20).value();
            std::vector<float> y(rows * outputs);
            matmul(Exec{*pool, table, arena}, {x.data(), rows, cols, Element::f32},
                   std::array{MatmulJob{&w, {y.data(), rows, outputs, Element::f32}}}, values);
            return y;
          };
          const std::vector<float> wanted = product(1, FactorKind::Any);
          EXPECT_EQ(calls_with_bits, 0) << k.name;
          for (const int threads : {1, 2, 4})
            EXPECT_TRUE(product(threads, FactorKind::Rounded) == wanted)
                << k.name << " " << name(dtype) << " " << rows << "x" << outputs << "x" << cols;
          const bool fuses = k.table.gemm.of<float>().fused_panels != nullptr && dtype == DType::bfloat16;
          EXPECT_EQ(calls_with_bits != 0, fuses && mixed != Mixed::none) << k.name << " " << name(dtype);
        }
      }
}

}  // namespace
}  // namespace loom::matmul_test
