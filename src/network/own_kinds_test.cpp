// A kind that a host registers has the bits of the built-in one with the same equations: in every type, on any number
// of threads, with every instruction set, on a device, in parts of a batch, copied and written and read.

#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/isa.h"
#include "layers/all.h"
#include "layers/tween.h"
#include "network/spec/clone.h"
#include "network/session/network_session.h"
#include "support/divided.h"
#include "support/network.h"
#include "support/null_device.h"
#include "support/own_kinds.h"

namespace loom::own_kinds_test {
namespace {

using test::read;
using test::seeded;

std::string swiglu_spec(std::string_view kind, std::string_view more = "") {
  return fmt::format(
      R"({{"seed":5,"layers":[{{"type":"{}","input_height":64,"output_height":96,"bias":true,"activation":"gelu"{}}}]}})",
      kind, more);
}

// Results of a pass and its backward, as bytes.
struct Left {
  std::vector<std::byte> y, dx;
  std::vector<std::vector<std::byte>> gradients;
  bool operator==(const Left&) const = default;
};

template <class V>
std::vector<std::byte> bytes_of_view(const V& v) {
  const auto* const data = static_cast<const std::byte*>(v.data);
  return {data, data + v.shape.elements() * bytes_of(v.element)};
}

Left run(Network& network, const Shape& input, const NetworkSessionOptions& options, const PassExtras& extras = {}) {
  Left left;
  auto session = NetworkSession::create(network, input, options);
  EXPECT_TRUE(session) << session.error().text();
  const Element element = network.settings.activations;
  std::vector<std::byte> x, dy;
  const auto values = [&](std::string_view name, const Shape& shape, std::vector<std::byte>& to) {
    with_element(element, [&]<class T>() {
      const auto v = seeded<T>(name, shape.elements());
      const auto bytes = std::as_bytes(std::span(v));
      to.assign(bytes.begin(), bytes.end());
    });
    return ConstView{to.data(), shape, element};
  };
  const auto y = (*session)->forward(values("x", input, x), extras);
  EXPECT_TRUE(y) << y.error().text();
  if (!y) return left;
  left.y = bytes_of_view(*y);
  (*session)->gradients().clear();
  const auto dx = (*session)->backward(values("dy", y->shape, dy));
  EXPECT_TRUE(dx) << dx.error().text();
  if (!dx) return left;
  left.dx = bytes_of_view(*dx);
  network.visit_weights([&](const std::string&, Weight& w, Layer&) {
    const auto* const g = static_cast<const std::byte*>((*session)->gradients().of(w));
    if (g != nullptr) left.gradients.emplace_back(g, g + w.elements() * bytes_of(element));  // not frozen
  });
  return left;
}

TEST(OwnKinds, a_hosts_swiglu_has_the_bits_of_the_built_in_one_in_every_type) {
  test::register_own_kinds();
  for (const DTypeInfo& type : kDTypes) {
    if (is_block_format(type.dtype)) continue;
    for (const Isa isa : {Isa::scalar, best_isa()})
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} {} {}", type.name, name(isa), threads));
        if (isa == Isa::scalar && threads == 2) continue;
        const Shape input = Shape::of({isa == Isa::scalar ? 3u : 16u, 32, 64});
        const std::string more = fmt::format(R"(,"dtype":"{}")", type.name);
        Network own = read(swiglu_spec("own_swiglu", more)), built_in = read(swiglu_spec("swiglu", more));
        NetworkSessionOptions options;
        options.threads = threads, options.isa = isa, options.backward = true;
        const test::ExpectDivided divided(threads);
        const Left mine = run(own, input, options);
        ASSERT_EQ(mine.gradients.size(), 6u);
        EXPECT_TRUE(mine == run(built_in, input, options));
      }
  }
}

TEST(OwnKinds, f64_networks_and_adapters_are_the_same_too) {
  test::register_own_kinds();
  for (const std::string_view more : {R"(,"dtype":"float64")", R"(,"adapters":[{"weight":"up.weight","rank":3}])"}) {
    Network own = read(swiglu_spec("own_swiglu", more)), built_in = read(swiglu_spec("swiglu", more));
    for (Network* network : {&own, &built_in}) {
      if (more.find("float64") != std::string_view::npos) network->settings.activations = Element::f64;
    }
    NetworkSessionOptions options;
    options.threads = 1, options.backward = true;
    EXPECT_TRUE(run(own, Shape::of({5, 64}), options) == run(built_in, Shape::of({5, 64}), options)) << more;
  }
}

