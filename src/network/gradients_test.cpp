// Every backward pass against central differences of its own forward, in f64: the input and every weight. One line per
// case; a new kind adds lines to cases().

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/network.h"
#include "support/own_kinds.h"

namespace loom::gradients_test {
namespace {

using test::seeded;

struct GradientCase {
  std::string name, spec;
  std::vector<std::size_t> input;
  bool training = false;
  double scale = 1;     // size of the inputs
  std::size_t ids = 0;  // above 0: the input is integers below this, and its gradient is 0
  bool masked = false;  // a mask of the call that leaves every third entry out
};

class Difference {
 public:
  explicit Difference(const GradientCase& c) : case_(c) {}

  void check() {
    SCOPED_TRACE(case_.name);
    ASSERT_NO_FATAL_FAILURE(build());
    std::size_t outputs = 0;
    {
      const auto y = session_->forward(x(), extras_);
      ASSERT_TRUE(y) << y.error().text();
      outputs = y->shape.elements();
    }
    dy_ = seeded<double>(case_.name + "/dy", outputs);
    session_->gradients().clear();
    const auto dx = session_->backward({dy_.data(), session_->output_shape(), Element::f64});
    ASSERT_TRUE(dx) << dx.error().text();
    const std::vector<double> dx_values(dx->as<double>(), dx->as<double>() + values_.size());
    std::vector<std::vector<double>> expected;  // copied: forward passes follow
    std::vector<Weight*> weights;
    network_->visit_weights([&](const std::string&, Weight& w, Layer&) {
      const double* from = static_cast<const double*>(session_->gradients().of(w));
      if (from == nullptr) return;  // frozen
      expected.emplace_back(from, from + w.elements());
      weights.push_back(&w);
    });
    if (case_.ids != 0)
      EXPECT_EQ(std::ranges::count(dx_values, 0.0), static_cast<std::ptrdiff_t>(dx_values.size())) << "gradient of ids";
    else
      compare("x", dx_values, [&](std::size_t i, double by) { values_[i] += by; });
    for (std::size_t k = 0; k < weights.size(); ++k) {
      Weight& w = *weights[k];
      std::vector<double> now(w.elements());
      w.decode(0, w.elements(), now.data());
      compare(w.name(), expected[k], [&](std::size_t i, double by) {
        now[i] += by;
        ASSERT_TRUE(w.set(std::span<const double>(now)));
      });
    }
  }

 private:
  void build() {
    auto spec = parse_json(case_.spec);
    ASSERT_TRUE(spec) << spec.error().text();
    auto layer = layer_from_json(*spec);
    ASSERT_TRUE(layer) << layer.error().text();
    network_.emplace(Network::create({}).value());
    network_->settings.activations = Element::f64;
    network_->settings.seed = 7;
    ASSERT_TRUE(network_->place({}, std::move(*layer)));
    network_->visit_weights([&](const std::string& path, Weight& w, Layer&) {
      Encoding encoding;
      encoding.dtype = DType::float64;
      ASSERT_TRUE(w.morph(encoding));
      std::vector<double> values = seeded<double>(case_.name + "/" + path, w.elements());
      for (double& v : values) v *= w.role() == WeightRole::TypedVector ? 0.5 : 0.7;
      ASSERT_TRUE(w.set(std::span<const double>(values)));
    });
    shape_ = Shape::create(case_.input).value();
    session_ = NetworkSession::create(*network_, shape_, {1, std::nullopt, true}).value();
    values_ = seeded<double>(case_.name + "/x", shape_.elements());
    for (double& v : values_) {
      v = case_.ids == 0 ? v * case_.scale : std::floor((v + 1) / 2 * static_cast<double>(case_.ids));
      if (case_.ids == 0 && std::abs(v - std::round(v)) < 0x1p-10) v += 0x1p-7;  // where derivatives jump
    }
    extras_.training = case_.training;
    extras_.step = 3;
    if (case_.masked) {
      for (std::size_t i = 0; i < values_.size(); ++i) mask_.push_back(i % 3 == 1 ? 0.0 : 1.0);
      mask_view_ = {mask_.data(), shape_, Element::f64};
      extras_.mask = &mask_view_;
    }
  }

