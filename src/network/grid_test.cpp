// Properties of whole networks: addresses, one hash whatever runs beside, shapes that do not fit, parts in other types.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "core/json.h"
#include "core/sha256.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/divided.h"
#include "support/network.h"

namespace loom::grid_test {
namespace {

using test::read;
using test::seeded;

std::string list_of(const std::string& layers, const std::string& more = "") {
  return "{" + more + R"("layers":[)" + layers + "]}";
}
// Digest of an output, the input's gradient and the weights' gradients.
std::string digest(Network& network, const Shape& shape, int threads, Isa isa) {
  const auto session = NetworkSession::create(network, shape, {threads, isa, true}).value();
  const std::vector<float> x = seeded<float>("x", shape.elements());
  const auto y = session->forward({x.data(), shape});
  EXPECT_TRUE(y) << y.error().text();
  Sha256 hash;
  hash.update_floats({y->as<float>(), y->shape.elements()});
  const std::vector<float> dy = seeded<float>("dy", y->shape.elements());
  const auto dx = session->backward({dy.data(), y->shape});
  EXPECT_TRUE(dx);
  hash.update_floats({dx->as<float>(), dx->shape.elements()});
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    if (const auto* g = static_cast<const float*>(session->gradients().of(w))) hash.update_floats({g, w.elements()});
  });
  return to_hex(hash.finish());
}

TEST(Network, every_way_to_a_layer_checks_its_own_bounds) {  // V-03, G-01
  Network network = Network::create({2, 3, 4, 5}).value();
  ASSERT_TRUE(network.place(
      {1, 2, 3, 4},
      layer_from_json(*parse_json(R"({"type":"sequential","sequential_layers":[{"type":"softmax"}]})")).value()));
  EXPECT_EQ(network.layer_at(119).value(), network.layer({1, 2, 3, 4}).value());
  EXPECT_EQ(network.layer_at("layers.119").value(), network.layer_at(119).value());
  EXPECT_EQ(network.layer_at("layers.119.sequential_layers.0").value()->kind(), "softmax");
  EXPECT_EQ(network.layer_at(120).error().code, Code::OutOfRange);
  EXPECT_EQ(network.layer_at(~std::size_t{0}).error().code, Code::OutOfRange);
  EXPECT_EQ(network.layer_at(118).error().code, Code::NotFound);
  for (const char* path : {"", "layers.118", "layers.119.", "layers.119.sequential_layers.1", "119"})
    EXPECT_EQ(network.layer_at(path).error().code, Code::NotFound) << path;
  for (const Address& a : {Address{2, 0, 0, 0}, Address{0, 3, 0, 0}, Address{0, 0, 4, 0}, Address{0, 0, 0, 5}})
    EXPECT_EQ(network.layer(a).error().code, Code::OutOfRange);
  EXPECT_DEATH(static_cast<void>(network.cell(120)), "");
}

// Loom has no setting for tiles: only threads and instruction sets divide the work.
TEST(Network, a_grid_of_216_cells_has_one_hash) {  // G-02, V-10
  std::string layers;
  for (int i = 0; i < 216; ++i)
    layers += fmt::format(
        R"({}{{"z":{},"y":{},"x":{},"l":0,"type":"dense","input_height":8,"output_height":8,"activation":"tanh"}})",
        i == 0 ? "" : ",", i / 36, i / 6 % 6, i % 6);
  Network network = read(R"({"depth":6,"rows":6,"cols":6,"layers_per_cell":1,"seed":2,"layers":[)" + layers + "]}");
  const Shape shape = Shape::of({5, 8}), wide = Shape::of({4100, 8});  // threads divide the wide one alone
  const std::string wanted = digest(network, shape, 1, usable_isas().front()),
                    wanted_wide = digest(network, wide, 1, best_isa());
  for (const Isa isa : usable_isas()) EXPECT_EQ(digest(network, shape, 1, isa), wanted) << name(isa);
  for (const int threads : {3, 8}) {
    EXPECT_EQ(digest(network, shape, threads, best_isa()), wanted) << threads;
    const test::ExpectDivided divided(threads);
    EXPECT_EQ(digest(network, wide, threads, best_isa()), wanted_wide) << threads;
  }
}

