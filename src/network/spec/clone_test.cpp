#include "network/spec/clone.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::clone_test {
namespace {

std::vector<std::pair<std::string, std::vector<double>>> values_of(const Network& network) {
  std::vector<std::pair<std::string, std::vector<double>>> out;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) {
    std::vector<double> v(w.elements());
    w.decode(0, v.size(), v.data());
    out.emplace_back(path + " " + std::string(name(w.dtype())) + (w.is_frozen() ? " frozen" : ""), std::move(v));
  });
  return out;
}

TEST(Clone, every_kind_equal_in_all_fields_and_sharing_nothing) {  // S-06, G-84
  for (const GoldenLayer& layer : golden_layers())
    for (const DType dtype : {DType::float32, DType::int4, DType::float64}) {
      if (!layer.typed && dtype != DType::float32) continue;
      SCOPED_TRACE(std::string(layer.name));
      Network network = golden_network(layer, dtype).value();
      auto copy = clone_network(network);
      ASSERT_TRUE(copy) << copy.error().text();
      ASSERT_TRUE(ForwardPlan::create(*copy, Shape::create(layer.input).value()));
      EXPECT_EQ(dump_json(network_to_json(network)), dump_json(network_to_json(*copy)));
      const auto before = values_of(network);
      ASSERT_EQ(before, values_of(*copy));
      copy->visit_weights([](const std::string&, Weight& w, Layer&) {
        const std::vector<float> other(w.elements(), 0.75f);
        ASSERT_TRUE(w.set(std::span<const float>(other)));
      });
      EXPECT_EQ(before, values_of(network));
    }
}

TEST(Clone, an_edit_changes_the_copy_alone) {
  const LayerPtr dense =
      layer_from_json(Json{{"type", "dense"}, {"input_height", 3}, {"output_height", 2}, {"bias", true}}).value();
  ASSERT_TRUE(initialise_weights("layers.0", *dense, 5));
  const auto copy = clone_layer(*dense, [](Layer& l) { *activation_setting(l) = Activation::Tanh; });
  ASSERT_TRUE(copy);
  EXPECT_EQ(dump_json(layer_to_json(**copy)).find("tanh") != std::string::npos, true);
  EXPECT_EQ(dump_json(layer_to_json(*dense)).find("tanh"), std::string::npos);
  EXPECT_TRUE(find_weight(**copy, "weight")->has_value());
}

TEST(Clone, ties_links_and_children_come_along) {
  const std::string spec = R"({"depth":1,"rows":1,"cols":1,"layers_per_cell":4,"input_shape":[4],"layers":[
    {"z":0,"y":0,"x":0,"l":0,"type":"embedding","vocab_size":5,"embedding_dim":3},
    {"z":0,"y":0,"x":0,"l":1,"type":"parallel","combine_mode":"add","parallel_branches":[
      {"type":"dense","input_height":3,"output_height":3},{"is_remote_link":true,"target_z":0,"target_y":0,"target_x":0,"target_l":3}]},
    {"z":0,"y":0,"x":0,"l":2,"type":"dense","input_height":3,"output_height":5,"tied_to":[0,0,0,0]},
    {"z":0,"y":0,"x":0,"l":3,"type":"dense","input_height":3,"output_height":3,"is_disabled":true}]})";
  const auto network = network_from_json(spec);
  ASSERT_TRUE(network) << network.error().text();
  auto copy = clone_network(network->network);
  ASSERT_TRUE(copy) << copy.error().text();
  ASSERT_TRUE(copy->settle());
  const Shape input = Shape::of({2, 4});
  EXPECT_EQ(dump_json(network_to_json(network->network)), dump_json(network_to_json(*copy)));
  EXPECT_EQ(values_of(network->network), values_of(*copy));
  const std::vector<float> ids = {0, 1, 2, 3, 4, 0, 1, 2};
  const auto a = NetworkSession::create(network->network, input, {1, std::nullopt, false}).value(),
             b = NetworkSession::create(*copy, input, {1, std::nullopt, false}).value();
  const auto ya = a->forward({ids.data(), input}), yb = b->forward({ids.data(), input});
  ASSERT_TRUE(ya && yb);
  for (std::size_t i = 0; i < ya->shape.elements(); ++i) EXPECT_EQ(ya->as<float>()[i], yb->as<float>()[i]);
  std::vector<std::string> places;
  visit_child_places(*copy->cell(1).layer, [&](const std::string& place, LayerPtr&) { places.push_back(place); });
  EXPECT_EQ(places, (std::vector<std::string>{"parallel_branches.0", "parallel_branches.1"}));
}

}  // namespace
}  // namespace loom::clone_test
