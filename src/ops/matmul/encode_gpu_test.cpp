// Matrices that a graphics card encodes have the bytes that quantize() gives them on the host.

#include <cmath>

#include "ops/dispatch.h"
#include "ops/gpu_test.h"
#include "ops/matmul/matrix_gpu.h"

namespace loom::encode_test {
namespace {

using Bytes = std::vector<std::byte>;
using Parts = std::vector<std::shared_ptr<const Matrix>>;

// Panels, then the scales and zero points of rows, in host memory.
std::vector<std::span<const std::byte>> pieces_of(const Matrix& m) {
  const std::size_t factor_bytes = m.panels() * kPanelRows * sizeof(float);
  std::vector<std::span<const std::byte>> pieces = {{m.panel(0), m.panels() * m.panel_bytes()}};
  if (m.row_scales() != nullptr) pieces.push_back(std::as_bytes(std::span(m.row_scales(), factor_bytes / 4)));
  if (m.row_zeros() != nullptr) pieces.push_back(std::as_bytes(std::span(m.row_zeros(), factor_bytes / 4)));
  return pieces;
}

// The matrices of `parts`, whose rows are one below the other, as the host encodes them.
Parts encoded_on_host(DType dtype, ScaleSpan span, std::span<const float> values, std::size_t cols, std::size_t parts) {
  const QuantizedMatrix q = quantize(dtype, values, values.size() / cols, cols, span).value();
  Parts out;
  for (std::size_t p = 0; p < parts; ++p) {
    QuantizedMatrix part = q;
    part.rows = q.rows / parts;
    const auto cut = [&](auto& list) {
      if (list.size() <= 1) return;
      const auto each = static_cast<std::ptrdiff_t>(list.size() / parts), first = static_cast<std::ptrdiff_t>(p) * each;
      list = {list.begin() + first, list.begin() + first + each};
    };
    cut(part.codes);
    if (q.spans_per_row() != 0) cut(part.scales), cut(part.zero_points);
    out.push_back(std::make_shared<Matrix>(Matrix::from_quantized(part).value()));
  }
  return out;
}

struct Case {
  DType dtype;
  ScaleSpan span;
  std::size_t rows, cols, parts;
};

// Encodes on the device, into matrices that hold other values, and compares the result.
class Encoder {
 public:
  Encoder(gpu::GpuDevice& device, const Case& c) : device_(device), case_(c), arena_(&device) {
    std::vector<float> other(c.rows * c.cols);
    for (std::size_t i = 0; i < other.size(); ++i) other[i] = static_cast<float>(i % 13) - 5;
    device_parts_ = encoded_on_host(c.dtype, c.span, other, c.cols, c.parts);
    values_ = Memory::create(&device, other.size() * 4).value();
  }

  void expect_equal(std::span<const float> values, std::string_view what) {
    values_.write(0, std::as_bytes(values));
    const Parts wanted = encoded_on_host(case_.dtype, case_.span, values, case_.cols, case_.parts);
    const Exec exec{*pool_, *kernels_for(best_isa()).value(), arena_};
    const auto encode = [&](const Exec& now) {
      for (const Exec& host : dispatch(now, [&] { gpu::refill(now, device_parts_, case_.span, values_.data()); }))
        if (host.computes()) put(wanted);
    };
    ASSERT_TRUE(plan_scratch(exec, encode));
    encode(exec);
    ASSERT_FALSE(exec.status) << exec.status->text();
    for (std::size_t p = 0; p < wanted.size(); ++p) {
      const auto expected = pieces_of(*wanted[p]), here = pieces_of(*device_parts_[p]);
      for (std::size_t i = 0; i < here.size(); ++i) {
        Bytes got(here[i].size());
        device_.read(device_.place(device_parts_[p]->token(), here[i]).value(), got);
        const auto differs = std::ranges::mismatch(got, expected[i]).in1;
        EXPECT_TRUE(differs == got.end())
            << name(case_.dtype) << " " << case_.rows << " x " << case_.cols << " span "
            << static_cast<int>(case_.span.granularity) << " " << case_.span.group_size << ", " << what << ": piece "
            << i << " of part " << p << ", byte " << differs - got.begin();
      }
    }
    ASSERT_TRUE(device_.check());
  }

