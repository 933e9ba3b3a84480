#include "layers/conv/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/file.h"
#include "core/fp_environment.h"
#include "core/json.h"
#include "core/philox.h"
#include "ops/all.h"
#include "ops/matmul/matmul.h"

namespace loom {
namespace {

std::vector<float> floats_of(const Json& list) {
  std::vector<float> out;
  for (const Json& v : list) out.push_back(static_cast<float>(as_number(v).value_or(std::nan(""))));
  return out;
}
std::vector<std::size_t> sizes_of(const Json& list) {
  std::vector<std::size_t> out;
  for (const Json& v : list) out.push_back(static_cast<std::size_t>(as_int(v).value_or(0)));
  return out;
}

// One case of tests/golden/conv.json, made by PyTorch in f64 (tools/golden/conv.py).
struct Case {
  ConvConfig config;
  Shape x_shape, y_shape;
  std::vector<float> x, weight, bias, y;
  std::string text;
};

std::vector<Case> golden_cases() {
  std::vector<Case> cases;
  const auto text = read_text_file(LOOM_SOURCE_DIR "/tests/golden/conv.json");
  const auto json = text ? parse_json(*text) : Result<Json>(tl::make_unexpected(text.error()));
  if (!json) {
    ADD_FAILURE() << json.error().message;
    return cases;
  }
  for (const Json& j : (*json)["cases"]) {
    const auto number = [&](const char* key) { return static_cast<std::size_t>(as_int(j[key]).value_or(99)); };
    Case c;
    c.config.axes = number("axes");
    c.config.groups = number("groups");
    c.config.filters = number("filters");
    c.x_shape = Shape::create(sizes_of(j["x_shape"])).value();
    c.y_shape = Shape::create(sizes_of(j["y_shape"])).value();
    c.config.channels = c.x_shape[1];
    ConvGeometry& g = c.config.geometry;
    g.transposed = as_bool(j["transposed"]).value_or(false);
    const std::vector<std::size_t> kernel = sizes_of(j["kernel"]);
    for (std::size_t a = 0; a < c.config.axes; ++a) {
      const std::size_t to = 3 - c.config.axes + a;
      g.kernel[to] = kernel[a];
      g.stride[to] = number("stride"), g.padding[to] = number("padding"), g.dilation[to] = number("dilation");
      g.output_padding[to] = number("output_padding");
    }
    c.x = floats_of(j["x"]), c.weight = floats_of(j["weight"]), c.bias = floats_of(j["bias"]), c.y = floats_of(j["y"]);
    c.text = fmt::format("{}d {} stride {} padding {} dilation {} groups {}", c.config.axes, g.transposed ? "transposed" : "plain", number("stride"),
                         number("padding"), number("dilation"), c.config.groups);
    cases.push_back(std::move(c));
  }
  EXPECT_EQ(cases.size(), 24u);
  return cases;
}

LayerPtr make(const Case& c, DType dtype) {
  const std::size_t rows = c.config.filters / c.config.groups, cols = c.weight.size() / c.config.filters;
  std::vector<MatrixPtr> weights;
  for (std::size_t group = 0; group < c.config.groups; ++group)
    weights.push_back(std::make_shared<const Matrix>(
        Matrix::from_floats(dtype, std::span(c.weight).subspan(group * rows * cols, rows * cols), rows, cols).value()));
  return Conv::create(c.config, std::move(weights), c.bias).value();
}

std::vector<float> run(const Layer& layer, const ConstView& x, Isa isa = usable_isas().back(), int threads = 1) {
  const FpEnvironment environment;
  const auto pool = ThreadPool::create(threads).value();
  const Shape out = layer.output_shape(x.shape).value();
  Arena arena = Arena::create(layer.scratch_bytes({1, threads}, x.shape)).value();
  std::vector<float> y(out.elements());
  layer.forward(Exec{*pool, *kernels_for(isa).value(), arena}, {}, x, {y.data(), out});
  return y;
}

double largest(const std::vector<float>& v) {
  double size = 0;
  for (const float x : v) size = std::max(size, std::abs(static_cast<double>(x)));
  return size;
}

TEST(Conv, L_30_L_40_equals_pytorch) {
  for (const Case& c : golden_cases())
    for (const DType dtype : {DType::float32, DType::float64}) {
      const LayerPtr layer = make(c, dtype);
      const auto shape = layer->output_shape(c.x_shape);
      ASSERT_TRUE(shape) << c.text << ": " << shape.error().message;
      ASSERT_EQ(*shape, c.y_shape) << c.text;
      const std::vector<float> y = run(*layer, {c.x.data(), c.x_shape});
      const double bound = (dtype == DType::float64 ? 2e-7 : 1e-6) * largest(c.y);   // f64 sums are rounded once, with the bias twice
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], c.y[i], bound) << c.text << " " << name(dtype) << " element " << i;
    }
}