TEST(Network, a_matrix_of_odd_extents_has_one_hash) {  // G-03, N-03
  Network network = read(list_of(
      R"({"type":"dense","input_height":777,"output_height":1031,"bias":true,"activation":"gelu"})", R"("seed":2,)"));
  const Shape shape = Shape::of({35, 777});
  const std::string wanted = digest(network, shape, 1, usable_isas().front());
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3, 7}) {
      const test::ExpectDivided divided(threads);
      EXPECT_EQ(digest(network, shape, threads, isa), wanted) << name(isa) << threads;
    }
}

TEST(Network, a_flat_vector_is_refused_where_the_layer_wants_axes) {  // V-12, G-20
  const std::pair<const char*, Shape> cases[] = {
      {R"({"type":"cnn1","input_channels":2,"filters":2,"kernel_size":1})", Shape::of({1, 2, 6})},
      {R"({"type":"cnn2","input_channels":2,"filters":2,"kernel_size":1})", Shape::of({1, 2, 3, 4})},
      {R"({"type":"convtransposed2","input_channels":2,"filters":2,"kernel_size":1})", Shape::of({1, 2, 3, 4})},
      {R"({"type":"maxpool","kernel_size":[2,2]})", Shape::of({1, 2, 4, 4})},
      {R"({"type":"lstm","input_height":4,"output_height":4})", Shape::of({1, 3, 4})},
      {R"({"type":"gru","input_height":4,"output_height":4})", Shape::of({1, 3, 4})},
      {R"({"type":"mha","d_model":4,"num_heads":1})", Shape::of({1, 3, 4})},
      {R"({"type":"rmsnorm","input_height":4})", Shape::of({3, 4})},
      {R"({"type":"layernorm","input_height":4})", Shape::of({3, 4})},
      {R"({"type":"dense","input_height":4,"output_height":2})", Shape::of({3, 4})},
  };
  for (const auto& [layer, shape] : cases) {
    Network network = read(list_of(layer));
    const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
    const std::vector<float> x = seeded<float>("x", shape.elements());
    ASSERT_TRUE(session->forward({x.data(), shape})) << layer;
    for (const Shape& flat : {Shape::of({shape.elements()}), Shape::of({1, shape.elements()})}) {
      const auto y = session->forward({x.data(), flat});
      ASSERT_FALSE(y) << layer << " " << flat.text();
      EXPECT_EQ(y.error().code, Code::ShapeMismatch) << layer;
    }
    EXPECT_TRUE(session->forward({x.data(), shape})) << layer << ": a refused call spoils nothing";
  }
}

TEST(Network, forwards_of_one_network_side_by_side_are_those_in_a_row) {  // G-32, N-11
  Network network = read(list_of(
      R"({"type":"mha","d_model":32,"num_heads":4,"num_kv_heads":2},{"type":"lstm","input_height":32,"output_height":16},
    {"type":"dense","input_height":16,"output_height":8,"dtype":"int8"})",
      R"("seed":4,)"));
  const Shape shape = Shape::of({2, 9, 32});
  constexpr std::size_t kThreads = 4, kCalls = 200;
  const auto run = [&](std::size_t first, std::size_t count, std::vector<std::vector<float>>& to) {
    const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
    for (std::size_t i = first; i < first + count; ++i) {
      const std::vector<float> x = seeded<float>(fmt::format("call {}", i), shape.elements());
      const auto y = session->forward({x.data(), shape});
      if (y) to[i].assign(y->as<float>(), y->as<float>() + y->shape.elements());
    }
  };
  std::vector<std::vector<float>> alone(kThreads * kCalls), together(kThreads * kCalls);
  run(0, alone.size(), alone);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { run(t * kCalls, kCalls, together); });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(alone[i], together[i]) << i;
  EXPECT_FALSE(alone[0].empty());
}

