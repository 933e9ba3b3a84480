#pragma once
// A payload as a network (engine F-70): reshapes between its layers, skips and token inputs are cells of the network,
// so the file that is written runs by itself.

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "network/network.h"

namespace loom {

// One of the tensors that a sample consists of.
struct BridgeInput {
  std::string fixture;       // the array's name in a fixture file
  std::string key;           // and in a request
  Shape shape;               // of one sample
  bool is_external = false;  // a second tensor of the call, else consecutive parts of a row
};

struct BridgeNetwork {
  Network network;  // prepared for one sample
  std::string bedrock;
  Shape sample;                     // of a row
  std::vector<BridgeInput> inputs;  // in the order of a row, the external one last
  std::vector<std::string> kinds;   // of the payload's layers
  std::vector<std::size_t> cells;   // the output of layer i of the payload is that of cells[i]
  std::size_t weight_bytes = 0;     // as f32
};

// Returns dense, cnn1, ... by the member `bedrock` or, without it, the kind of the first layer; dense for neither.
// InvalidConfig.
Result<std::string> payload_bedrock(const Json& payload);

// `element` float64 makes the network that shows what rounding costs. Errors of plan_layer(); ShapeMismatch where a
// layer cannot read what the one before gives.
Result<BridgeNetwork> network_from_payload(const Json& payload, Element element = Element::f32);

}  // namespace loom
