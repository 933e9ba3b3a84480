// Properties of the small kinds that golden values and finite differences cannot show: errors, masks, draws.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/network_session.h"
#include "network/spec.h"

namespace loom::small_kinds_test {
namespace {

struct Running {
  std::unique_ptr<Network> network;
  std::unique_ptr<NetworkSession> session;
};

Result<Running> running(const char* spec, const Shape& input) {
  Running r;
  LOOM_TRY(const Json json, parse_json(spec));
  LOOM_TRY(LayerPtr layer, layer_from_json(json));
  LOOM_TRY(Network network, Network::create({}));
  r.network = std::make_unique<Network>(std::move(network));
  LOOM_TRY_VOID(r.network->place({}, std::move(layer)));
  LOOM_TRY_VOID(r.network->initialise());
  LOOM_TRY_VOID(r.network->prepare(input));
  LOOM_TRY(r.session, NetworkSession::create(*r.network, {1, std::nullopt, true}));
  return r;
}

std::vector<float> values(const ConstView& view) { return {view.as(), view.as() + view.shape.elements()}; }

TEST(SmallKinds, L_100_an_id_outside_the_table_is_an_error_with_its_row) {
  const Shape shape = Shape::of({3});
  for (const float bad : {5.0f, -1.0f, 1.5f, 3e9f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const float ids[] = {0, bad, 4};
    const auto strict = running(R"({"type":"embedding","vocab_size":5,"embedding_dim":3})", shape).value();
    const auto y = strict.session->forward({ids, shape});
    ASSERT_FALSE(y) << bad;
    EXPECT_EQ(y.error().code, Code::IndexOutOfRange);
    EXPECT_NE(y.error().text().find("row 1"), std::string::npos) << y.error().text();

    const auto lenient = running(R"({"type":"embedding","vocab_size":5,"embedding_dim":3,"oob":"zero"})", shape).value();
    const auto zero = lenient.session->forward({ids, shape});
    ASSERT_TRUE(zero);
    for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(zero->as()[i], 0.0f);
    EXPECT_NE(zero->as()[0], 0.0f);
  }
}

TEST(SmallKinds, L_112_dropout_keeps_its_mask_in_backward_and_is_identity_otherwise) {
  const Shape shape = Shape::of({40, 25});
  const auto r = running(R"({"type":"dropout","rate":0.25})", shape).value();
  const std::vector<float> ones(1000, 1.0f);
  PassExtras extras;
  EXPECT_EQ(values(*r.session->forward({ones.data(), shape}, extras)), ones);
  extras.training = true;
  const std::vector<float> y = values(*r.session->forward({ones.data(), shape}, extras));
  EXPECT_EQ(values(*r.session->backward({ones.data(), shape})), y);
  const auto dropped = std::count(y.begin(), y.end(), 0.0f);
  EXPECT_GT(dropped, 200);
  EXPECT_LT(dropped, 300);
  EXPECT_EQ(std::count(y.begin(), y.end(), 1.0f / 0.75f), 1000 - dropped);
  EXPECT_EQ(values(*r.session->forward({ones.data(), shape}, extras)), y) << "same step";
  extras.step = 1;
  EXPECT_NE(values(*r.session->forward({ones.data(), shape}, extras)), y) << "another step";
}

TEST(SmallKinds, L_120_gumbel_draws_by_step_and_hard_is_one_hot) {
  const Shape shape = Shape::of({50, 20});
  const std::vector<float> x(1000, 0.5f);
  const auto r = running(R"({"type":"softmax","softmax_type":"gumbel","gumbel_hard":true})", shape).value();
  PassExtras extras;
  const std::vector<float> first = values(*r.session->forward({x.data(), shape}, extras));
  EXPECT_EQ(std::count(first.begin(), first.end(), 1.0f), 50);
  EXPECT_EQ(std::count(first.begin(), first.end(), 0.0f), 950);
  EXPECT_EQ(values(*r.session->forward({x.data(), shape}, extras)), first);
  extras.step = 1;
  EXPECT_NE(values(*r.session->forward({x.data(), shape}, extras)), first);
}

TEST(SmallKinds, L_121_every_distribution_sums_to_one) {
  const std::pair<const char*, std::size_t> specs[] = {
      {R"({"type":"softmax"})", 48},
      {R"({"type":"softmax","softmax_type":"SoftmaxTemperature","temperature":0.3})", 48},
      {R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_mode":"tree","hierarchy_levels":[3,5,2]})", 48},
      {R"({"type":"softmax","softmax_type":4})", 48},
      {R"({"type":"softmax","softmax_type":"sparse"})", 48},
      {R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[4,21,46]})", 48},
      {R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", 48},
      {R"({"type":"softmax","softmax_type":"entmax"})", 48},
      {R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":3.3})", 48},
      {R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.3,"entmax_mode":"blend"})", 48},
  };
  const RandomStream stream{5, RandomDomain::Init, 0, 1};
  std::vector<float> x(16 * 48);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 4.0f * stream.uniform(i) + static_cast<float>(i / 48) * 100.0f;  // rows far from 0 too
  for (const auto& [spec, width] : specs) {
    const Shape shape = Shape::of({16, width});
    auto made = running(spec, shape);
    ASSERT_TRUE(made) << spec << made.error().text();
    const auto y = made->session->forward({x.data(), shape});
    ASSERT_TRUE(y) << spec;
    const std::size_t n = y->shape.cols();
    for (std::size_t r = 0; r < 16; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(y->as()[r * n + i]);
      EXPECT_NEAR(sum, 1.0, 4 * 0x1p-23 * static_cast<double>(n)) << spec << " row " << r;
    }
  }
}

TEST(SmallKinds, L_120_a_row_with_a_nan_stays_alone) {
  const Shape shape = Shape::of({2, 4});
  const float nan = std::numeric_limits<float>::quiet_NaN(), x[] = {1, nan, 2, 3, 1, 2, 3, 4};
  for (const char* spec : {R"({"type":"softmax"})", R"({"type":"softmax","softmax_type":"sparse"})", R"({"type":"softmax","softmax_type":"entmax"})",
                           R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.2})"}) {
    const auto r = running(spec, shape).value();
    const std::vector<float> y = values(*r.session->forward({x, shape}));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y[i])) << spec;
    for (std::size_t i = 4; i < 8; ++i) EXPECT_FALSE(std::isnan(y[i])) << spec;
  }
}