// One-hot draws of softmax((x + G) / T) are the categorical distribution softmax(x), whatever T (Maddison et al. 2014).
TEST(Softmax, gumbel_draws_follow_the_probabilities_within_4_sigma) {  // G-40
  constexpr std::size_t kDraws = 100000, kClasses = 6;
  Network network = read(
      list_of(R"({"type":"softmax","softmax_type":"gumbel","gumbel_hard":true,"temperature":0.7})", R"("seed":12,)"));
  const Shape shape = Shape::of({kDraws, kClasses});
  const double logits[kClasses] = {0, 1, -1, 2, 0.5, -3};
  std::vector<float> x;
  for (std::size_t i = 0; i < kDraws; ++i) x.insert(x.end(), logits, logits + kClasses);
  const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
  const auto y = session->forward({x.data(), shape}, {.training = true});
  ASSERT_TRUE(y);
  double counts[kClasses] = {}, total = 0;
  for (std::size_t i = 0; i < kDraws * kClasses; ++i) {
    const float v = y->as<float>()[i];
    ASSERT_TRUE(v == 0.0f || v == 1.0f);
    counts[i % kClasses] += static_cast<double>(v);
  }
  for (const double z : logits) total += std::exp(z);
  for (std::size_t c = 0; c < kClasses; ++c) {
    const double p = std::exp(logits[c]) / total;
    EXPECT_NEAR(counts[c] / kDraws, p, 4 * std::sqrt(p * (1 - p) / kDraws)) << c;
  }
}

// Two passes: the variance of small noise round a large mean is not lost.
TEST(LayerNorm, noise_round_a_mean_of_ten_thousand) {  // G-43, L-90
  constexpr std::size_t kWidth = 300;
  for (const char* kind : {"layernorm", "groupnorm", "batchnorm"}) {
    const bool is_layer = std::string_view(kind) == "layernorm";
    Network network = read(list_of(fmt::format(R"({{"type":"{}","input_height":{}{}}})", kind, is_layer ? kWidth : 1,
                                               std::string_view(kind) == "groupnorm" ? R"(,"num_groups":1)" : "")));
    const Shape shape = is_layer ? Shape::of({1, kWidth}) : Shape::of({1, 1, kWidth});
    std::vector<float> x = seeded<float>("noise", kWidth);
    for (float& v : x) v = 1e4f + v;
    const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
    const auto y = session->forward({x.data(), shape}, {.training = true});
    ASSERT_TRUE(y) << kind;
    double mean = 0, variance = 0, shift = 0;
    for (const float v : x) mean += static_cast<double>(v) / kWidth;
    for (const float v : x) variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean) / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) shift += static_cast<double>(y->as<float>()[i]) / kWidth;
    // The mean is a float, a last place of which is 2^-10 at 1e4, and its error moves all values alike; their distances
    // are those of f64.
    EXPECT_LT(std::abs(shift), 4 * 0x1p-10 / std::sqrt(variance)) << kind;
    for (std::size_t i = 0; i < kWidth; ++i)
      EXPECT_NEAR(static_cast<double>(y->as<float>()[i]) - shift,
                  (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5), 1e-4)
          << kind << " " << i;
  }
}

// a * n * sum of f_i P_i, f the share of rows whose top logit is i, P the mean probability before top_k chooses (engine
// V-37).
TEST(Parallel, the_balance_loss_by_hand) {  // V-37
  for (const std::size_t top_k : {0, 1, 2, 3}) {
    Network network = read(list_of(fmt::format(R"({{"type":"parallel","combine_mode":"filter","top_k":{},)", top_k) +
                                   R"("gate_aux_weight":0.25,
      "filter_gate":{"type":"dense","input_height":3,"output_height":3,"weights":{"weight":[1,0,0,0,1,0,0,0,1]}},
      "parallel_branches":[{"type":"dense","input_height":3,"output_height":2},{"type":"dense","input_height":3,"output_height":2},{"type":"dense","input_height":3,"output_height":2}]})"));
    const Shape shape = Shape::of({4, 3});
    // logits: the gate is the identity; tops 0, 0, 1, 0
    const std::vector<float> x = {2, 0, 1, 3, 1, 0, 0, 2, 1, 1, 0, 0.5f};
    const auto session = NetworkSession::create(network, shape, {.threads = 1}).value();
    ASSERT_TRUE(session->forward({x.data(), shape}));
    double mean[3] = {};
    for (std::size_t r = 0; r < 4; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i) sum += std::exp(static_cast<double>(x[r * 3 + i]));
      for (std::size_t i = 0; i < 3; ++i) mean[i] += std::exp(static_cast<double>(x[r * 3 + i])) / sum / 4;
    }
    EXPECT_NEAR(session->gate_loss(), 0.25 * 3 * (0.75 * mean[0] + 0.25 * mean[1]), 1e-6) << top_k;
  }
}

