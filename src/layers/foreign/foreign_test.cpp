#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "backend/cpu/isa.h"
#include "backend/rehearsal.h"
#include "ops/all.h"
#include "core/json.h"
#include "layers/all.h"
#include "layers/foreign/foreign_pass.h"

namespace loom::foreign_test {
namespace {

Result<void> same(ForeignPass& p) {
  LOOM_TRY(const auto x, p.input());
  return p.result(x);
}

Result<void> add(std::string_view name, ForeignCallbacks callbacks = {{}, same, same}) {
  ForeignDescription description;
  description.name = name;
  return add_foreign_kind(std::move(description), std::move(callbacks));
}

Code code_of(const Result<void>& done) { return done ? Code{} : done.error().code; }

TEST(ForeignKind, a_name_stands_for_one_kind) {
  ASSERT_TRUE(add("own_a"));
  for (const char* name :
       {"own_a", "owna", "own__a", "dense", "linear", "rms_norm", "", "Own", "1own", "own-b", "own b"})
    EXPECT_EQ(code_of(add(name)), Code::InvalidArgument) << name;
  EXPECT_EQ(code_of(add(std::string(61, 'a'))), Code::InvalidArgument);
  EXPECT_EQ(code_of(add("own_c", {})), Code::InvalidArgument);  // without forward
  const auto found = layer_kind("Own-A");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->name, "own_a");
  EXPECT_EQ(all_layer_kinds().size(), layer_kinds().size() + foreign_kinds().size());
  EXPECT_FALSE(is_builtin_kind("own_a"));
  EXPECT_TRUE(is_builtin_kind("Linear"));
  EXPECT_TRUE(remove_foreign_kind("own_a"));
  EXPECT_EQ(code_of(remove_foreign_kind("own_a")), Code::UnknownName);
  EXPECT_EQ(code_of(remove_foreign_kind("dense")), Code::UnknownName);
  const auto gone = layer_kind("own_a");
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find("\"own_a\" is neither built in nor registered"), std::string::npos);
}

TEST(ForeignKind, a_kind_with_layers_stays) {
  ASSERT_TRUE(add("own_held"));
  const LayerKind* const kind = layer_kind("own_held").value();
  {
    const LayerPtr layer = kind->fresh();
    EXPECT_TRUE(layer->build());
    EXPECT_EQ(code_of(remove_foreign_kind("own_held")), Code::InvalidState);
  }
  EXPECT_TRUE(remove_foreign_kind("own_held"));
  const LayerPtr late = kind->fresh();  // by somebody who found the kind before it went
  EXPECT_EQ(code_of(late->build()), Code::InvalidState);
  ASSERT_TRUE(add("own_held"));  // the name is free again
  EXPECT_TRUE(remove_foreign_kind("own_held"));
}

TEST(ForeignKind, threads_add_use_and_remove_kinds_at_the_same_time) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const std::string name = fmt::format("own_thread{}", t);
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(add(name));
        {
          const auto kind = layer_kind(name);
          ASSERT_TRUE(kind);
          const LayerPtr layer = (*kind)->fresh();
          ASSERT_TRUE(layer->build());
          EXPECT_EQ(layer->output_shape(Shape::of({2, 3})), Shape::of({2, 3}));
          EXPECT_FALSE(foreign_kinds().empty());
          EXPECT_EQ(code_of(remove_foreign_kind(name)), Code::InvalidState);
        }
        ASSERT_TRUE(remove_foreign_kind(name));
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(ForeignKind, a_description_that_makes_no_sense_is_refused_with_its_place) {
  const std::pair<const char*, std::string_view> cases[] = {
      {R"({})", "a kind named \"\""},
      {R"([])", "object"},
      {R"({"name":"a","colour":1})", "/colour: unknown key"},
      {R"({"name":"a","sample_axes":9})", "/sample_axes"},
      {R"({"name":"a","width_key":"w"})", "width_key"},
      {R"({"name":"a","settings":[{"key":"k","type":"text"}]})", "/settings/0/type"},
      {R"({"name":"a","settings":[{"key":"K"}]})", "a key \"K\""},
      {R"({"name":"a","settings":[{"key":"k"},{"key":"k"}]})", "twice"},
      {R"({"name":"a","settings":[{"key":"k","default":-1}]})", "/settings/0: k: default: expected an integer"},
      {R"({"name":"a","settings":[{"key":"k","min":0.5}]})", "a bound of 0.5"},
      {R"({"name":"a","settings":[{"key":"k","max":1e300}]})", "a bound of 1e+300"},
      {R"({"name":"a","settings":[{"key":"k","type":"number","default":"x"}]})", "expected a number"},
      {R"({"name":"a","settings":[{"key":"k","type":"boolean","default":1}]})", "expected true or false"},
      {R"({"name":"a","settings":[{"key":"k","type":"boolean","min":1}]})", "min and max"},
      {R"({"name":"a","settings":[{"key":"k","min":3,"max":2}]})", "/settings/0: k: min 3 is above max 2"},
      {R"({"name":"a","settings":[{"key":"k","type":"number","min":0.5,"max":-1}]})", "k: min 0.5 is above max -1"},
      {R"({"name":"a","settings":[{"key":"k","type":"choice"}]})", "a choice of nothing"},
      {R"({"name":"a","settings":[{"key":"k","type":"choice","choices":["x"],"default":"y"}]})", "one of the choices"},
      {R"({"name":"a","settings":[{"key":"k","type":"choice","choices":["x|y"]}]})", "a choice \"x|y\""},
      {R"({"name":"a","settings":[{"key":"k","type":"activation","default":"rely"}]})", "the name of an activation"},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = ForeignDescription::read(parse_json(text).value());
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(expected), std::string::npos) << text << ": " << read.error().text();
  }
}

