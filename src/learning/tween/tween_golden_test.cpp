// The rules of target propagation kind by kind against tests/golden/learning/tween.json, which tools/golden/tween.py
// makes from the equations alone: outputs, targets of inputs, and what every weight moves by.

#include "core/file.h"
#include "core/json.h"
#include "learning/tween/tween_test.h"
#include "support/paths.h"

namespace loom {
namespace {

using namespace test;

struct Values {
  std::vector<std::size_t> shape;
  std::vector<double> values;
};
Values values_of(const Json& json) {
  Values out;
  for (const Json& extent : json["shape"]) out.shape.push_back(static_cast<std::size_t>(*as_int(extent)));
  for (const Json& value : json["values"]) out.values.push_back(*as_number(value));
  return out;
}

const Json& golden() {
  static const Json file = parse_json(read_text_file(source_path("tests/golden/learning/tween.json")).value()).value();
  return file["cases"];
}

class TweenGolden : public testing::TestWithParam<std::size_t> {
 protected:
  const Json& c_ = golden()[GetParam()];
  std::string path(const std::string& name) const { return "layers.0." + name; }

  void SetUp() override {
    x_ = values_of(c_["x"]), target_ = values_of(c_["target"]);
    for (const auto& [name, json] : c_["weights"].items()) weights_[path(name)] = values_of(json).values;
    for (const auto& [name, json] : c_["moves"].items()) moves_[path(name)] = values_of(json).values;
  }

  template <class T>
  void check(double bound) {
    SCOPED_TRACE(as_string(c_["name"])->c_str());
    constexpr Element element = element_of<T>;
    TestNetwork network =
        network_of({c_["layer"].dump()}, x_.shape, 1, element, sizeof(T) == 8 ? "float64" : "float32");
    std::size_t known = 0;
    network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
      if (w.role() == WeightRole::Statistic) return;
      const auto given = weights_.find(name);
      ASSERT_NE(given, weights_.end()) << name;
      ++known;
      const std::vector<T> values(given->second.begin(), given->second.end());
      LOOM_OK(w.set(std::span<const T>(values)));
    });
    ASSERT_EQ(known, weights_.size());
    Json settings = c_["settings"];
    settings["mode"] = "layerwise", settings["momentum"] = 0, settings["budget_threshold"] = 0;
    const auto config = tween_config_from_json(settings);
    LOOM_OK(config);
    const auto session = TweenSession::create(network, network.plan, *config, on_threads(1)).value();
    const std::vector<T> x(x_.values.begin(), x_.values.end()), target(target_.values.begin(), target_.values.end());
    const auto y =
        session->forward({x.data(), Shape::create(x_.shape).value(), element}, at_step(0, *as_bool(c_["training"])));
    LOOM_OK(y);
    const Values want = values_of(c_["y"]), gap = values_of(c_["input_gap"]);
    ASSERT_EQ(y->shape.elements(), want.values.size());
    for (std::size_t i = 0; i < want.values.size(); ++i)
      EXPECT_NEAR(y->template as<T>()[i], want.values[i], bound) << "y " << i;
    LOOM_OK(session->step({.values = {target.data(), y->shape, element}}, 1));
    ASSERT_EQ(session->input_gap().shape.elements(), gap.values.size());
    for (std::size_t i = 0; i < gap.values.size(); ++i)
      EXPECT_NEAR(session->input_gap().template as<T>()[i], gap.values[i], bound) << "input gap " << i;
    network.visit_weights([&](const std::string& name, Weight& w, Layer&) {
      if (w.role() == WeightRole::Statistic) return;
      for (std::size_t i = 0; i < w.elements(); ++i) {
        double now = 0;
        if constexpr (sizeof(T) == 8)
          now = w.master64()[i];
        else
          now = w.master()[i];
        EXPECT_NEAR(now - weights_[name][i], moves_[name][i], bound) << name << " " << i;
      }
    });
  }

  Values x_, target_;
  std::map<std::string, std::vector<double>> weights_, moves_;
};

// f64 against f64: what the order of sums leaves, at values of order 1 to 10. f32: four ulp of the largest of them,
// times the tens of terms of a sum.
// L-06, L-51, L-64, L-65, L-77, L-121, L-132, W-20, W-23, W-30
TEST_P(TweenGolden, the_step_is_that_of_the_equations) {
  check<double>(1e-12);
  check<float>(2e-5);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = *as_string(golden()[info.param]["name"]);
  std::ranges::replace(name, ' ', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Kinds, TweenGolden, testing::Range(std::size_t{0}, golden().size()), name_of);

}  // namespace
}  // namespace loom
