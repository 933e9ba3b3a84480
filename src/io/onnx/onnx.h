#pragma once
// ONNX files, opset 7 on: ModelProto of onnx.proto (Apache-2.0), read without a library for protocol buffers. Tensors
// may be in other files of the model's folder.

#include <span>
#include <string>

#include "graph/model.h"

namespace loom {

struct OnnxOptions {
  std::string folder{};  // of external data; empty: there is none
};

// CorruptData with the offset inside the message at hand; Unsupported for opsets, sparse tensors, texts and element
// types that Loom lacks; NestingTooDeep; OutOfRange for external data outside the folder. Operations are not looked at:
// graph::check_model().
Result<graph::Model> parse_onnx(std::span<const std::byte> file, const OnnxOptions& options = {});

// One TensorProto, with its name.
Result<std::pair<std::string, graph::Value>> parse_onnx_tensor(std::span<const std::byte> bytes,
                                                               const OnnxOptions& options = {});

}  // namespace loom