TEST(OwnKinds, every_op_has_one_result_on_any_threads_and_instruction_set) {
  test::register_own_kinds();
  const Shape input = Shape::of({40, 24, 48});
  Network network = read(R"({"seed":3,"layers":[{"type":"own_everything","width":48}]})");
  PassExtras extras;
  extras.training = true, extras.step = 4;
  NetworkSessionOptions options;
  options.threads = 1, options.isa = Isa::scalar, options.backward = true;
  const Left expected = run(network, input, options, extras);
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2}) {
      options.isa = isa, options.threads = threads;
      const test::ExpectDivided divided(threads);
      EXPECT_TRUE(run(network, input, options, extras) == expected) << name(isa) << " " << threads;
    }
  // Without the gradient of the input, the gradients of weights have the same bits.
  options.input_gradient = false;  // work that only the input's gradient needs is left out
  const Left weights_alone = [&] {
    auto session = NetworkSession::create(network, input, options).value();
    const auto x = seeded<float>("x", input.elements());
    const auto y = session->forward({x.data(), input, Element::f32}, extras);
    const auto dy = seeded<float>("dy", y->shape.elements());
    session->gradients().clear();
    EXPECT_TRUE(session->backward({dy.data(), y->shape, Element::f32}));
    Left left{expected.y, expected.dx, {}};
    network.visit_weights([&](const std::string&, Weight& w, Layer&) {
      const auto* const g = static_cast<const std::byte*>(session->gradients().of(w));
      left.gradients.emplace_back(g, g + w.elements() * 4);
    });
    return left;
  }();
  EXPECT_TRUE(weights_alone == expected);
}

// Dropout counts samples from the beginning of the whole batch.
TEST(OwnKinds, part_of_a_batch_has_the_bits_of_the_whole) {
  test::register_own_kinds();
  Network network = read(R"({"seed":3,"layers":[{"type":"own_everything","width":6}]})");
  const Shape whole = Shape::of({32, 3, 6}), part = Shape::of({16, 3, 6});
  const auto x = seeded<float>("x", whole.elements());
  auto session = NetworkSession::create(network, whole, {1}).value();
  PassExtras extras;
  extras.training = true;
  const auto y = session->forward({x.data(), whole, Element::f32}, extras);
  ASSERT_TRUE(y) << y.error().text();
  const auto expected = bytes_of_view(*y);
  for (const std::size_t first : {0u, 16u}) {
    extras.first_sample = first;
    const auto some = session->forward({x.data() + first * 18, part, Element::f32}, extras);
    ASSERT_TRUE(some) << some.error().text();
    const auto got = bytes_of_view(*some);
    EXPECT_EQ(std::memcmp(got.data(), expected.data() + first * 18 * 4, got.size()), 0) << first;
  }
}

TEST(OwnKinds, no_pass_asks_for_a_value) {
  test::register_own_kinds();
  TweenRules secant, sign;
  sign.secant = false, sign.divides = sign.averages = true;
  for (const char* spec : {R"({"layers":[{"type":"own_swiglu","input_height":8,"output_height":6,"dtype":"int8"}]})",
                           R"({"layers":[{"type":"own_everything","width":8}]})"})
    for (const TweenRules* rules : std::array<const TweenRules*, 3>{nullptr, &secant, &sign})
      for (const bool training : {false, true}) {
        test::NullDevice device;
        Network network = read(spec);
        const Shape input = Shape::of({3, 4, 8});
        NetworkSessionOptions options;
        options.threads = 2, options.backward = true, options.tween = rules;
        options.carries_targets = rules != nullptr, options.device = &device;
        auto session = NetworkSession::create(network, input, options);
        ASSERT_TRUE(session) << session.error().text();
        const auto on_device = [&](const Shape& shape) {
          return ConstView{device.reserve(shape.elements() * 4), shape, Element::f32};
        };
        PassExtras extras;
        extras.training = training;
        const auto y = (*session)->forward(on_device(input), extras);
        ASSERT_TRUE(y) << y.error().text();
        const auto dx = (*session)->backward(on_device(y->shape));
        ASSERT_TRUE(dx) << dx.error().text();
      }
}