// A layer of a kind whose forward and backward do what the test asks for.
class ForeignPasses : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(add("own_pass", {[](ForeignPass& p) -> Result<void> {
                                   LOOM_TRY_VOID(p.declare_weight("w", std::array<std::size_t, 2>{3, 4}, "", 0));
                                   return p.declare_weight("b", std::array<std::size_t, 1>{3}, "", 0);
                                 },
                                 same, same}));
    layer_ = layer_kind("own_pass").value()->fresh();
    ASSERT_TRUE(layer_->build());
  }
  void TearDown() override {
    layer_.reset();
    EXPECT_TRUE(remove_foreign_kind("own_pass"));
  }
  const ForeignLayer& layer() const { return static_cast<const ForeignLayer&>(*layer_); }
  // The error of one question, asked in a forward pass with x [2, 4] (of rows [2, 3, 4]).
  template <class F>
  void expect(Code code, F&& ask) {
    ForeignPass pass(layer(), Shape::of({2, 3, 4}), nullptr);
    const auto x = pass.input();
    ASSERT_TRUE(x);
    const auto done = ask(pass, *x);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, code) << done.error().text();
    // It is that of everything after it.
    const auto more = pass.add(*x, *x);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().message, done.error().message);
  }

  LayerPtr layer_;
};

using P = ForeignPass;
using Ref = ForeignPass::Ref;

TEST_F(ForeignPasses, every_question_that_makes_no_sense_has_its_error) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  using Sizes = std::vector<std::size_t>;
  expect(Code::UnknownKey, [](P& p, Ref) { return p.setting("width"); });
  expect(Code::InvalidState, [](P& p, Ref) { return p.declare_weight("v", Sizes{3}, "", 0); });
  expect(Code::InvalidArgument, [](P& p, Ref) { return p.keep(0); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.keep(x + 1); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.shape(x + (Ref{1} << 32)); });  // of another call
  expect(Code::InvalidState, [](P& p, Ref) { return p.kept(); });
  expect(Code::UnknownName, [](P& p, Ref x) { return p.matmul(x, "v", ""); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.matmul(x, "b", ""); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.matmul(x, "w", "w"); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.matmul(*p.matmul(x, "w", "b"), "w", ""); });
  expect(Code::InvalidState, [](P& p, Ref x) { return p.matmul_gradient(x, x, "w", ""); });
  expect(Code::InvalidState, [](P& p, Ref x) { return p.add_gradient("b", x); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.product(x, false, x, false); });
  expect(Code::InvalidArgument, [](P& p, Ref x) {
    const auto flat = p.reshape(x, Sizes{2, 12});
    return p.product(*flat, true, *flat, false);
  });
  expect(Code::NonFinite, [&](P& p, Ref x) { return p.scale(x, kNan); });
  expect(Code::NonFinite, [&](P& p, Ref x) { return p.fill(x, kNan); });
  expect(Code::UnknownName, [](P& p, Ref x) { return p.activate(x, "rely"); });
  expect(Code::OutOfRange, [&](P& p, Ref x) { return p.softmax(x, kNan); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.softmax(x, 0); });
  expect(Code::InvalidConfig, [&](P& p, Ref x) { return p.rms_norm(x, "", kNan); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.layer_norm(x, "b", "", 1e-5); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.permute(x, Sizes{1, 0, 2}); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.permute(x, Sizes{0, 1, 1}); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.permute(x, Sizes{0, 1}); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.permute(x, Sizes{0, 1, 7}); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.reshape(x, Sizes{6, 4}); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.reshape(x, Sizes{2, 13}); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.reshape(x, Sizes{}); });
  expect(Code::SizeOverflow, [](P& p, Ref x) { return p.reshape(x, Sizes{~std::size_t{0}, 16}); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.slice(x, 0, 0, 1); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.slice(x, 3, 0, 1); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.slice(x, 1, 2, 2); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.slice(x, 1, ~std::size_t{0}, 2); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.slice(x, 1, 1, 0); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.pad(x, 1, 1, 3); });
  expect(Code::SizeOverflow, [](P& p, Ref x) { return p.pad(x, 1, 1, ~std::size_t{0}); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.repeat(x, 1, 2); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.mean(x, 0); });
  expect(Code::OutOfRange, [](P& p, Ref x) { return p.dropout(x, 1, 0); });
  expect(Code::ShapeMismatch, [](P& p, Ref x) { return p.weight("w", *p.matmul(x, "w", "")); });
  expect(Code::InvalidState, [](P& p, Ref x) { return p.result(x) ? p.result(x) : Result<void>(); });
  expect(Code::InvalidArgument, [](P& p, Ref x) { return p.result(x + 9); });
  expect(Code::LimitExceeded, [](P& p, Ref x) {
    auto y = p.scale(x, 1);
    for (int i = 0; i < 5000 && y; ++i) y = p.scale(*y, 1);
    return y;
  });
}

