#include "ops/matmul/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "support/divided.h"
#include "support/plain_product.h"

namespace loom::matmul_test {
namespace {

constexpr DType kFileTypes[] = {DType::q5_0, DType::q5_1, DType::q2_k,  DType::q3_k, DType::q4_k,
                                DType::q5_k, DType::q6_k, DType::tq1_0, DType::mxfp4};

std::vector<float> random_floats(std::size_t n, std::uint64_t seed, float size = 1.0f) {
  const RandomStream random{.seed = seed};
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = snapped((static_cast<float>(random.word(i) >> 8) * 0x1p-23f - 1.0f) * size);
  return v;
}

// Random bytes are a valid block of every format once its f16 scales are harmless.
std::vector<std::byte> random_blocks(DType dtype, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  const RandomStream random{.seed = seed, .step = 1};
  std::vector<std::byte> bytes(rows * row_bytes(dtype, cols).value());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.word(i) & 0xff);
  const std::size_t block = info(dtype).block_bytes;
  const auto scale_at = [&](std::size_t offset) {
    for (std::size_t b = 0; b < bytes.size(); b += block) {
      const std::uint16_t half = static_cast<std::uint16_t>(0x2000 + (random.word(b) & 0x0fff));
      std::memcpy(bytes.data() + b + offset, &half, 2);
    }
  };
  switch (dtype) {
    case DType::q5_0: scale_at(0); break;
    case DType::q5_1: scale_at(0), scale_at(2); break;
    case DType::q2_k: scale_at(80), scale_at(82); break;
    case DType::q3_k: scale_at(108); break;
    case DType::q4_k:
    case DType::q5_k: scale_at(0), scale_at(2); break;
    case DType::q6_k: scale_at(208); break;
    case DType::tq1_0: scale_at(52); break;
    case DType::mxfp4:
      for (std::size_t b = 0; b < bytes.size(); b += block) bytes[b] = static_cast<std::byte>(115 + random.word(b) % 12);
      break;
    default: break;
  }
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

struct Runner {
  explicit Runner(Isa isa, int threads = 1)
      : pool(ThreadPool::create(threads).value()), kernels(*kernels_for(isa).value()), arena(Arena::create(1 << 24).value()) {}
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
    const std::vector<float> y = Runner(Isa::scalar)(w, x);
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

constexpr InputWay kInputWays[] = {{Activations::int16}, {Activations::int8}, {Activations::int16, PanelScales::ByRow}, {Activations::int16, PanelScales::ByGroup}};

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
  SCOPED_TRACE(fmt::format("{}, {} columns, span {} {}", name(dtype), cols, static_cast<int>(span.granularity), span.group_size));
  std::vector<float> w = random_floats(kOutputs * cols, 11, 0.7f);
  for (std::size_t i = 0; i < cols; ++i) w[3 * cols + i] = 0;                        // a row of zeros
  for (std::size_t i = 0; i < cols; ++i) w[5 * cols + i] = std::abs(w[5 * cols + i]);  // and one without a sign
  const QuantizedMatrix q = value_of(quantize(dtype, w, kOutputs, cols, span));
  Matrix m = value_of(Matrix::from_quantized(q));
  const std::vector<float> x = random_floats(kRows * cols, 12, 3.0f), decoded = dequantize(q);
  std::vector<float> row(cols);
  for (std::size_t o = 0; o < kOutputs; ++o) {
    m.decode_row(o, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), decoded.begin() + static_cast<std::ptrdiff_t>(o * cols))) << "row " << o;
  }
  const QuantizedMatrix back = value_of(m.to_quantized());
  EXPECT_EQ(back.codes, q.codes);
  EXPECT_EQ(dequantize(back), decoded);
  for (const InputWay way : kInputWays) {
    const std::vector<float> expected = simulate(q, x, way);
    m.set_input_scales(way.scales);
    for (const Isa isa : usable_isas()) {
      Runner run(isa);
      run.activations = way.activations;
      EXPECT_EQ(run(m, x), expected) << name(isa);
      const std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(cols));
      EXPECT_EQ(run(m, first), std::vector<float>(expected.begin(), expected.begin() + kOutputs)) << name(isa) << ", one row";
    }
  }
}

TEST(Matmul, D_30_D_35_G_56_packed_equals_simulated_for_every_type_and_target) {
  const FpEnvironment environment;
  for (const std::size_t cols : {64, 100, 353})
    for (std::size_t t = 0; t < kNumTypes; ++t) expect_packed_equals_simulated(static_cast<DType>(t), {}, cols);
}

