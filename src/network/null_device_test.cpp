// A device whose memory the host cannot touch runs forward, backward and target of every kind: no pass asks for a
// value.

#include <gtest/gtest.h>

#include "layers/tween.h"
#include "verify/golden_layers.h"
#include "network/session/network_session.h"
#include "support/null_device.h"

namespace loom {
namespace {

struct Pass {
  std::string_view name;
  bool training = false;
  const TweenRules* rules = nullptr;
};

void run_on(test::NullDevice& device, const GoldenLayer& layer, DType dtype, const Pass& pass) {
  auto network = golden_network(layer, dtype);
  ASSERT_TRUE(network) << network.error().text();
  NetworkSessionOptions options;
  options.threads = 2, options.backward = true, options.tween = pass.rules,
  options.carries_targets = pass.rules != nullptr, options.device = &device;
  auto session = NetworkSession::create(*network, Shape::create(layer.input).value(), options);
  ASSERT_TRUE(session) << session.error().text();
  const Element element = network->settings.activations;
  const auto on_device = [&](const Shape& shape) {
    return ConstView{device.reserve(shape.elements() * bytes_of(element)), shape, element};
  };
  PassExtras extras;
  extras.training = pass.training;
  for (int call = 0; call < 2; ++call) {  // the second finds the states of the first
    auto y = (*session)->forward(on_device(Shape::create(layer.input).value()), extras);
    ASSERT_TRUE(y) << y.error().text();
    auto dx = (*session)->backward(on_device(y->shape));
    ASSERT_TRUE(dx) << dx.error().text();
  }
}

TEST(NullDevice, every_kind_in_every_type_runs_without_asking_for_a_value) {
  TweenRules secant, sign;
  sign.secant = false, sign.divides = sign.averages = true;
  const Pass passes[] = {{"inference"}, {"training", true}, {"secant", true, &secant}, {"sign", true, &sign}};
  for (const GoldenLayer& layer : golden_layers())
    for (const DTypeInfo& type : kDTypes) {
      if (is_block_format(type.dtype) || (!layer.typed && type.dtype != DType::float32)) continue;
      for (const Pass& pass : passes) {
        SCOPED_TRACE(fmt::format("{} {} {}", layer.name, type.name, pass.name));
        test::NullDevice device;
        run_on(device, layer, type.dtype, pass);
      }
    }
}

}  // namespace
}  // namespace loom
