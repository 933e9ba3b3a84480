#pragma once
// Networks as ONNX models of opset 17 (engine F-42): one group of nodes per cell, named by its path; weights are shared
// initialisers, also where links, ties and shares use them twice. The first axis of inputs and outputs is the batch,
// which callers choose; all others are those of the network's input_shape.

#include <optional>
#include <string>
#include <vector>

#include "network/network.h"

namespace loom {

struct OnnxExportOptions {
  // Shape of one sample; absent: the network's own.
  std::optional<Shape> input_shape{};
  // Writes the values that integer weights stand for, in float32. Loom rounds the inputs of such layers, which the file
  // does not, so that the answers differ by the rounding.
  bool dequantize = false;
};

struct OnnxModelText {
  std::string bytes;       // of the file
  std::size_t nodes = 0;   // of the graph
  Shape input, output;     // of one sample, after an axis of the batch, which is 1
  bool takes_ids = false;  // the input is int64, since an embedding reads it
};

// Unsupported, before anything is written, with the place of all that ONNX or its exactness rules out (engine F-43):
// session state, float64 networks, integer weights whose inputs Loom rounds, random numbers, a second input, layers
// that take the batch for steps. InvalidArgument without a shape of the input. Errors of
// ForwardPlan::create().
Result<OnnxModelText> network_to_onnx(const Network& network, const OnnxExportOptions& options = {});

}  // namespace loom
