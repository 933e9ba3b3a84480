#include "learning/loss.h"

#include <cmath>

#include "learning/losses/row.h"
#include "learning/test_data.h"

namespace loom::loss_test {
namespace {

LossConfig config_of(const Json& json) {
  LossConfig c;
  c.kind = loss_from_name(test::text_or(json, "name", "")).value();
  c.delta = test::number_or(json, "delta", c.delta);
  c.label_smoothing = test::number_or(json, "label_smoothing", c.label_smoothing);
  c.temperature = test::number_or(json, "temperature", c.temperature);
  if (const Json* v = find(json, "ignore_index")) c.ignore_index = as_int(*v);
  if (const Json* v = find(json, "class_weights")) c.class_weights = test::numbers<double>(*v);
  if (const Json* v = find(json, "heads")) c.heads = test::numbers<std::size_t>(*v);
  return c;
}

// The heads are for who has them.
Loss named(const std::string& name, const std::vector<std::size_t>& heads) {
  const LossKind kind = loss_from_name(name).value();
  return Loss::create({.kind = kind, .heads = kind == LossKind::MultiHeadSoftmax ? heads : std::vector<std::size_t>()})
      .value();
}

// Tensors of one call, owned.
template <class T>
struct Batch {
  Batch(const Shape& s, std::vector<T> outputs, std::vector<T> targets)
      : shape(s), o(std::move(outputs)), t(std::move(targets)), g(o.size(), T(77)), tg(o.size(), T(77)) {}
  LossCall call() {
    LossCall c{.output = {o.data(), shape, element_of<T>}};
    if (!t.empty()) c.target = {t.data(), shape, element_of<T>};
    c.classes = classes;
    c.sample_weights = weights;
    c.gradient = {g.data(), shape.rows(), shape.cols(), element_of<T>};
    return c;
  }
  Tensor target_gradient() { return {tg.data(), shape.rows(), shape.cols(), element_of<T>}; }
  Shape shape;
  std::vector<T> o, t, g, tg;
  std::vector<std::int64_t> classes;
  std::vector<double> weights;
};

template <class T>
std::vector<T> list_or_none(const Json& c, const char* key) {
  const Json* v = find(c, key);
  return v ? test::numbers<T>(*v) : std::vector<T>{};
}

template <class T>
Batch<T> batch_of(const Json& c) {
  Batch<T> b(Shape::create(test::numbers<std::size_t>(*find(c, "shape"))).value(), test::numbers<T>(*find(c, "output")),
             list_or_none<T>(c, "target"));
  b.classes = list_or_none<std::int64_t>(c, "classes");
  b.weights = list_or_none<double>(c, "sample_weights");
  return b;
}

template <class T>
void expect_golden(double bound) {
  const Json golden = test::learning_golden("losses");
  std::size_t cases = 0;
  for (const Json& c : *find(golden, "cases")) {
    ++cases;
    SCOPED_TRACE(*as_string(*find(c, "name")));
    test::Machine m;
    const auto loss = Loss::create(config_of(*find(c, "config")));
    ASSERT_TRUE(loss) << loss.error().text();
    Batch<T> b = batch_of<T>(c);
    LossCall call = b.call();
    const std::vector<float> mask = list_or_none<float>(c, "mask");
    if (!mask.empty()) call.mask = {mask.data(), call.output.shape.rows(), mask.size() / call.output.shape.rows()};
    const Json* other = find(c, "target_gradient");
    if (other) call.target_gradient = b.target_gradient();
    const auto value = loss->evaluate(m.exec, call);
    ASSERT_TRUE(value) << value.error().text();
    const double want = as_number(*find(c, "value")).value();
    EXPECT_NEAR(value->value, want, bound * std::abs(want));
    test::expect_near(b.g, test::numbers<double>(*find(c, "gradient")), bound);
    if (other) test::expect_near(b.tg, test::numbers<double>(*other), bound);
    // Without gradients the value is the same.
    call.gradient = call.target_gradient = {};
    EXPECT_EQ(loss->evaluate(m.exec, call)->value, value->value);
  }
  EXPECT_EQ(cases, 28u);
}

// T-10
TEST(Loss, every_loss_in_f64_is_that_of_the_framework) { expect_golden<double>(1e-12); }
// Half a unit in the last place (6e-8) for each rounding on the way: a difference, a function of at most 2 ulp, a
// quotient, the factor and the product with it; a row's value has four roundings of the fold besides.
// T-10
TEST(Loss, every_loss_in_f32_is_that_of_the_framework) { expect_golden<float>(8 * 6e-8); }

std::vector<float> seeded(std::size_t n, std::size_t salt) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = static_cast<float>((i * 2654435761u + salt * 40503u) % 1999) / 2000.0f + 0.0001f;
  return v;
}

const std::vector<std::string> kNames = {"mse",    "mae",        "huber",  "crossentropy", "softmax_crossentropy",
                                         "bce",    "bce_logits", "kl_div", "hinge",        "multi_head_softmax_ce",
                                         "cosine", "contrastive"};

TEST(Loss, every_loss_gives_the_same_bits_with_any_number_of_threads) {  // N-01
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {100, 33});
    Batch<float> a(Shape::of({300, 133}), seeded(300 * 133, 1), seeded(300 * 133, 2)), b = a;
    test::Machine one(1, 1 << 23), four(4, 1 << 23);
    const test::ExpectDivided divided(4);
    EXPECT_EQ(loss.evaluate(one.exec, a.call())->value, loss.evaluate(four.exec, b.call())->value) << name;
    EXPECT_EQ(a.g, b.g) << name;
  }
}

