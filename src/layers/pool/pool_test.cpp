#include "layers/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/file.h"
#include "core/fp_environment.h"
#include "core/json.h"
#include "ops/all.h"

namespace loom {
namespace {

template <class T>
std::vector<T> list_of(const Json& list) {
  std::vector<T> out;
  for (const Json& v : list) out.push_back(static_cast<T>(as_number(v).value_or(0)));
  return out;
}

std::vector<float> run(const Layer& layer, const ConstView& x, int threads = 1) {
  const FpEnvironment environment;
  const auto pool = ThreadPool::create(threads).value();
  const Shape out = layer.output_shape(x.shape).value();
  Arena arena = Arena::create(4096).value();
  std::vector<float> y(out.elements());
  layer.forward(Exec{*pool, *kernels_for(usable_isas().back()).value(), arena}, {}, x, {y.data(), out});
  return y;
}

TEST(Pool, L_50_G_45_equals_pytorch) {
  const auto text = read_text_file(LOOM_SOURCE_DIR "/tests/golden/pool.json");
  ASSERT_TRUE(text) << text.error().message;
  const auto json = parse_json(*text);
  ASSERT_TRUE(json) << json.error().message;
  std::size_t count = 0;
  for (const Json& j : (*json)["cases"]) {
    const auto number = [&](const char* key) { return static_cast<std::size_t>(as_int(j[key]).value_or(99)); };
    PoolConfig c;
    c.axes = number("axes");
    c.average = as_bool(j["average"]).value();
    c.geometry.ceil_mode = as_bool(j["ceil_mode"]).value();
    c.geometry.count_include_pad = as_bool(j["count_include_pad"]).value();
    for (std::size_t a = 3 - c.axes; a < 3; ++a) {
      c.geometry.kernel[a] = number("kernel"), c.geometry.stride[a] = number("stride");
      c.geometry.padding[a] = number("padding"), c.geometry.dilation[a] = number("dilation");
    }
    const LayerPtr layer = Pool::create(c).value();
    const Shape x_shape = Shape::create(list_of<std::size_t>(j["x_shape"])).value();
    SCOPED_TRACE(fmt::format("case {}: {} over {} axes", count, layer->kind(), c.axes));
    ASSERT_EQ(layer->output_shape(x_shape).value(), Shape::create(list_of<std::size_t>(j["y_shape"])).value());
    const std::vector<float> x = list_of<float>(j["x"]), expected = list_of<float>(j["y"]), y = run(*layer, {x.data(), x_shape});
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], c.average ? 1e-6 : 0) << i;
    EXPECT_EQ(run(*layer, {x.data(), x_shape}, 3), y);
    ++count;
  }
  EXPECT_EQ(count, 36u);
}

TEST(Pool, L_50_global_and_chain64) {
  // 100 positions: the sum of the first 64 is rounded before the rest comes.
  std::vector<float> x(2 * 100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
  PoolConfig c{.axes = 2, .average = true, .global = true};
  const std::vector<float> mean = run(*Pool::create(c).value(), {x.data(), Shape::of({1, 2, 10, 10})});
  for (std::size_t plane = 0; plane < 2; ++plane) {
    float first = 0, second = 0;
    for (std::size_t i = 0; i < 64; ++i) first += x[plane * 100 + i];
    for (std::size_t i = 64; i < 100; ++i) second += x[plane * 100 + i];
    EXPECT_EQ(mean[plane], (0.0f + first + second) / 100.0f);
  }
  c.average = false;
  const std::vector<float> most = run(*Pool::create(c).value(), {x.data(), Shape::of({2, 10, 10})});
  EXPECT_EQ(most, (std::vector<float>{x[0], x[100]}));
}

TEST(Pool, N_06_a_nan_loses_and_padding_never_wins) {
  std::vector<float> x{-3, std::nanf(""), -5, -7};
  PoolConfig c{.axes = 1};
  c.geometry.kernel[2] = 2, c.geometry.stride[2] = 2, c.geometry.padding[2] = 1;
  EXPECT_EQ(run(*Pool::create(c).value(), {x.data(), Shape::of({1, 4})}), (std::vector<float>{-3, -5, -7}));
}

TEST(Pool, S_05_impossible_shapes_are_refused) {
  PoolConfig c{.axes = 2};
  c.geometry.kernel = {1, 3, 3};
  EXPECT_EQ(Pool::create(c).value()->output_shape(Shape::of({1, 2, 2, 9})).error().code, Code::ShapeMismatch);
  EXPECT_EQ(Pool::create(c).value()->output_shape(Shape::of({9, 9})).error().code, Code::ShapeMismatch);
  c.geometry.padding[2] = 2;
  EXPECT_EQ(Pool::create(c).value()->output_shape(Shape::of({1, 9, 9})).error().code, Code::InvalidConfig);
  c.geometry.padding[2] = 0, c.geometry.stride[1] = 0;
  EXPECT_EQ(Pool::create(c).value()->output_shape(Shape::of({1, 9, 9})).error().code, Code::InvalidConfig);
}

}  // namespace
}  // namespace loom