// As much as the configurations of language models may say.
TEST(SmallKinds, L_90_eps_of_norms_is_from_0_to_1) {
  const std::pair<const char*, const char*> norms[] = {{R"("type":"rmsnorm","input_height":4)", "rms_norm_eps"}, {R"("type":"layernorm","input_height":4)", "eps"},
                                                       {R"("type":"groupnorm","input_height":4,"num_groups":2)", "eps"},
                                                       {R"("type":"instancenorm","input_height":4)", "eps"}, {R"("type":"batchnorm","input_height":4)", "eps"}, {R"("type":"batchnorm","input_height":4)", "momentum"},
                                                       {R"("type":"swiglu","input_height":4,"output_height":3)", "rms_norm_eps"},
                                                       {R"("type":"mha","d_model":4,"num_heads":1)", "rms_norm_eps"}};
  for (const auto& [layer, key] : norms) {
    const auto read = [&](const char* value) { return layer_from_json(parse_json(fmt::format(R"({{{},"{}":{}}})", layer, key, value)).value()); };
    for (const char* good : {"0", "1e-300", "0.5", "1"}) EXPECT_TRUE(read(good)) << layer << key << good;
    for (const char* bad : {"-1", "-1e-300", "1.5", "1e300"}) {
      const auto refused = read(bad);
      ASSERT_FALSE(refused) << layer << key << bad;
      EXPECT_EQ(refused.error().code, Code::InvalidConfig);
      EXPECT_NE(refused.error().text().find(fmt::format("{} {}", key, parse_json(bad)->get<double>())), std::string::npos) << refused.error().text();
    }
  }
}

TEST(SmallKinds, L_111_shapes_and_settings_that_do_not_fit_are_errors) {
  const std::pair<const char*, Code> cases[] = {
      {R"({"type":"reshape","shape":[5,-1]})", Code::ShapeMismatch},
      {R"({"type":"reshape","shape":[2,0,0,0]})", Code::ShapeMismatch},
      {R"({"type":"reshape","shape":[-1,-1]})", Code::InvalidConfig},
      {R"({"type":"reshape","shape":[-2]})", Code::InvalidConfig},
      {R"({"type":"permute","axes":[0,1]})", Code::ShapeMismatch},
      {R"({"type":"permute","axes":[0,1,1]})", Code::InvalidConfig},
      {R"({"type":"dropout","rate":1})", Code::InvalidConfig},
      {R"({"type":"softmax","temperature":-1})", Code::InvalidConfig},
      {R"({"type":"softmax","softmax_type":"softest"})", Code::UnknownName},
      {R"({"type":"softmax","softmax_type":"masked","mask":[true,true,true,true,true]})", Code::ShapeMismatch},
      {R"({"type":"softmax","softmax_type":"grid","softmax_rows":3,"softmax_cols":2})", Code::ShapeMismatch},
      {R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[3,3]})", Code::InvalidConfig},
      {R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", Code::ShapeMismatch},
      {R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":4.5})", Code::InvalidConfig},
      {R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_levels":[2147483647,2147483647,2147483647]})", Code::SizeOverflow},
      {R"({"type":"kmeans","num_clusters":2,"input_height":5})", Code::ShapeMismatch},
      {R"({"type":"position_embedding","max_seq_len":2,"embedding_dim":4})", Code::ShapeMismatch},
  };
  for (const auto& [spec, code] : cases) {
    const auto r = running(spec, Shape::of({2, 3, 4}));
    ASSERT_FALSE(r) << spec;
    EXPECT_EQ(r.error().code, code) << spec << ": " << r.error().text();
  }
}

}  // namespace
}  // namespace loom::small_kinds_test