// Rows beyond a block of lanes16 (1 024 elements), in one and in several parts, on every instruction set.
template <class T>
void expect_same_bits_on_every_isa(const std::string& name) {
  const Loss loss = named(name, {1500, 333});
  const std::vector<float> o = seeded(40 * 1833, 11), t = seeded(40 * 1833, 12);
  const auto bits = [&](Isa isa, int threads) {
    test::Machine m(threads, 1 << 23);
    const Exec exec{*m.pool, *kernels_for(isa).value(), m.arena};
    Batch<T> b(Shape::of({40, 1833}), {o.begin(), o.end()}, {t.begin(), t.end()});
    std::vector<T> out = {static_cast<T>(loss.evaluate(exec, b.call())->value)};
    out.insert(out.end(), b.g.begin(), b.g.end());
    return out;
  };
  const std::vector<T> want = bits(usable_isas().front(), 1);
  for (const Isa isa : usable_isas()) {
    EXPECT_EQ(bits(isa, 1), want) << name << " " << loom::name(isa);
    EXPECT_EQ(bits(isa, 3), want) << name << " " << loom::name(isa) << ", three threads";
  }
}

TEST(Loss, every_loss_gives_the_same_bits_on_every_instruction_set) {  // N-01
  const test::ExpectDivided divided(3);
  for (const std::string& name : kNames)
    expect_same_bits_on_every_isa<float>(name), expect_same_bits_on_every_isa<double>(name);
}