TEST(OwnKinds, copies_and_specs_keep_settings_and_values) {
  test::register_own_kinds();
  Network network = read(swiglu_spec("own_swiglu", R"(,"dtype":"ternary")"));
  auto copy = clone_network(network);
  ASSERT_TRUE(copy) << copy.error().text();
  auto again = network_from_json(dump_json(network_to_json(network)));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(dump_json(network_to_json(*copy)), dump_json(network_to_json(network)));
  EXPECT_EQ(dump_json(network_to_json(again->network)), dump_json(network_to_json(network)));
  EXPECT_NE(dump_json(network_to_json(network)).find(R"("activation":"gelu")"), std::string::npos);
  NetworkSessionOptions options;
  options.threads = 1, options.backward = true;
  EXPECT_TRUE(run(*copy, Shape::of({2, 64}), options) == run(network, Shape::of({2, 64}), options));
  EXPECT_TRUE(run(again->network, Shape::of({2, 64}), options) == run(network, Shape::of({2, 64}), options));
}

TEST(OwnKinds, settings_that_change_after_a_pass_change_the_next_one) {
  test::register_own_kinds();
  Network network = read(swiglu_spec("own_swiglu"));
  NetworkSessionOptions options;
  options.threads = 1, options.backward = true;
  const Left gelu = run(network, Shape::of({2, 64}), options);
  Activation* const activation = activation_setting(*network.cell(0).layer);
  ASSERT_NE(activation, nullptr);
  *activation = Activation::Relu;
  EXPECT_FALSE(run(network, Shape::of({2, 64}), options) == gelu);
}

TEST(OwnKinds, the_schema_has_them) {
  test::register_own_kinds();
  const std::string schema = dump_json(spec_schema());
  EXPECT_NE(schema.find("own_swiglu"), std::string::npos);
  EXPECT_NE(schema.find("Required. Features in between"), std::string::npos);
}

TEST(OwnKinds, keys_of_every_layer_are_refused) {
  for (const char* key : {"dtype", "name", "weights", "type", "z", "adapters", "target_z", "own"}) {
    ForeignDescription description;
    description.name = "own_key";
    description.settings.resize(1);
    description.settings[0].key = key;
    const auto done = register_kind(description, {{}, [](ForeignPass&) { return Result<void>(); }, {}});
    if (std::string_view(key) == "own") {
      EXPECT_TRUE(done);
      EXPECT_TRUE(remove_foreign_kind("own_key"));
    } else {
      ASSERT_FALSE(done) << key;
      EXPECT_EQ(done.error().code, Code::InvalidArgument);
    }
  }
}

// A layer whose callbacks do as `mode` says.
enum class Mode : std::uint8_t { Fine, NoResult, WrongShape, Fails, JoinsSamples, Takes, NotAll };
Mode g_mode = Mode::Fine;

