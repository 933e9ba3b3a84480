#pragma once
// Chooses a type for every layer that holds typed weights (engine D-21): small where the data does not feel it. The
// loss that each type of each layer costs alone is measured, then a greedy search takes the step with the least
// increase per byte saved. Everything is a function of network and data: ties go to the earlier layer, then to the
// earlier type, and threads change nothing.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/isa.h"
#include "network/session/network_session.h"

namespace loom {

// Inputs as a ForwardPlan takes them. Targets of the output's shape are met by the mean squared error; one class
// number per row of the output by cross-entropy (of probabilities when the network ends in a softmax, of logits
// otherwise). Without targets the loss is the distance from the float32 network's output, relative to that output's
// size.
struct AutoMorphData {
  std::vector<double> inputs;
  Shape input_shape;
  std::vector<double> targets;  // empty: none
};

struct AutoMorphOptions {
  std::size_t max_session_bytes = ~std::size_t{0};  // of activations and scratch: a call that plans more is OutOfMemory
  std::optional<std::size_t> max_bytes;             // of all weights in memory once masters are released
  std::optional<double> max_loss;                   // of the morphed network; one of the two is given
  std::vector<DType> types;                         // to choose from beside float32; empty: all 21
  int threads = 0;
  std::optional<Isa> isa;
  // The device that measures losses; null: the host. The host also measures types that the device has no kernels for,
  // with the same bits.
  Device* device = nullptr;
  DeviceChooser choose_device;  // in place of `device`
  // Measurements done and foreseen; false cancels.
  std::function<bool(std::size_t done, std::size_t total)> progress;
};

struct AutoMorphRow {
  std::string path, kind;
  DType dtype = DType::float32;
  std::size_t bytes = 0;
  double loss_increase = 0;  // of this layer alone in its type
};

struct AutoMorphReport {
  std::string_view loss_name;               // "mse", "cross_entropy", "relative distance"
  double loss_before = 0, loss = 0;         // of the network in float32, and as chosen
  std::size_t bytes_before = 0, bytes = 0;  // likewise
  std::size_t measurements = 0;
  std::vector<AutoMorphRow> rows;
};

// Morphs the network, whose masters stay (Network::release_masters). InvalidArgument when the budget cannot be reached,
// with the smallest size or loss that can; ShapeMismatch for data that does not fit; NonFinite for inputs or a loss
// that are not; Cancelled. After an error the types are unspecified.
Result<AutoMorphReport> auto_morph(Network& network, const AutoMorphData& data, const AutoMorphOptions& options);

}  // namespace loom