// These inputs are outputs of a network near its goal: nearly right classes, directions, probabilities. The formulas of
// f64 lose all digits of these in f32. Each input is exact in f32, so f64 says what is true: entries within 8 roundings
// of f32, relatively.
TEST(Loss, a_loss_near_its_least_has_its_digits_in_f32) {  // T-10
  struct Near {
    const char* name;
    std::vector<float> o, t;
  };
  const std::vector<Near> all = {
      {"softmax_crossentropy", {0.5f, -18.25f, -24, -30.5f}, {1, 0, 0, 0}},
      {"multi_head_softmax_ce", {9.5f, -8.25f, -14, -6.5f}, {1, 0, 0, 1}},
      {"bce", {0x1.fffff0p-1f, 0x1p-20f, 0x1.fffffep-1f, 1}, {1, 0, 1, 1}},
      {"bce_logits", {19, -23.5f, 30.25f, -31}, {1, 0, 1, 0}},
      {"kl_div", {0.25f, 0.5f, 0.125f, 0.125f}, {0x1.00001p-2f, 0x1.00002p-1f, 0x1.00002p-3f, 0x1.00004p-3f}},
      {"cosine", {1, 2, 3, -4}, {1.0001f, 2, 3, -3.9999f}},
      {"mse", {1, 2, 3, -4}, {1.0001f, 2, 3, -3.9999f}},
      {"huber", {1, 2, 3, -4}, {1.0001f, 2, 3, -3.9999f}}};
  constexpr double kBound = 8 * 6e-8;
  for (const Near& near : all) {
    const Loss loss = named(near.name, {2, 2});
    test::Machine m;
    Batch<float> f(Shape::of({1, 4}), near.o, near.t);
    Batch<double> d(Shape::of({1, 4}), {near.o.begin(), near.o.end()}, {near.t.begin(), near.t.end()});
    const double want = loss.evaluate(m.exec, d.call())->value, got = loss.evaluate(m.exec, f.call())->value;
    // Two unit vectors are rounded before they are subtracted: their distance d is known to half an ulp of 1, so d^2 /
    // 2 to d ulp.
    const double floor = near.name == std::string("cosine") ? 2 * std::sqrt(2 * want) * 6e-8 : 0;
    EXPECT_NEAR(got, want, kBound * want + floor) << near.name;
    EXPECT_GT(want, 0) << near.name;
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(f.g[i], d.g[i], kBound * std::abs(d.g[i]) + (floor == 0 ? 0x1p-51 : 6e-8))
          << near.name << " entry " << i;
  }
}

TEST(Loss, gradients_are_those_of_differences) {  // T-10
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {3, 5});
    test::Machine m;
    const std::vector<float> o = seeded(24, 21), t = seeded(24, 22);
    Batch<double> b(Shape::of({3, 8}), {o.begin(), o.end()}, {t.begin(), t.end()});
    for (double& v : b.o) v = 0.3 + 0.4 * v;  // away from the ends of probabilities, where third derivatives are large
    b.weights = {0.5, 2, 1};
    ASSERT_TRUE(loss.evaluate(m.exec, b.call()));
    const std::vector<double> gradient = b.g;
    // its square times a sixth of a third derivative below 600, and the rounding of values below 10, are below 1e-8
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < b.o.size(); ++i) {
      const double at = b.o[i];
      b.o[i] = at + kStep;
      const double above = loss.evaluate(m.exec, b.call())->value;
      b.o[i] = at - kStep;
      const double below = loss.evaluate(m.exec, b.call())->value;
      b.o[i] = at;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-8) << name << " entry " << i;
    }
  }
}

TEST(Loss, infinities_and_squares_beyond_f32_show_in_the_value) {  // T-04
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {2, 2});
    for (std::size_t at = 0; at < 4; ++at) {
      test::Machine m;
      Batch<float> b(Shape::of({2, 4}), seeded(8, 8), {1, 0, 0, 1, 0.5, 0.5, 1, 0});
      b.o[at] = inf;
      const double value = loss.evaluate(m.exec, b.call())->value;
      // A probability of any size is one at its margin, and a margin beyond 1 costs nothing.
      if (name == "bce" || (name == "hinge" && b.t[at] != 0)) continue;
      EXPECT_FALSE(std::isfinite(value)) << name << " " << at;
    }
  }
  for (const char* name : {"mse", "cosine", "contrastive"}) {
    const Loss loss = named(name, {});
    test::Machine m;
    Batch<float> b(Shape::of({2, 4}), {1e25f, 1, 2, 3, 4, 5, 6, 7}, seeded(8, 8));
    EXPECT_FALSE(std::isfinite(loss.evaluate(m.exec, b.call())->value)) << name;
  }
}