TEST(OwnKinds, errors_of_callbacks_name_the_layer) {
  ForeignDescription description;
  description.name = "own_errors";
  const auto forward = [](ForeignPass& p) -> Result<void> {
    const auto x = p.input();
    switch (g_mode) {
      case Mode::NoResult: return {};
      case Mode::WrongShape: static_cast<void>(p.add(*x, *p.slice(*x, 1, 0, 1))); return {};  // the error stays
      case Mode::Fails: return fail(Code::NotFound, "a table is missing");
      case Mode::JoinsSamples: static_cast<void>(p.mean(*x, 0)); return {};
      case Mode::Takes: static_cast<void>(p.kept()); return {};
      case Mode::NotAll:
      case Mode::Fine: break;
    }
    LOOM_TRY_VOID(p.keep(*x));
    return p.result(*x);
  };
  const auto backward = [](ForeignPass& p) -> Result<void> {
    if (g_mode != Mode::NotAll) {
      LOOM_TRY_VOID(p.kept());
    }
    LOOM_TRY(const auto dy, p.input());
    return p.result(dy);
  };
  ASSERT_TRUE(register_kind(description, {{}, forward, backward}));
  {
    Network network = read(R"({"layers":[{"type":"dense","input_height":4,"output_height":4},{"type":"own_errors"}]})");
    const auto expect = [&](Mode mode, std::size_t rows, Code code, std::string_view text) {
      g_mode = mode;
      const auto planned = ForwardPlan::create(network, Shape::of({rows, 4}));
      ASSERT_FALSE(planned);
      EXPECT_EQ(planned.error().code, code);
      EXPECT_NE(planned.error().text().find(text), std::string::npos) << planned.error().text();
      EXPECT_NE(planned.error().text().find("/layers/1"), std::string::npos) << planned.error().text();
    };
    expect(Mode::NoResult, 2, Code::InvalidState, "own_errors: forward: no tensor was named as the result");
    expect(Mode::WrongShape, 3, Code::ShapeMismatch, "tensors [3, 4] and [3, 1]");
    expect(Mode::Fails, 4, Code::NotFound, "a table is missing");
    expect(Mode::JoinsSamples, 5, Code::InvalidArgument, "axis 0");
    expect(Mode::Takes, 6, Code::InvalidState, "backward alone");
    g_mode = Mode::NotAll;
    NetworkSessionOptions options;
    options.threads = 1, options.backward = true;
    auto session = NetworkSession::create(network, Shape::of({7, 4}), options);
    const std::vector<float> x(28);
    const auto y = !session ? tl::make_unexpected(session.error())
                            : (*session)->forward({x.data(), Shape::of({7, 4}), Element::f32});
    ASSERT_FALSE(y);
    EXPECT_NE(y.error().text().find("1 kept tensors were not asked for"), std::string::npos) << y.error().text();
    EXPECT_NE(y.error().text().find("/layers/1"), std::string::npos) << y.error().text();
    g_mode = Mode::Fine;
    const auto held = remove_foreign_kind("own_errors");
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, Code::InvalidState);
  }
  EXPECT_TRUE(remove_foreign_kind("own_errors"));
  const auto gone = network_from_json(R"({"layers":[{"type":"own_errors"}]})");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::UnknownName);
  EXPECT_NE(gone.error().text().find("layer type \"own_errors\" is neither built in nor registered"),
            std::string::npos);
}

// A host that answers otherwise every time: an error, where memory would not suffice or tensors do not fit.
TEST(OwnKinds, a_host_that_changes_its_mind_is_found_out) {
  static std::size_t ops = 0;
  ForeignDescription description;
  description.name = "own_moods";
  const auto forward = [](ForeignPass& p) -> Result<void> {
    LOOM_TRY(auto x, p.input());
    for (std::size_t i = 0; i <= ops; ++i) {
      LOOM_TRY(x, p.scale(x, 0.5));
      LOOM_TRY_VOID(p.keep(x));
    }
    return p.result(x);
  };
  const auto backward = [](ForeignPass& p) -> Result<void> {
    LOOM_TRY(auto x, p.input());
    for (std::size_t i = 0; i <= ops; ++i) {
      LOOM_TRY_VOID(p.kept());
      LOOM_TRY(x, p.scale(x, 0.5));
    }
    return p.result(x);
  };
  ASSERT_TRUE(register_kind(description, {{}, forward, backward}));
  {
    Network network = read(R"({"layers":[{"type":"own_moods"}]})");
    const Shape input = Shape::of({2, 1000});
    const std::vector<float> x(2000, 1.0F);
    NetworkSessionOptions options;
    options.threads = 1, options.backward = true;
    auto first = NetworkSession::create(network, input, options).value();
    ASSERT_TRUE(first->forward({x.data(), input, Element::f32}));
    ops = 100;
    // Other shapes drive out what the layer remembers.
    for (std::size_t rows = 3; rows < 60; ++rows)
      ASSERT_TRUE(network.cell(0).layer->output_shape(Shape::of({rows, 5})));
    const auto y = first->forward({x.data(), input, Element::f32});
    ASSERT_FALSE(y);
    EXPECT_EQ(y.error().code, Code::InvalidState);
    ASSERT_TRUE(first->backward({x.data(), input, Element::f32}).has_value() == false);
  }
  EXPECT_TRUE(remove_foreign_kind("own_moods"));
}

}  // namespace
}  // namespace loom::own_kinds_test
