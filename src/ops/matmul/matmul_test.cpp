#include "ops/matmul/matmul.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "dtypes/float16.h"
#include "ops/all.h"

namespace loom {
namespace {

constexpr DType kTypes[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int4,
                            DType::q4_0,    DType::q4_1,    DType::q8_0,     DType::tq2_0};
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
  if (!result) ADD_FAILURE() << result.error().message;
  return std::move(result).value();
}

Matrix make(DType dtype, std::size_t rows, std::size_t cols, std::uint64_t seed) {
  if (is_block_format(dtype) && dtype != DType::q4_0 && dtype != DType::q4_1 && dtype != DType::q8_0 && dtype != DType::tq2_0)
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
    const Exec exec{*pool, kernels, arena};
    const MatmulJob job{&w, Tensor{y.data(), rows, w.rows()}, bias};
    matmul(exec, ConstTensor{x.data(), rows, w.cols()}, std::span(&job, 1));
    return y;
  }
  std::unique_ptr<ThreadPool> pool;
  const KernelTable& kernels;
  Arena arena;
};

std::vector<DType> all_types() {
  std::vector<DType> all(std::begin(kTypes), std::end(kTypes));
  all.insert(all.end(), std::begin(kFileTypes), std::end(kFileTypes));
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

}  // namespace
}  // namespace loom