// Counts how often each layer runs forward and backward.
struct Counts final : LayerWatch {
  std::map<const Layer*, std::size_t> forward, backward;
  void after_forward(const Layer& layer, const ConstView&, const ConstView&) override { ++forward[&layer]; }
  void after_backward(const Layer& layer, const ConstView&, const ConstView&) override { ++backward[&layer]; }
};

TEST(Parallel, backward_runs_no_branch_again) {  // V-38, G-13
  const std::string branches =
      R"("parallel_branches":[{"type":"dense","input_height":4,"output_height":%},{"type":"dense","input_height":4,"output_height":5}])";
  for (const std::string mode :
       {R"("combine_mode":"concat",)", R"("combine_mode":"add",)", R"("combine_mode":"avg",)",
        R"("combine_mode":"grid_scatter",)",
        R"("combine_mode":"filter","filter_gate":{"type":"dense","input_height":4,"output_height":2},)"}) {
    std::string widths = branches;
    widths.replace(widths.find('%'), 1, mode.find("concat") != mode.npos ? "3" : "5");
    Network network = read(list_of(R"({"type":"parallel",)" + mode + widths + "}"));
    const Shape shape = Shape::of({4, 4});
    const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
    const std::vector<float> x = seeded<float>("x", 16), dy = seeded<float>("dy", 64);
    Counts counts;
    session->watch(&counts);
    const auto y = session->forward({x.data(), shape});
    ASSERT_TRUE(y) << mode;
    ASSERT_TRUE(session->backward({dy.data(), y->shape})) << mode;
    visit_layers("", *network.cell(0).layer, [&](const std::string& path, Layer& layer) {
      EXPECT_EQ(counts.forward[&layer], 1u) << mode << path;
      EXPECT_EQ(counts.backward[&layer], 1u) << mode << path;
    });
  }
}

// A declared output that is smaller than the derived one is its beginning on every axis, and the rest has no gradient
// (engine S-04).
TEST(Conv, a_declared_output_is_a_crop) {  // S-04, L-40
  const struct {
    const char* layer;
    Shape input, whole, cropped;
    const char* declared;
  } cases[] = {
      {R"("type":"cnn1","kernel_size":3,"padding":1)", Shape::of({2, 2, 7}), Shape::of({2, 3, 7}), Shape::of({2, 3, 5}),
       R"(,"output_height":5)"},
      {R"("type":"cnn2","kernel_size":2,"stride":2)", Shape::of({2, 2, 8, 7}), Shape::of({2, 3, 4, 3}),
       Shape::of({2, 3, 2, 3}), R"(,"output_height":2,"output_width":3)"},
      {R"("type":"cnn3","kernel_size":1)", Shape::of({2, 2, 3, 4, 5}), Shape::of({2, 3, 3, 4, 5}),
       Shape::of({2, 3, 2, 3, 4}), R"(,"output_height":3,"output_width":4,"output_depth":2)"},
      {R"("type":"convtransposed1","kernel_size":3,"stride":2)", Shape::of({2, 2, 4}), Shape::of({2, 3, 9}),
       Shape::of({2, 3, 6}), R"(,"output_height":6)"},
      {R"("type":"convtransposed2","kernel_size":2,"stride":2)", Shape::of({2, 2, 3, 4}), Shape::of({2, 3, 6, 8}),
       Shape::of({2, 3, 5, 7}), R"(,"output_height":5,"output_width":7)"},
  };
  for (const auto& c : cases)
    for (const char* type : {"float32", "int8", "int4"}) {
      SCOPED_TRACE(std::string(c.layer) + type);
      const std::string layer =
          fmt::format(R"({{{},"input_channels":2,"filters":3,"bias":true,"dtype":"{}")", c.layer, type);
      Network whole = read(list_of(layer + "}", R"("seed":3,)")),
              part = read(list_of(layer + c.declared + "}", R"("seed":3,)"));
      const std::vector<float> x = seeded<float>("x", c.input.elements());
      const auto a = NetworkSession::create(whole, c.input, {1, std::nullopt, true}).value(),
                 b = NetworkSession::create(part, c.input, {1, std::nullopt, true}).value();
      EXPECT_EQ(a->plan()->shape_after(0).text(), c.whole.text());
      ASSERT_EQ(b->plan()->shape_after(0).text(), c.cropped.text());
      const auto y = a->forward({x.data(), c.input}), z = b->forward({x.data(), c.input});
      ASSERT_TRUE(y && z);
      // dy of the whole output is that of the crop, and 0 elsewhere.
      const std::vector<float> dz = seeded<float>("dz", c.cropped.elements());
      std::vector<float> dy(c.whole.elements());
      for (std::size_t i = 0; i < c.cropped.elements(); ++i) {
        std::size_t at = 0, rest = i, stride = 1;
        for (std::size_t axis = c.cropped.rank(); axis-- > 0;) {
          at += rest % c.cropped[axis] * stride;
          rest /= c.cropped[axis], stride *= c.whole[axis];
        }
        ASSERT_EQ(z->as<float>()[i], y->as<float>()[at]) << i;
        dy[at] = dz[i];
      }
      const auto dx = a->backward({dy.data(), c.whole}), cropped_dx = b->backward({dz.data(), c.cropped});
      ASSERT_TRUE(dx && cropped_dx);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_FLOAT_EQ(dx->as<float>()[i], cropped_dx->as<float>()[i]) << i;
      const Weight &w = *find_weight(*whole.cell(0).layer, "weight"), &v = *find_weight(*part.cell(0).layer, "weight");
      const auto *dw = static_cast<const float*>(a->gradients().of(w)),
                 *dv = static_cast<const float*>(b->gradients().of(v));
      for (std::size_t i = 0; i < w.elements(); ++i) ASSERT_NEAR(dw[i], dv[i], 1e-5f) << i;
      Network larger = read(list_of(layer + R"(,"output_height":20})"));
      EXPECT_EQ(ForwardPlan::create(larger, c.input).error().code, Code::ShapeMismatch);
    }
}

