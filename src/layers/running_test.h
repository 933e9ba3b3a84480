#pragma once
// A network of one layer, ready to run.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/json.h"
#include "network/session/network_session.h"
#include "network/spec/spec.h"

namespace loom::test {

struct Running {
  std::unique_ptr<Network> network;
  std::unique_ptr<NetworkSession> session;
};

inline Result<Running> running(const char* spec, const Shape& input) {
  Running r;
  LOOM_TRY(const Json json, parse_json(spec));
  LOOM_TRY(LayerPtr layer, layer_from_json(json));
  LOOM_TRY(Network network, Network::create({}));
  r.network = std::make_unique<Network>(std::move(network));
  LOOM_TRY_VOID(r.network->place({}, std::move(layer)));
  LOOM_TRY_VOID(r.network->initialise());
  LOOM_TRY(r.session, NetworkSession::create(*r.network, input, {1, std::nullopt, true}));
  return r;
}

inline std::vector<float> values(const ConstView& view) { return {view.as(), view.as() + view.shape.elements()}; }

// The code of the error that building or preparing the layer ends with.
inline void expect_refused(const char* spec, Code code, const Shape& input) {
  const auto r = running(spec, input);
  ASSERT_FALSE(r) << spec;
  EXPECT_EQ(r.error().code, code) << spec << ": " << r.error().message;
}

// The key of a small number above or at 0 (engine L-90), as much as the configurations of language models may say.
inline void expect_share(const char* layer, const char* key) {
  const auto read = [&](const char* value) {
    return layer_from_json(parse_json(fmt::format(R"({{{},"{}":{}}})", layer, key, value)).value());
  };
  for (const char* good : {"0", "1e-300", "0.5", "1"}) EXPECT_TRUE(read(good)) << layer << key << good;
  for (const char* bad : {"-1", "-1e-300", "1.5", "1e300"}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused) << layer << key << bad;
    EXPECT_EQ(refused.error().code, Code::InvalidConfig);
    EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
  }
}

}  // namespace loom::test