  ConstView x() const { return {values_.data(), shape_, Element::f64}; }

  double loss() {
    const auto y = session_->forward(x(), extras_);
    EXPECT_TRUE(y) << y.error().text();
    double sum = session_->gate_loss();
    for (std::size_t i = 0; y && i < dy_.size(); ++i) sum += dy_[i] * y->as<double>()[i];
    return sum;
  }

  // Differences of fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, so that h may be large and rounding
  // small.
  template <class Shift>
  void compare(const std::string& what, const std::vector<double>& gradient, Shift&& shift) {
    constexpr double h = 0x1p-12;
    std::vector<double> expected(gradient.size());
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double at[4] = {};
      const double steps[4] = {-2 * h, -h, h, 2 * h};
      for (int s = 0; s < 4; ++s) {
        shift(i, steps[s]);
        at[s] = loss();
        shift(i, -steps[s]);
      }
      expected[i] = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
      largest = std::max(largest, std::abs(expected[i]));
    }
    for (std::size_t i = 0; i < gradient.size(); ++i)
      ASSERT_NEAR(gradient[i], expected[i], 1e-6 * std::max(std::abs(expected[i]), 1e-3 * std::max(largest, 1e-3)))
          << what << " element " << i;
  }

  const GradientCase& case_;
  std::optional<Network> network_;
  std::unique_ptr<NetworkSession> session_;
  Shape shape_;
  std::vector<double> values_, dy_, mask_;
  ConstView mask_view_;
  PassExtras extras_;
};

std::string lora(const std::string& base) {
  return R"({"type":"lora","rank":3,"alpha":2,"freeze_base":false,"base_layer":)" + base + "}";
}

// A filter of three branches whose gate ends in a softmax kind, or not.
std::string balanced(const std::string& more, bool softmax = false) {
  const std::string branch = R"({"type":"dense","input_height":4,"output_height":4,"activation":"tanh"})";
  std::string gate = R"({"type":"dense","input_height":4,"output_height":3})";
  if (softmax) gate = R"({"type":"sequential","sequential_layers":[)" + gate + R"(,{"type":"softmax"}]})";
  return R"({"type":"parallel","combine_mode":"filter",)" + more + R"(,"filter_gate":)" + gate +
         R"(,"parallel_branches":[)" + branch + "," + branch + "," + branch + "]}";
}

std::string meta(const std::string& effect, const std::string& source, int outputs) {
  return R"({"type":"metacognition","train_meta":true,"meta_effect":")" + effect + R"(","meta_source":")" + source +
         R"(","meta_observed_layer":{"type":"dense","input_height":4,"output_height":4,"activation":"tanh"},)" +
         R"("meta_network":{"type":"dense","input_height":4,"bias":true,"output_height":)" + std::to_string(outputs) +
         "}}";
}