TEST(Network, one_layer_or_container_to_another_type) {  // D-21
  const std::string spec = list_of(R"({"type":"dense","input_height":8,"output_height":8},
    {"type":"sequential","sequential_layers":[{"type":"dense","input_height":8,"output_height":8},{"type":"parallel","parallel_branches":[
      {"type":"dense","input_height":8,"output_height":4},{"type":"dense","input_height":8,"output_height":4}]}]})",
                                   R"("seed":1,)");
  const auto types = [](const Network& n) {
    std::string all;
    n.visit_weights([&](const std::string&, const Weight& w, const Layer& layer) {
      EXPECT_EQ(w.dtype(), layer.common.encoding.dtype);
      all += std::string(name(w.dtype())) + " ";
    });
    return all;
  };
  Network n = read(spec);
  ASSERT_TRUE(n.morph("layers.1.sequential_layers.1.parallel_branches.0", DType::int4));
  EXPECT_EQ(types(n), "float32 float32 int4 float32 ");
  ASSERT_TRUE(n.morph("layers.1.sequential_layers.1", DType::int8));
  EXPECT_EQ(types(n), "float32 float32 int8 int8 ");
  ASSERT_TRUE(n.morph("layers.1", DType::binary));
  EXPECT_EQ(types(n), "float32 binary binary binary ");
  ASSERT_TRUE(morph_layer("layers.0", *n.layer_at(0).value(), DType::uint8));
  EXPECT_EQ(types(n), "uint8 binary binary binary ");
  EXPECT_EQ(n.morph("layers.2", DType::int8).error().code, Code::NotFound);
  EXPECT_EQ(n.morph("layers.1", static_cast<DType>(77)).error().code, Code::InvalidArgument);
  EXPECT_EQ(types(n), "uint8 binary binary binary ");
  // A layer morphed twice holds what it would after the second alone.
  Network once = read(spec);
  ASSERT_TRUE(once.morph("layers.1", DType::binary));
  const Shape shape = Shape::of({2, 8});
  ASSERT_TRUE(n.morph("layers.0", DType::float32));
  EXPECT_EQ(digest(n, shape, 1, best_isa()), digest(once, shape, 1, best_isa()));
}

}  // namespace
}  // namespace loom::grid_test
