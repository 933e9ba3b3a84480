#pragma once
// The cases of tests/golden/layers (PyTorch in f64, tools/golden/layers.py, which describes the format) and of
// tests/golden/onnx: forward, the gradient of the input and of every weight, in f64 and in f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/base64.h"
#include "core/file.h"
#include "core/json.h"
#include "core/shape.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"
#include "support/paths.h"

namespace loom {

struct GoldenTensor {
  Shape shape;
  std::vector<double> values;
};

inline GoldenTensor golden_tensor(const Json& j) {
  GoldenTensor t;
  std::vector<std::size_t> extents;
  for (const Json& e : j["shape"]) extents.push_back(static_cast<std::size_t>(as_int(e).value_or(0)));
  if (extents.empty()) extents.push_back(1);
  t.shape = Shape::create(extents).value();
  const bool wide = find(j, "f64") != nullptr;
  const std::vector<std::byte> bytes = base64_decode(*as_string(j[wide ? "f64" : "f32"])).value();
  const std::size_t size = wide ? 8 : 4;
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    if (wide) {
      double v;
      std::memcpy(&v, bytes.data() + i * 8, 8);
      t.values.push_back(v);
    } else {
      float v;
      std::memcpy(&v, bytes.data() + i * 4, 4);
      t.values.push_back(static_cast<double>(v));
    }
  }
  EXPECT_EQ(t.values.size(), t.shape.elements());
  return t;
}

inline Json golden_file(const std::string& path) {
  const auto text = read_text_file(path);
  auto json = text ? parse_json(*text) : Result<Json>(tl::make_unexpected(text.error()));
  if (json) return std::move(*json);
  ADD_FAILURE() << path << ": " << json.error().text();
  return Json::object();
}

// A weight by the path that golden files use: "0.gamma", "gate.weight", "1.0.weight".
inline Weight* weight_at(Layer& layer, const std::string& path) {
  if (Weight* found = find_weight(layer, path)) return found;
  Weight* below = nullptr;
  layer.visit_children([&](const std::string& place, Layer& child) {
    // "sequential_layers.3" and "parallel_branches.3" are "3", "filter_gate" is "gate".
    const std::size_t dot = place.rfind('.');
    const std::string key = (dot == std::string::npos ? std::string("gate") : place.substr(dot + 1)) + ".";
    if (below == nullptr && path.starts_with(key)) below = weight_at(child, path.substr(key.size()));
  });
  return below;
}