// A host may name an extent that no memory has: the plan says so at once.
TEST_F(ForeignPasses, a_long_axis_is_planned_without_walking_along_it) {
  for (const bool over : {false, true}) {
    const auto kind = over ? "own_long_b" : "own_long_a";
    ASSERT_TRUE(add(kind, {{},
                           [over](ForeignPass& p) -> Result<void> {
                             LOOM_TRY(const auto x, p.input());
                             LOOM_TRY(const auto wide, p.reshape(x, std::array<std::size_t, 3>{2, 1, 3}));
                             LOOM_TRY(const auto y, p.repeat(wide, 1, std::size_t{1} << 30));
                             LOOM_TRY(const auto m, p.mean(y, over ? 2 : 1));
                             return p.result(m);
                           },
                           {}}));
    {
      const LayerPtr layer = layer_kind(kind).value()->fresh();
      ASSERT_TRUE(layer->build());
      const Shape in = Shape::of({2, 3});
      const auto out = layer->output_shape(in);
      ASSERT_TRUE(out) << out.error().text();
      const auto pool = ThreadPool::create(1).value();
      Arena none;
      const Exec like{*pool, *kernels_for(best_isa()).value(), none};
      const auto begin = std::chrono::steady_clock::now();
      const auto needed = rehearse(like, [&](const Exec& exec) {
        const loom::Run run(exec);
        layer->forward(run, {rehearsal_input(), in, Element::f32},
                       {const_cast<void*>(rehearsal_input()), *out, Element::f32});
      });
      ASSERT_TRUE(needed) << needed.error().text();
      EXPECT_GE(needed->tensors, std::size_t{6} << 32);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    }
    EXPECT_TRUE(remove_foreign_kind(kind));
  }
}

TEST_F(ForeignPasses, weights_that_make_no_sense_are_refused) {
  using Sizes = std::vector<std::size_t>;
  struct Given {
    std::string_view name;
    Sizes extents;
    std::string_view init;
    double size;
    Code code;
  };
  for (const Given& g :
       {Given{"", {3}, "", 0, Code::InvalidArgument}, Given{"a b", {3}, "", 0, Code::InvalidArgument},
        Given{".a", {3}, "", 0, Code::InvalidArgument}, Given{"a", {}, "", 0, Code::ShapeMismatch},
        Given{"a", {1, 2, 3}, "", 0, Code::ShapeMismatch}, Given{"a", {0}, "", 0, Code::ShapeMismatch},
        Given{"a", {~std::size_t{0}, 2}, "", 0, Code::SizeOverflow},
        Given{"a", {3}, "identity", 0, Code::InvalidArgument}, Given{"a", {3}, "best", 0, Code::UnknownName},
        Given{"a", {3}, "normal", -1, Code::OutOfRange}}) {
    ForeignPass::Weights weights;
    ForeignPass pass(layer(), weights);
    const auto done = pass.declare_weight(g.name, g.extents, g.init, g.size);
    ASSERT_FALSE(done) << g.name << g.init;
    EXPECT_EQ(done.error().code, g.code) << done.error().text();
    EXPECT_FALSE(pass.input());
  }
  ForeignPass::Weights weights;
  ForeignPass pass(layer(), weights);
  EXPECT_TRUE(pass.declare_weight("a", Sizes{3}, "", 0));
  EXPECT_EQ(code_of(pass.declare_weight("a", Sizes{3}, "", 0)), Code::InvalidArgument);
}

}  // namespace
}  // namespace loom::foreign_test