// Each type against f32 weights that hold its decoded values: what is left is the rounding of inputs and sums.
TEST(Conv, L_02_G_25_every_type_computes_both_directions) {
  for (const Case& c : golden_cases()) {
    const std::size_t rows = c.config.filters, cols = c.weight.size() / rows;
    for (std::size_t t = 0; t < kNumTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      Case decoded = c;
      const std::size_t group_rows = rows / c.config.groups;
      for (std::size_t group = 0; group < c.config.groups; ++group) {
        const std::span<float> part = std::span(decoded.weight).subspan(group * group_rows * cols, group_rows * cols);
        std::ranges::copy(dequantize(quantize(dtype, part, group_rows, cols).value()), part.begin());
      }
      const std::vector<float> exact = run(*make(decoded, DType::float32), {c.x.data(), c.x_shape});
      const std::vector<float> y = run(*make(c, dtype), {c.x.data(), c.x_shape});
      const bool rounds_inputs = info(dtype).compute == ComputeClass::Int;
      const double bound = (rounds_inputs ? 2e-2 : 1e-6) * largest(exact);
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], exact[i], bound) << c.text << " " << name(dtype) << " element " << i;
    }
  }
}

TEST(Conv, N_01_same_bits_on_every_target_thread_count_and_batch) {
  for (const Case& c : golden_cases())
    for (const DType dtype : {DType::float32, DType::int8, DType::int4, DType::binary}) {
      const LayerPtr layer = make(c, dtype);
      const std::vector<float> y = run(*layer, {c.x.data(), c.x_shape}, Isa::scalar);
      for (const Isa isa : usable_isas()) EXPECT_EQ(run(*layer, {c.x.data(), c.x_shape}, isa), y) << c.text << " on " << name(isa);
      EXPECT_EQ(run(*layer, {c.x.data(), c.x_shape}, usable_isas().back(), 3), y) << c.text << ", three threads";
      // The last sample alone, without a batch axis.
      const std::size_t samples = c.x_shape[0], in = c.x.size() / samples, out = y.size() / samples;
      const Shape one = Shape::create(c.x_shape.extents().subspan(1)).value();
      const std::vector<float> alone = run(*layer, {c.x.data() + (samples - 1) * in, one});
      EXPECT_EQ(alone, std::vector<float>(y.end() - static_cast<std::ptrdiff_t>(out), y.end())) << c.text << ", one sample";
    }
}

// More output positions than are unfolded at a time.
TEST(Conv, L_30_long_inputs_are_cut_into_chunks) {
  const RandomStream random{.seed = 3};
  std::vector<float> x(2 * 1000), w(5 * 2 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random.uniform(i) - 0.5f;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = random.uniform(5000 + i) - 0.5f;
  ConvConfig config{.axes = 1, .channels = 2, .filters = 5};
  config.geometry.kernel[2] = 3;
  const LayerPtr layer = Conv::create(config, {std::make_shared<const Matrix>(Matrix::from_floats(DType::float32, w, 5, 6).value())}, {}).value();
  const std::vector<float> y = run(*layer, {x.data(), Shape::of({1, 2, 1000})});
  for (std::size_t f = 0; f < 5; ++f)
    for (std::size_t o = 0; o < 998; ++o) {
      double sum = 0;
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t k = 0; k < 3; ++k) sum += static_cast<double>(w[f * 6 + c * 3 + k]) * static_cast<double>(x[c * 1000 + o + k]);
      ASSERT_NEAR(y[f * 998 + o], sum, 1e-6) << f << " " << o;
    }
}

TEST(Conv, L_31_S_05_impossible_shapes_are_refused) {
  const auto matrix = std::make_shared<const Matrix>(Matrix::from_floats(DType::float32, std::vector<float>(4 * 18), 4, 18).value());
  ConvConfig config{.axes = 2, .channels = 2, .filters = 4};
  config.geometry.kernel = {1, 3, 3};
  const LayerPtr layer = Conv::create(config, {matrix}, {}).value();
  EXPECT_EQ(layer->output_shape(Shape::of({1, 3, 8, 8})).error().code, Code::ShapeMismatch);   // channels
  EXPECT_EQ(layer->output_shape(Shape::of({8, 8})).error().code, Code::ShapeMismatch);         // rank
  EXPECT_EQ(layer->output_shape(Shape::of({1, 2, 2, 8})).error().code, Code::ShapeMismatch);   // kernel larger than the input
  config.groups = 3;
  EXPECT_EQ(Conv::create(config, {matrix, matrix, matrix}, {}).error().code, Code::InvalidConfig);
  config.groups = 1;
  EXPECT_EQ(Conv::create(config, {matrix}, {1.0f}).error().code, Code::ShapeMismatch);
  config.geometry.stride[2] = 0;
  EXPECT_EQ(Conv::create(config, {matrix}, {}).value()->output_shape(Shape::of({1, 2, 8, 8})).error().code, Code::InvalidConfig);
  config.geometry.stride[2] = 1, config.geometry.transposed = true, config.geometry.output_padding[2] = 1;
  EXPECT_EQ(Conv::create(config, {matrix}, {}).value()->output_shape(Shape::of({1, 2, 8, 8})).error().code, Code::InvalidConfig);
}

}  // namespace
}  // namespace loom