const std::vector<GradientCase>& cases() {
  test::register_own_kinds();
  static const std::vector<GradientCase> all = {
      {"dense", R"({"type":"dense","input_height":7,"output_height":5,"bias":true,"activation":"tanh"})", {18, 7}},
      {"swiglu", R"({"type":"swiglu","input_height":5,"output_height":7,"bias":true})", {3, 5}},
      {"a host's swiglu", R"({"type":"own_swiglu","input_height":5,"output_height":7,"bias":true})", {18, 5}},
      {"every op of a host", R"({"type":"own_everything","width":4})", {18, 3, 4}, true},
      {"sequential",
       R"({"type":"sequential","residual":true,"sequential_layers":[{"type":"dense","input_height":4,"output_height":6,"activation":"silu"},
                         {"type":"dense","input_height":6,"output_height":4}]})",
       {3, 4}},
      {"s6", R"({"type":"s6","input_height":5,"state_size":3,"dt_rank":2})", {18, 4, 5}},
      {"softmax", R"({"type":"softmax","temperature":0.7})", {3, 17}},
      {"softmax grid", R"({"type":"softmax","softmax_type":"grid","softmax_rows":3,"softmax_cols":4})", {2, 12}},
      {"softmax leaf", R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_levels":[2,3]})", {2, 6}},
      {"softmax tree",
       R"({"type":"softmax","softmax_type":"hierarchical","hierarchy_mode":"tree","hierarchy_levels":[2,3,2],"temperature":0.5})",
       {2, 20}},
      {"softmax gumbel", R"({"type":"softmax","softmax_type":"gumbel","temperature":0.7})", {3, 9}},
      {"softmax masked", R"({"type":"softmax","softmax_type":"masked","mask":[true,false,true]})", {3, 5}},
      {"softmax masked by the call", R"({"type":"softmax","softmax_type":"masked"})", {3, 5}, false, 1, 0, true},
      {"softmax sparse", R"({"type":"softmax","softmax_type":"sparse","temperature":2})", {4, 9}},
      {"softmax adaptive",
       R"({"type":"softmax","softmax_type":"adaptive","adaptive_cutoffs":[3,5,9],"temperature":0.8})",
       {3, 11}},
      {"softmax mixture", R"({"type":"softmax","softmax_type":"mixture","mixture_count":3})", {2, 18}},
      {"softmax entmax 1.5", R"({"type":"softmax","softmax_type":"entmax"})", {4, 9}},
      {"softmax entmax 1.25",
       R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.25,"temperature":1.5})",
       {4, 9},
       false,
       0.5},
      {"softmax entmax blend",
       R"({"type":"softmax","softmax_type":"entmax","entmax_alpha":1.3,"entmax_mode":"blend"})",
       {4, 9}},
      {"kmeans",
       R"({"type":"kmeans","num_clusters":5,"input_height":4,"kmeans_temperature":0.8,"activation":"silu"})",
       {18, 4}},
      {"kmeans features",
       R"({"type":"kmeans","num_clusters":5,"input_height":4,"output_mode":"features","activation":"tanh"})",
       {18, 4}},
      {"embedding",
       R"({"type":"embedding","vocab_size":5,"embedding_dim":3,"embed_scale":1.5,"activation":"tanh"})",
       {3, 6},
       false,
       1,
       5},
      {"position_embedding", R"({"type":"position_embedding","max_seq_len":5,"embedding_dim":3})", {18, 4, 3}},
      {"reshape", R"({"type":"reshape","shape":[4,-1]})", {2, 6, 2}},
      {"permute", R"({"type":"permute","axes":[0,2,3,1]})", {2, 3, 2, 4}},
      {"dropout", R"({"type":"dropout","rate":0.3})", {4, 9}, true},
      {"lora dense",
       lora(R"({"type":"dense","input_height":7,"output_height":5,"bias":true,"activation":"tanh"})"),
       {18, 7}},
      {"lora swiglu",
       lora(R"({"type":"swiglu","input_height":5,"output_height":7,"bias":true,"inner_norm":true})"),
       {3, 5}},
      {"lora lstm", lora(R"({"type":"lstm","input_height":3,"output_height":4,"bidirectional":true})"), {2, 3, 3}},
      {"lora gru", lora(R"({"type":"gru","input_height":3,"output_height":4,"return_sequence":false})"), {2, 3, 3}},
      {"lora s6", lora(R"({"type":"s6","input_height":5,"state_size":3})"), {2, 3, 5}},
      {"lora mha",
       lora(R"({"type":"mha","d_model":8,"num_heads":2,"num_kv_heads":1,"qk_norm":"head","bias":true})"),
       {2, 3, 8}},
      {"lora cnn1",
       lora(
           R"({"type":"cnn1","input_channels":4,"filters":6,"groups":2,"kernel_size":3,"stride":2,"padding":1,"activation":"silu"})"),
       {18, 4, 5}},
      {"lora cnn2 in place",
       lora(R"({"type":"cnn2","input_channels":3,"filters":4,"kernel_size":[2,1],"bias":true})"),
       {2, 3, 4, 3}},
      {"lora convtransposed1",
       lora(
           R"({"type":"convtransposed1","input_channels":4,"filters":6,"groups":2,"kernel_size":3,"stride":2,"padding":1})"),
       {18, 4, 3}},
      {"lora kmeans", lora(R"({"type":"kmeans","num_clusters":5,"input_height":4,"kmeans_temperature":0.8})"), {18, 4}},
      {"lora kmeans features",
       lora(R"({"type":"kmeans","num_clusters":5,"input_height":4,"output_mode":"features","activation":"tanh"})"),
       {18, 4}},
      {"lora embedding",
       lora(R"({"type":"embedding","vocab_size":5,"embedding_dim":3,"embed_scale":1.5,"activation":"tanh"})"),
       {18, 3},
       false,
       1,
       5},
      {"lora position_embedding",
       lora(R"({"type":"position_embedding","max_seq_len":5,"embedding_dim":3})"),
       {18, 4, 3}},
      {"lora of lora", lora(lora(R"({"type":"dense","input_height":4,"output_height":3})")), {3, 4}},
      {"lora frozen",
       R"({"type":"lora","rank":2,"base_layer":{"type":"dense","input_height":7,"output_height":5,"bias":true}})",
       {18, 7}},
      {"adapters",
       R"({"type":"swiglu","input_height":5,"output_height":7,"freeze_base":false,"adapters":[{"weight":"down.weight","rank":2,"alpha":3},
          {"weight":"gate.weight","name":"second","rank":1,"alpha":-1},{"weight":"gate.weight","rank":1,"enabled":false}]})",
       {3, 5}},
      {"V_37 filter with balance", balanced(R"("top_k":2,"gate_aux_weight":0.8)"), {6, 4}},
      {"V_37 filter with balance, per sample",
       balanced(R"("gate_scope":"sample","gate_temperature":0.6,"gate_aux_weight":0.8)"),
       {3, 2, 4}},
      {"V_37 filter with balance of a softmax", balanced(R"("top_k":2,"gate_aux_weight":0.8)", true), {6, 4}},
      {"V_37 filter with balance of the first alone", balanced(R"("top_k":1,"gate_aux_weight":0.8)"), {6, 4}},
      {"V_37 filter with balance of the first of a softmax",
       balanced(R"("top_k":1,"gate_aux_weight":0.8)", true),
       {6, 4}},
      {"meta gate", meta("gate", "input", 2), {3, 4}},
      {"meta gate of activations", meta("gate", "activations", 1), {3, 2, 4}},
      {"meta noise", meta("noise", "input", 2), {6, 4}},
      {"meta noise of activations", meta("noise", "activations", 2), {6, 4}},
      // The case's name seeds weights and inputs: with these names no row's decision is near 0.5, where the output
      // jumps.
      {"meta intervention", meta("intervention", "input", 3), {12, 4}},
      {"meta intervention by activations", meta("intervention", "activations", 4), {12, 4}},
      {"meta without effect",
       R"({"type":"metacognition","meta_observed_layer":{"type":"dense","input_height":4,"output_height":3}})",
       {3, 4}},
  };
  return all;
}