// Fewer outputs than a panel has rows leave in another way than many; biases in every way there is.
TEST(Matmul, D_35_narrow_batches_are_their_rows_one_by_one_and_the_chain_itself) {
  const FpEnvironment environment;
  for (const DType dtype : {DType::float32, DType::float16, DType::fp8e4m3})
    for (const std::size_t outputs : {1, 2, 3, 7, 8, 15, 16, 17, 31})
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{2, 1}, {4, 3}, {13, 70}, {97, 5}, {200, 300}}) {
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
          EXPECT_EQ(run(m, first, bias.data()), std::vector<float>(biased.begin(), biased.begin() + static_cast<std::ptrdiff_t>(outputs)));
        }
      }
}

TEST(Matmul, D_06_D_35_packed_equals_simulated_for_every_span) {
  const FpEnvironment environment;
  for (const std::size_t cols : {100, 128, 353})
    for (std::size_t t = 0; t < kNumTypes; ++t)
      for (const ScaleSpan& span : spans_of(static_cast<DType>(t))) expect_packed_equals_simulated(static_cast<DType>(t), span, cols);
}

// At the size of use: threads divide outputs and rows of inputs.
TEST(Matmul, D_33_D_34_every_way_of_inputs_is_divided_among_threads) {
  constexpr std::size_t kOutputs = 270, kCols = 416, kRows = 100;
  static_assert(kRows * kCols >= 32768);
  const FpEnvironment environment;
  const std::vector<float> w = random_floats(kOutputs * kCols, 41), x = random_floats(kRows * kCols, 42, 3.0f);
  for (const DType dtype : {DType::int8, DType::uint8, DType::int4, DType::uint4, DType::uint2, DType::ternary, DType::binary})
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
      }
}

// One call may meet weights whose inputs are rounded in every way there is.
TEST(Matmul, D_34_jobs_of_one_call_with_different_spans) {
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
  for (std::size_t i = 0; i < weights.size(); ++i) jobs.push_back({&weights[i], Tensor{together[i].data(), 3, kOutputs}, nullptr});
  const FpEnvironment environment;
  matmul({*run.pool, run.kernels, run.arena, nullptr, Activations::int16}, ConstTensor{x.data(), 3, kCols}, jobs);
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(together[i], run(weights[i], x)) << i;
}

TEST(Matmul, D_06_spans_without_a_kernel_are_refused) {
  const std::vector<float> w = random_floats(32 * 64, 5);
  const std::pair<DType, ScaleSpan> refused[] = {{DType::fp4, {Granularity::Row}},           {DType::fp4, {Granularity::Tensor}},
                                                 {DType::fp8e4m3, {Granularity::Group, 64}}, {DType::int16, {Granularity::Group, 32}},
                                                 {DType::uint64, {Granularity::Group, 128}}};
  for (const auto& [dtype, span] : refused) {
    const auto m = Matrix::from_quantized(value_of(quantize(dtype, w, 32, 64, span)));
    ASSERT_FALSE(m) << name(dtype);
    EXPECT_EQ(m.error().code, Code::Unsupported);
  }
}

// Codes below a byte are packed in memory: rows of the last panel, scales and zero points are all that comes on top.
TEST(Matmul, D_11_G_55_resident_bytes) {
  constexpr std::size_t kRows = 48, kCols = 320;
  const std::vector<float> w = random_floats(kRows * kCols, 13);
  for (std::size_t t = 0; t < kNumTypes; ++t)
    for (const ScaleSpan& span : spans_of(static_cast<DType>(t))) {
      const auto dtype = static_cast<DType>(t);
      const QuantizedMatrix q = value_of(quantize(dtype, w, kRows, kCols, span));
      const Matrix m = value_of(Matrix::from_quantized(q));
      const std::size_t factor = info(dtype).compute == ComputeClass::Wide ? 8 : 4;
      const std::size_t scales = q.scales.size() == 1 ? kRows : q.scales.size(), zeros = q.zero_points.size() == 1 ? kRows : q.zero_points.size();
      EXPECT_LE(m.resident_bytes(), kRows * kCols * info(dtype).bits / 8 + scales * factor + zeros * factor + 64) << name(dtype);
    }
}

}  // namespace
}  // namespace loom::matmul_test