TEST(Loss, huge_logits_and_logits_of_minus_infinity_have_a_loss) {  // T-10
  const float inf = std::numeric_limits<float>::infinity();
  const Loss loss = named("ce", {});
  test::Machine m;
  Batch<float> b(Shape::of({3, 3}), {3e38f, -3e38f, 0, -inf, 2, 2, -3e38f, -3e38f, -3e38f}, {});
  b.classes = {0, 1, 2};
  const double value = loss.evaluate(m.exec, b.call())->value;
  EXPECT_NEAR(value, (0 + std::log(2.0) + std::log(3.0)) / 3, 1e-6);
  EXPECT_EQ(b.g[3], 0.0f);
  EXPECT_NEAR(b.g[4], -1.0 / 6, 1e-7);
  EXPECT_NEAR(b.g[8], -2.0 / 9, 1e-7);
  b.classes = {1, 0, 2};  // of probability 0
  EXPECT_FALSE(std::isfinite(loss.evaluate(m.exec, b.call())->value));
  // A target tensor that gives them no weight asks nothing of them.
  Batch<float> soft(Shape::of({1, 3}), {-inf, 2, 2}, {0, 0.5f, 0.5f});
  EXPECT_NEAR(loss.evaluate(m.exec, soft.call())->value, std::log(2.0), 1e-6);
}

TEST(Loss, sample_weights_multiply_value_and_gradient_of_every_loss) {  // T-10
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {3, 5});
    test::Machine m;
    Batch<double> plain(Shape::of({2, 3, 8}), {}, {});
    const std::vector<float> o = seeded(48, 3), t = seeded(48, 4);
    plain.o.assign(o.begin(), o.end());
    plain.t.assign(t.begin(), t.end());
    plain.g.resize(48);
    Batch<double> weighted = plain, first = plain;
    weighted.weights = {3, 0};
    first.weights = {1, 0};
    const double value = loss.evaluate(m.exec, weighted.call())->value;
    EXPECT_NEAR(value, 3 * loss.evaluate(m.exec, first.call())->value, 1e-14 * std::abs(value)) << name;
    ASSERT_TRUE(loss.evaluate(m.exec, plain.call()));
    for (std::size_t i = 0; i < 48; ++i) {
      EXPECT_NEAR(weighted.g[i], 3 * first.g[i], 1e-14) << name;
      EXPECT_NEAR(weighted.g[i], i < 24 ? 3 * plain.g[i] : 0, 1e-14) << name;
    }
  }
}

// Rows are summed together or one by one, as their scales are.
TEST(Loss, weights_of_1_change_no_bit) {  // T-10
  for (const std::string& name : kNames)
    for (const std::size_t cols : {4, 15, 16, 37}) {
      const Loss loss = named(name, {3, cols - 3});
      test::Machine m;
      Batch<float> a(Shape::of({5, 7, cols}), seeded(35 * cols, 3), seeded(35 * cols, 4)), b = a, c = a;
      b.weights = {1, 1, 1, 1, 1}, c.weights = {1, 1, 0.5, 1, 1};
      EXPECT_EQ(loss.evaluate(m.exec, a.call())->value, loss.evaluate(m.exec, b.call())->value) << name << cols;
      EXPECT_EQ(a.g, b.g) << name << cols;
      ASSERT_TRUE(loss.evaluate(m.exec, c.call()));
      for (std::size_t i = 0; i < a.g.size() && !loss.across_samples(); ++i) {
        ASSERT_EQ(c.g[i], i / (7 * cols) == 2 ? a.g[i] / 2 : a.g[i]) << name << cols;
      }
    }
}

TEST(Loss, batches_with_their_joint_count_give_the_gradients_of_one) {  // T-41
  for (const char* name : {"mse", "softmax_crossentropy", "kl_div", "cosine"}) {
    const Loss loss = named(name, {});
    test::Machine m;
    Batch<float> whole(Shape::of({4, 9}), seeded(36, 5), seeded(36, 6));
    const double count = loss.evaluate(m.exec, whole.call())->count;
    for (std::size_t half = 0; half < 2; ++half) {
      const auto part = [&](const std::vector<float>& v) {
        return std::vector<float>(v.begin() + 18 * half, v.begin() + 18 * (half + 1));
      };
      Batch<float> b(Shape::of({2, 9}), part(whole.o), part(whole.t));
      LossCall call = b.call();
      call.joint_count = count;
      ASSERT_TRUE(loss.evaluate(m.exec, call));
      EXPECT_EQ(b.g, part(whole.g)) << name;
    }
  }
}