TEST(Gradients, backward_equals_central_differences) {  // L-02, L-140, L-153, V-37
  for (const GradientCase& c : cases()) {
    Difference(c).check();
    if (HasFatalFailure()) return;
  }
}

// 1000 points of [-8, 8); sign and step without the straight-through rule, whose slope is no derivative.
TEST(Gradients, every_activation_at_a_thousand_points) {  // G-22
  for (std::size_t a = 0; a < kNumActivations; ++a) {
    const std::string name(loom::name(static_cast<Activation>(a)));
    const GradientCase c{name, R"({"type":"activation","ste":false,"activation":")" + name + "\"}", {1000}, false, 8};
    Difference(c).check();
    if (HasFatalFailure()) return;
  }
}

// The straight-through rule, engine L-12: slope 1 where |x| < 1, else 0; with "ste" false 0 everywhere. Values by hand.
TEST(Gradients, sign_and_step_take_the_straight_through_slope) {  // L-12
  const std::vector<float> x = {-2, -1.25f, -1, -0.96875f, -0.5f, 0, 0.5f, 0.96875f, 1, 1.25f, 2};
  const std::vector<bool> inside = {false, false, false, true, true, true, true, true, false, false, false};
  const Shape shape = Shape::of({1, x.size()});
  std::vector<float> dy(x.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i) - 4.5f;
  for (const std::string activation : {"sign", "step"})
    for (const std::string ste : {"", R"("ste":true,)", R"("ste":false,)"}) {
      SCOPED_TRACE(activation + " " + ste);
      const std::string spec = R"({"layers":[{"type":"activation",)" + ste + R"("activation":")" + activation + "\"}]}";
      Network network = network_from_json(std::string_view(spec)).value().network;
      ASSERT_TRUE(network.initialise());
      const auto session = NetworkSession::create(network, shape, {1, std::nullopt, true}).value();
      const ConstView y = session->forward({x.data(), shape}).value();
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(y.as()[i], x[i] >= 0 ? 1.0f : activation == "sign" ? -1.0f : 0.0f) << x[i];
      const ConstView dx = session->backward({dy.data(), shape}).value();
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(dx.as()[i], ste.find("false") == std::string::npos && inside[i] ? dy[i] : 0.0f) << x[i];
    }
}