 private:
  // Writes the bytes that the kernels of the host would write.
  void put(const Parts& wanted) {
    for (std::size_t p = 0; p < wanted.size(); ++p) {
      const auto from = pieces_of(*wanted[p]), here = pieces_of(*device_parts_[p]);
      for (std::size_t i = 0; i < here.size(); ++i)
        std::ranges::copy(from[i], const_cast<std::byte*>(device_.place(device_parts_[p]->token(), here[i]).value()));
    }
  }

  gpu::GpuDevice& device_;
  Case case_;
  std::shared_ptr<ThreadPool> pool_ = ThreadPool::create(2).value();
  Arena arena_;
  Parts device_parts_;
  Memory values_;
};

struct Hostile {
  std::string_view name;
  std::function<float(std::size_t row, std::size_t col, float uniform)> value;  // uniform: in -1 .. 1
};

// A row's two values a and -b, of which (a + b) / 255 is in the middle of two floats as soon as a + b has been
// rounded to f64, which loses what b has beside an integer.
float beside_middle(std::size_t row, std::size_t col) {
  if (col > 1) return 0;
  const std::uint64_t rest = row % 2 == 0 ? 1 : 3;
  const float beside = row / 2 % 3 == 0 ? 0 : row / 2 % 3 == 1 ? 0x1p-22f : -0x1p-22f;
  for (std::uint64_t middle = (std::uint64_t{1} << 24) + 2 * row * 7919 + 1;; middle += 2)
    if (const std::uint64_t sum = 255 * middle; sum % 512 == rest)
      return col == 0 ? static_cast<float>(sum - rest) : -(static_cast<float>(rest) + beside);
}

std::vector<Hostile> hostile_values() {
  const auto power = [](float u, int from, int to) {
    return std::ldexp(1 + std::abs(u), from + static_cast<int>(static_cast<float>(to - from) *
                                                               std::abs(u * 7919 - std::floor(u * 7919)))) *
           (u < 0 ? -1.0f : 1.0f);
  };
  return {
      {"uniform", [](auto, auto, float u) { return u; }},
      {"zeros", [](auto, auto, float) { return 0.0f; }},
      {"minus zeros", [](auto, auto, float) { return -0.0f; }},
      {"rows of zeros", [](std::size_t r, auto, float u) { return r % 3 == 0 ? u : 0; }},
      {"halves", [](auto, std::size_t c, float u) { return c == 0 ? 127.0f : std::floor(u * 254) / 2; }},
      {"sevenths", [](auto, std::size_t c, float u) { return c % 32 == 0 ? -7.0f : std::floor(u * 14) / 2; }},
      {"eighths", [](auto, std::size_t c, float u) { return c == 0 ? 448.0f : std::floor(u * 8 * 448) / 8; }},
      {"bytes", [](auto, std::size_t c, float u) { return c == 0   ? 200.0f
                                                          : c == 1 ? -55
                                                                   : std::floor(u * 110) / 2; }},
      {"one huge", [](std::size_t r, std::size_t c, float u) { return c == 0 && r % 2 == 0 ? -3e38f : u; }},
      {"huge", [](auto, auto, float u) { return u * 3.4e38f; }},
      {"all sizes", [=](auto, auto, float u) { return power(u, -149, 127); }},
      {"halfs", [=](auto, auto, float u) { return power(u, -28, 17); }},
      {"small", [=](auto, auto, float u) { return power(u, -54, -44); }},
      {"around 2^-24", [=](auto, auto, float u) { return power(u, -25, -19); }},
      {"apart", [=](auto, std::size_t c,
                    float u) { return c % 2 == 0 ? power(std::abs(u), 20, 22) : power(-std::abs(u), -12, -6); }},
      {"subnormal", [](auto, auto, float u) { return u * 1e-39f; }},
      {"one size",
       [](std::size_t r, auto, float u) {
         return std::abs(u) < 0.2f ? 0 : u < 0 ? -1.7f : r % 2 == 0 ? 1.7f : -1.7f;
       }},
      {"least size", [](auto, auto, float u) { return u < 0 ? -0x1p-51f : 0x1p-51f; }},
      {"above 0", [](auto, auto, float u) { return 3 + u; }},
      {"below 0", [](auto, auto, float u) { return -3 + u; }},
      {"beside the middle", [](std::size_t r, std::size_t c, float) { return beside_middle(r, c); }},
  };
}

std::vector<float> values_of(const Hostile& hostile, std::size_t rows, std::size_t cols) {
  const RandomStream random{.seed = 11};
  std::vector<float> v(rows * cols);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = hostile.value(i / cols, i % cols, 2 * random.uniform(i) - 1);
  return v;
}

void expect_bytes_of_cpu(gpu::GpuDevice& device, const Case& c) {
  Encoder encoder(device, c);
  for (const Hostile& hostile : hostile_values())
    encoder.expect_equal(values_of(hostile, c.rows, c.cols), hostile.name);
}

constexpr DType kNumbers[] = {DType::int8, DType::uint8, DType::int4,    DType::uint4,
                              DType::int2, DType::uint2, DType::ternary, DType::binary};
constexpr DType kFloats[] = {DType::float16, DType::bfloat16, DType::fp8e4m3, DType::fp8e5m2, DType::fp4};

TEST(Gpu, weights_as_trainings_have_them_are_encoded) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const Case cases[] = {{DType::int8, {}, 48, 2100, 1},    {DType::int8, {Granularity::Group, 32}, 48, 2100, 1},
                        {DType::binary, {}, 48, 2100, 1},  {DType::binary, {Granularity::Tensor}, 49, 2099, 1},
                        {DType::ternary, {}, 95, 1001, 1}, {DType::fp8e4m3, {}, 48, 2100, 1}};
  for (const Case& c : cases)
    Encoder(*device, c).expect_equal(values_of(hostile_values().front(), c.rows, c.cols), "uniform");
}

TEST(Gpu, hostile_matrices_of_every_type_are_encoded_to_the_bytes_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::span<const DType> list : {std::span<const DType>(kNumbers), std::span<const DType>(kFloats)})
    for (const DType dtype : list) {
      EXPECT_TRUE(gpu::encodes(dtype));
      expect_bytes_of_cpu(*device, {dtype, {}, 17, 70, 1});
      expect_bytes_of_cpu(*device, {dtype, {}, 1, 33, 1});
      expect_bytes_of_cpu(*device, {dtype, {}, 48, 2100, 1});
      expect_bytes_of_cpu(*device, {dtype, {}, 15, 1, 3});
    }
  for (const DType dtype : {DType::float64, DType::int16, DType::uint64, DType::q4_k})
    EXPECT_FALSE(gpu::encodes(dtype));
}