TEST(Loss, a_batch_whose_rows_are_all_ignored_is_0) {  // T-10
  const Loss loss = Loss::create({.kind = LossKind::SoftmaxCrossEntropy, .ignore_index = -100}).value();
  test::Machine m;
  Batch<float> b(Shape::of({2, 3}), seeded(6, 7), {});
  b.classes = {-100, -100};
  const LossValue value = loss.evaluate(m.exec, b.call()).value();
  EXPECT_EQ(value.value, 0.0);
  EXPECT_EQ(value.count, 0.0);
  EXPECT_EQ(b.g, std::vector<float>(6, 0.0f));
}

TEST(Loss, what_is_not_finite_shows_in_the_value) {  // T-04
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {2, 2});
    test::Machine m;
    Batch<float> b(Shape::of({2, 4}), seeded(8, 8), {1, 0, 0, 1, 0.5, 0.5, 1, 0});
    b.o[1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(loss.evaluate(m.exec, b.call())->value)) << name;
  }
}

TEST(Loss, nothing_subnormal_or_negative_zero_comes_out) {  // N-02
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {2, 2});
    test::Machine m;
    Batch<float> b(Shape::of({2, 4}), {0x1p-51f, -0x1p-51f, 0, 0x1.8p-51f, 100, -100, 0x1p-30f, 1},
                   {0, 0x1p-51f, 0x1p-51f, 1, 0, 1, 0, 0x1p-40f});
    LossCall call = b.call();
    call.joint_count = 1e12;
    ASSERT_TRUE(loss.evaluate(m.exec, call));
    for (const float g : b.g)
      EXPECT_TRUE(std::isnan(g) || std::abs(g) >= 0x1p-51f || (g == 0 && !std::signbit(g))) << name << " " << g;
  }
}

TEST(Loss, a_host_that_flushes_subnormals_gets_the_same_bits) {  // N-02
  for (const std::string& name : kNames) {
    const auto bits = [&]<class T>(T least) {
      const Loss loss = named(name, {2, 2});
      test::Machine m;
      Batch<T> b(Shape::of({2, 4}), {least, -least, 0, T(1.5) * least, 700, -700, 9 * least, 1},
                 {0, least, 2 * least, 1, 0, 1, 0, 64 * least});
      LossCall call = b.call();
      call.joint_count = 1e9;
      const double value = loss.evaluate(m.exec, call)->value;
      std::vector<double> out(b.g.begin(), b.g.end());
      out.push_back(value);
      for (double& v : out) v = v == v ? v : -777;  // a NaN equals nothing
      return out;
    };
    EXPECT_EQ(test::flushed([&] { return bits(0x1p-51f); }), bits(0x1p-51f)) << name;
    EXPECT_EQ(test::flushed([&] { return bits(0x1p-485); }), bits(0x1p-485)) << name;
  }
}

TEST(Loss, names_and_aliases) {  // J-21
  const std::pair<const char*, const char*> pairs[] = {{"mean_squared_error", "mse"},
                                                       {"MSE", "mse"},
                                                       {"crossentropy", "crossentropy"},
                                                       {"cross_entropy_probs", "crossentropy"},
                                                       {"cross_entropy", "softmax_crossentropy"},
                                                       {"ce", "softmax_crossentropy"},
                                                       {"binary_crossentropy", "bce"},
                                                       {"InfoNCE", "contrastive"}};
  for (const auto& [alias, canonical] : pairs) EXPECT_EQ(name(loss_from_name(alias).value()), canonical);
  // Two losses are called so, which differ in more than spelling.
  for (const char* unknown : {"CrossEntropy", "cross-entropy", "msee", "", "mse\n",
                              "a name of more than sixty-four bytes is no name of a loss, however it goes on"}) {
    const auto loss = loss_from_name(unknown);
    ASSERT_FALSE(loss) << unknown;
    EXPECT_EQ(loss.error().code, Code::UnknownName);
    EXPECT_NE(loss.error().text().find("nearest"), std::string::npos);
  }
}