template <class T>
std::vector<T> cast(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

template <class T>
class LayerCase {
 public:
  LayerCase(const Json& j, double bound) : j_(j), bound_(bound), name_(*as_string(j["name"])) {}

  void check() {
    SCOPED_TRACE(name_ + (sizeof(T) == 8 ? " in f64" : " in f32"));
    auto layer = layer_from_json(j_["layer"]);
    ASSERT_TRUE(layer) << layer.error().text();
    Layer& built = **layer;
    Network network = Network::create({}).value();
    network.settings.activations = element_of<T>;
    ASSERT_TRUE(network.place({}, std::move(*layer)));
    const GoldenTensor x = golden_tensor(j_["x"]);
    ASSERT_NO_FATAL_FAILURE(fill(built));
    const bool backward = find(j_, "dy") != nullptr;
    const auto session = NetworkSession::create(network, x.shape, {1, std::nullopt, backward}).value();
    PassExtras extras;
    extras.training = as_bool(j_.value("training", Json(false))).value_or(false);
    std::vector<std::size_t> lengths;
    if (const Json* given = find(j_, "lengths"))
      for (const Json& n : *given) lengths.push_back(static_cast<std::size_t>(*as_int(n)));
    extras.lengths = lengths;
    std::vector<T> external, mask;
    ConstView external_view, mask_view;
    const auto second = [&](const char* key, std::vector<T>& values, ConstView& view) -> const ConstView* {
      const Json* given = find(j_, key);
      if (given == nullptr) return nullptr;
      const GoldenTensor t = golden_tensor(*given);
      values = cast<T>(t.values);
      view = {values.data(), t.shape, element_of<T>};
      return &view;
    };
    extras.external = second("external", external, external_view);
    extras.mask = second("mask", mask, mask_view);
    const std::vector<T> input = cast<T>(x.values);
    if (const Json* given = find(j_, "state")) {
      ASSERT_NO_FATAL_FAILURE(set_state(*session, x.shape, *given));
    }
    const auto y = session->forward({input.data(), x.shape, element_of<T>}, extras);
    ASSERT_TRUE(y) << y.error().text();
    expect_near("y", *y, golden_tensor(j_["y"]));
    if (const Json* expected = find(j_, "y_state")) {
      ASSERT_EQ(session->num_states(), 1u);
      if (const Json* h = find(*expected, "hT")) expect_near("hT", session->state(0), golden_tensor(*h));
      if (const Json* c = find(*expected, "cT")) expect_near("cT", session->cell_state(0), golden_tensor(*c));
    }
    if (!backward || ::testing::Test::HasFailure()) return;
    const GoldenTensor dy = golden_tensor(j_["dy"]);
    const std::vector<T> gradient = cast<T>(dy.values);
    session->gradients().clear();
    std::vector<T> d_external(external.size());
    const View d_external_view{d_external.data(), external_view.shape, element_of<T>};
    const auto dx =
        session->backward({gradient.data(), dy.shape, element_of<T>}, external.empty() ? nullptr : &d_external_view);
    ASSERT_TRUE(dx) << dx.error().text();
    if (const Json* expected = find(j_, "d_external"))
      expect_near("d_external", d_external_view, golden_tensor(*expected));
    if (const Json* expected = find(j_, "dx")) expect_near("dx", *dx, golden_tensor(*expected));
    if (const Json* grads = find(j_, "grads"))
      for (const auto& [path, expected] : grads->items()) {
        const Weight* w = weight_at(built, path);
        ASSERT_NE(w, nullptr) << path;
        expect_near(path, {session->gradients().of(*w), w->shape(), element_of<T>}, golden_tensor(expected));
      }
    if (const Json* after = find(j_, "after"))
      for (const auto& [path, expected] : after->items()) {
        const Weight* w = weight_at(built, path);
        ASSERT_NE(w, nullptr) << path;
        std::vector<T> values(w->elements());
        w->decode(0, w->elements(), values.data());
        expect_near(path, {values.data(), w->shape(), element_of<T>}, golden_tensor(expected));
      }
  }

 private:
  void fill(Layer& layer) {
    std::size_t given = 0, declared = 0;
    visit_weights("", layer, [&](const std::string&, Weight& w, Layer& owner) {
      Encoding encoding = owner.common.encoding;
      if (sizeof(T) == 8) encoding.dtype = DType::float64;
      EXPECT_TRUE(w.morph(encoding));
      ++declared;
    });
    if (const Json* weights = find(j_, "weights"))
      for (const auto& [path, value] : weights->items()) {
        Weight* w = weight_at(layer, path);
        ASSERT_NE(w, nullptr) << "no weight " << path;
        const auto set = w->set(std::span<const double>(golden_tensor(value).values));
        ASSERT_TRUE(set) << set.error().text();
        ++given;
      }
    EXPECT_EQ(given, declared) << "weights of the layer and of the case";
  }

  void set_state(NetworkSession& session, const Shape& input, const Json& state) {
    ASSERT_TRUE(session.prepare(input));
    const GoldenTensor h = golden_tensor(state["h0"]);
    const std::vector<T> h0 = cast<T>(h.values);
    std::vector<T> c0;
    const Json* c = find(state, "c0");
    if (c != nullptr) c0 = cast<T>(golden_tensor(*c).values);
    const ConstView cell{c0.data(), h.shape, element_of<T>};
    const auto set = session.set_state(0, {h0.data(), h.shape, element_of<T>}, c != nullptr ? &cell : nullptr);
    ASSERT_TRUE(set) << set.error().text();
  }

  void expect_near(const std::string& what, const ConstView& actual, const GoldenTensor& expected) {
    ASSERT_EQ(actual.shape.elements(), expected.shape.elements())
        << what << ": " << actual.shape.text() << " and " << expected.shape.text();
    if (what == "y" || what == "dx") {
      ASSERT_EQ(actual.shape.text(), expected.shape.text()) << what;
    }
    double largest = 0;
    for (const double v : expected.values) largest = std::max(largest, std::abs(v));
    // A bias of the keys moves all scores of a row alike where nothing rotates them: its gradient is 0, and what f32
    // leaves of the cancelled terms has no smaller measure than their own size, which is that of the other gradients.
    if (what == "k.bias" && largest < 1e-12) largest = 1;
    for (std::size_t i = 0; i < expected.values.size(); ++i)
      ASSERT_NEAR(static_cast<double>(actual.as<T>()[i]), expected.values[i], bound_ * std::max(largest, 1e-3))
          << what << " element " << i;
  }

  const Json& j_;
  double bound_;
  std::string name_;
};

// Checks every case of tests/golden/layers/NAME.json.
inline void expect_goldens(const std::string& name) {
  const Json file = golden_file(test::source_path("tests/golden/layers/") + name + ".json");
  ASSERT_GT(file["cases"].size(), 4u);
  for (const Json& j : file["cases"]) {
    // With one feature x - mean is 0, and so is gamma's gradient; PyTorch is left with 8.7e-15.
    LayerCase<double>(j, j["name"] == "layernorm 1 lead [3]" ? 1e-11 : 1e-12).check();
    // With one feature dx is g eps / (x^2 + eps), what is left of a difference of terms 25000 times as large: f32 keeps
    // it to their ulp.
    LayerCase<float>(j, j["name"] == "rmsnorm 1 lead [3]" ? 1e-4 : 1e-5).check();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace loom