// In a dense cell of binary weights: the gradients of its master and its input pass the same window.
TEST(Gradients, a_binary_cell_with_signs_has_the_gradients_of_its_window) {  // L-12, D-36
  const std::string spec =
      R"({"layers":[{"type":"dense","input_height":3,"output_height":2,"activation":"sign","bias":true,"dtype":"binary"}]})";
  Network network = network_from_json(std::string_view(spec)).value().network;
  ASSERT_TRUE(network.initialise());
  std::vector<float> w(6);
  network.visit_weights([&](const std::string&, Weight& weight, Layer&) {
    const std::vector<float> values = weight.shape().rank() == 1
                                          ? std::vector<float>{0.25f, 0.125f}
                                          : std::vector<float>{0.5f, -0.5f, 0.5f, -0.5f, -0.5f, 0.5f};
    ASSERT_TRUE(weight.set(std::span<const float>(values)));
    if (weight.shape().rank() == 2) weight.decode(0, 6, w.data());
  });
  const std::vector<float> x = {0.5f, -0.25f, 1, 2, -1, 0.5f}, dy = {1, -2, 3, 0.5f};
  const auto session = NetworkSession::create(network, Shape::of({2, 3}), {1, std::nullopt, true}).value();
  ASSERT_TRUE(session->forward({x.data(), Shape::of({2, 3})}));
  const ConstView dx = session->backward({dy.data(), Shape::of({2, 2})}).value();
  std::vector<float> g(4), dw(6), db(2), want(6);
  std::size_t open = 0;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t o = 0; o < 2; ++o) {
      float sum = o == 0 ? 0.25f : 0.125f;
      for (std::size_t i = 0; i < 3; ++i) sum += w[o * 3 + i] * x[r * 3 + i];
      g[r * 2 + o] = std::abs(sum) < 1 ? dy[r * 2 + o] : 0;
      open += g[r * 2 + o] != 0;
      db[o] += g[r * 2 + o];
      for (std::size_t i = 0; i < 3; ++i)
        dw[o * 3 + i] += g[r * 2 + o] * x[r * 3 + i], want[r * 3 + i] += g[r * 2 + o] * w[o * 3 + i];
    }
  ASSERT_GT(open, 0u);
  ASSERT_LT(open, 4u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(dx.as()[i], want[i]) << i;
  network.visit_weights([&](const std::string&, Weight& weight, Layer&) {
    const float* const found = static_cast<const float*>(session->gradients().of(weight));
    for (std::size_t i = 0; i < weight.elements(); ++i)
      EXPECT_EQ(found[i], (weight.shape().rank() == 1 ? db : dw)[i]) << i;
  });
}

}  // namespace
}  // namespace loom::gradients_test