TEST(Loss, EveryKindHasItsRowAndName) {
  ASSERT_EQ(loss_rows().size(), kLossNames.size());
  for (std::size_t i = 0; i < kLossNames.size(); ++i) {
    const auto kind = static_cast<LossKind>(i);
    EXPECT_EQ(loss_rows()[i]->kind, kind) << name(kind);
    EXPECT_EQ(loss_from_name(name(kind)).value(), kind);
    EXPECT_EQ(name(kind).find('|'), std::string_view::npos);
  }
}

// A setting that the loss never reads is an error of the caller.
TEST(Loss, settings_of_other_losses_are_errors) {  // T-10
  const std::vector<std::pair<LossConfig, const char*>> bad = {
      {{.kind = LossKind::Mse, .delta = 2}, "mse has no delta"},
      {{.kind = LossKind::Mae, .label_smoothing = 0.1}, "mae has no label_smoothing"},
      {{.kind = LossKind::Bce, .ignore_index = 0}, "bce has no ignore_index"},
      {{.kind = LossKind::CrossEntropy, .class_weights = {1, 2}}, "crossentropy has no class_weights"},
      {{.kind = LossKind::SoftmaxCrossEntropy, .heads = {2}}, "softmax_crossentropy has no heads"},
      {{.kind = LossKind::Cosine, .temperature = 0.1}, "cosine has no temperature"},
      {{.kind = LossKind::MultiHeadSoftmax, .label_smoothing = 1, .heads = {2}},
       "multi_head_softmax_ce has no label_smoothing"}};
  for (const auto& [config, message] : bad) {
    const auto loss = Loss::create(config);
    ASSERT_FALSE(loss) << message;
    EXPECT_EQ(loss.error().code, Code::InvalidConfig);
    EXPECT_EQ(loss.error().message, message);
  }
}

TEST(Loss, targets_of_binary_losses_are_probabilities) {  // T-10
  const std::vector<float> good = {0, 1, 0.5F, std::numeric_limits<float>::quiet_NaN()}, over = {0, 1.5F};
  const std::vector<double> below = {1, -0.25};
  const ConstView fits{good.data(), Shape::of({2, 2}), Element::f32},
      high{over.data(), Shape::of({1, 2}), Element::f32}, low{below.data(), Shape::of({1, 2}), Element::f64};
  for (const LossKind kind : {LossKind::Bce, LossKind::BceLogits}) {
    const Loss loss = Loss::create({.kind = kind}).value();
    EXPECT_TRUE(loss.check_values(fits));
    EXPECT_TRUE(loss.check_values({}));
    EXPECT_EQ(loss.check_values(high).error().text(),
              std::string(name(kind)) + ": target 1 is 1.5, expected a number from 0 to 1");
    EXPECT_EQ(loss.check_values(low).error().code, Code::OutOfRange);
  }
  EXPECT_TRUE(Loss::create({}).value().check_values(high));
  for (const LossKind kind : {LossKind::KlDiv, LossKind::CrossEntropy}) {
    const Loss loss = Loss::create({.kind = kind}).value();
    EXPECT_TRUE(loss.check_values(high));
    EXPECT_EQ(loss.check_values(low).error().code, Code::OutOfRange);
  }
}

TEST(Loss, hostile_settings_are_errors) {  // J-23
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<LossConfig> bad = {{.kind = LossKind::Huber, .delta = 0},
                                       {.kind = LossKind::Huber, .delta = nan},
                                       {.kind = LossKind::SoftmaxCrossEntropy, .label_smoothing = 1.5},
                                       {.kind = LossKind::SoftmaxCrossEntropy, .class_weights = {1, -1}},
                                       {.kind = LossKind::MultiHeadSoftmax},
                                       {.kind = LossKind::MultiHeadSoftmax, .heads = {3, 0}},
                                       {.kind = LossKind::MultiHeadSoftmax, .heads = {~std::size_t{0}, 2}},
                                       {.kind = LossKind::Contrastive, .temperature = 0}};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto loss = Loss::create(bad[i]);
    ASSERT_FALSE(loss) << i;
    EXPECT_EQ(loss.error().code, Code::InvalidConfig) << i;
  }
}