TEST(Gpu, hostile_scales_of_every_span_are_those_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const DType dtype : kNumbers) {
    for (const std::size_t group : {32, 64, 128})
      expect_bytes_of_cpu(*device, {dtype, {Granularity::Group, group}, 34, 261, 2});
    for (const Granularity granularity : {Granularity::Row, Granularity::Tensor}) {
      expect_bytes_of_cpu(*device, {dtype, {granularity}, 34, 97, 2});
      expect_bytes_of_cpu(*device, {dtype, {granularity}, 2, 20000, 1});
    }
  }
  for (const DType dtype : {DType::fp8e4m3, DType::fp8e5m2})
    expect_bytes_of_cpu(*device, {dtype, {Granularity::Tensor}, 34, 97, 2});
  for (const std::size_t group : {32, 64, 128})
    expect_bytes_of_cpu(*device, {DType::fp4, {Granularity::Group, group}, 34, 261, 2});
}

// Norms have their weights as vectors, which are encoded and decoded.
TEST(Gpu, hostile_vectors_become_what_their_codes_stand_for) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::span<const DType> list : {std::span<const DType>(kNumbers), std::span<const DType>(kFloats)})
    for (const DType dtype : list)
      for (const Hostile& hostile : hostile_values()) {
        SCOPED_TRACE(fmt::format("{} {}", name(dtype), hostile.name));
        const std::size_t count = 131;
        const op_test::Values inputs[] = {{1, count, values_of(hostile, 1, count)}};
        QuantizedMatrix like;
        like.dtype = dtype, like.rows = 1, like.cols = count, like.span = {Granularity::Tensor};
        op_test::expect_equal(*device, inputs, 1, count, [&](const Exec& exec, op_test::Inputs in, Tensor y) {
          for (const Exec& host : dispatch(exec, [&] { gpu::requantize(exec, like, in[0].data, y.data); })) {
            if (!host.computes()) continue;
            const std::span<const float> from{in[0].as<float>(), count};
            const QuantizedMatrix codes = quantize(dtype, from, 1, count, {Granularity::Tensor}).value();
            std::ranges::copy(dequantize(codes), y.as<float>());
          }
        });
      }
}

}  // namespace
}  // namespace loom::encode_test