TEST(Loss, hostile_calls_are_errors) {  // J-23
  test::Machine m;
  const Loss mse = Loss::create({}).value(),
             ce = Loss::create({.kind = LossKind::SoftmaxCrossEntropy, .class_weights = {1, 1, 1}}).value();
  const Loss heads = Loss::create({.kind = LossKind::MultiHeadSoftmax, .heads = {1, 2}}).value();
  Batch<float> b(Shape::of({2, 3}), seeded(6, 1), seeded(6, 2));
  const auto code = [&](const Loss& loss, auto&& change) {
    LossCall call = b.call();
    change(call);
    const auto result = loss.evaluate(m.exec, call);
    return result ? Code{} : result.error().code;
  };
  const std::vector<std::int64_t> low = {0, -1}, high = {3, 0}, few = {0}, fine = {0, 1};
  const auto classes = [](const std::vector<std::int64_t>& list) {
    return [&list](LossCall& c) { c.classes = list, c.target = {}; };
  };
  EXPECT_EQ(code(ce, classes(fine)), Code{});
  EXPECT_EQ(code(ce, classes(low)), Code::IndexOutOfRange);
  EXPECT_EQ(code(ce, classes(high)), Code::IndexOutOfRange);
  EXPECT_EQ(code(ce, classes(few)), Code::ShapeMismatch);
  EXPECT_EQ(code(mse, classes(fine)), Code::InvalidArgument);
  EXPECT_EQ(code(heads, classes(fine)), Code::ShapeMismatch);
  EXPECT_EQ(code(ce, [&](LossCall& c) { c.classes = fine; }), Code::InvalidArgument);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.target = {}; }), Code::InvalidArgument);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.target.shape = Shape::of({3, 2}); }), Code::ShapeMismatch);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.target.element = Element::f64; }), Code::ShapeMismatch);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.gradient.rows = 1; }), Code::ShapeMismatch);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.target_gradient = c.gradient; }), Code::InvalidArgument);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.joint_count = -1; }), Code::InvalidArgument);
  EXPECT_EQ(code(mse, [](LossCall& c) { c.mask = c.output; }), Code::ShapeMismatch);
  EXPECT_EQ(code(heads, [](LossCall& c) { c.mask = c.output; }), Code::ShapeMismatch);
  const std::vector<double> three = {1, 1, 1}, negative = {1, -1};
  EXPECT_EQ(code(mse, [&](LossCall& c) { c.sample_weights = three; }), Code::ShapeMismatch);
  EXPECT_EQ(code(mse, [&](LossCall& c) { c.sample_weights = negative; }), Code::InvalidArgument);
  b.shape = Shape::of({3, 2});
  EXPECT_EQ(code(ce, [](LossCall&) {}), Code::ShapeMismatch);
  EXPECT_EQ(code(heads, [](LossCall&) {}), Code::ShapeMismatch);
}

// A rehearsal takes what the pass takes and reads no tensor.
TEST(Loss, a_rehearsal_plans_the_scratch) {  // T-10
  for (const std::string& name : kNames) {
    const Loss loss = named(name, {3, 6});
    Arena measuring = Arena::measuring();
    test::Machine m;
    const Exec rehearsal{*m.pool, m.exec.kernels, measuring};
    Batch<float> b(Shape::of({7, 9}), seeded(63, 1), seeded(63, 2));
    LossCall call = b.call();
    call.output.data = call.target.data = measuring.take<float>(63);
    ASSERT_TRUE(loss.evaluate(rehearsal, call)) << name;
    ASSERT_TRUE(loss.evaluate(m.exec, b.call())) << name;
    EXPECT_GE(measuring.peak().tensors, m.arena.peak().tensors) << name;
    EXPECT_GE(measuring.peak().notes, m.arena.peak().notes) << name;
  }
}

}  // namespace
}  // namespace loom::loss_test
