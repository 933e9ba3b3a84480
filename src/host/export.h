#pragma once
// Networks and language models in the files of others: ONNX, safetensors, GGUF (engine 10.5).

#include <optional>
#include <string>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "core/shape.h"
#include "core/stop.h"
#include "dtypes/dtype.h"
#include "host/convert.h"
#include "network/network.h"

namespace loom {

struct ExportOptions {
  std::optional<Shape> input_shape{};  // onnx: of one sample; absent: the network's own
  bool dequantize = false;             // networks: integer weights by their float32 values
  std::string hints{};                 // for bare tensors: a JSON file (host/load_any.h); empty: none
  std::optional<DType> dtype{};        // language models: matrices to this type; absent: as stored
  OnProgress progress{};               // language models: tensors
  Stop stop{};                         // asked every kStopElements of a matrix
};

struct ExportResult {
  std::string output, format;  // "onnx", "safetensors", "gguf" or "huggingface"
  std::uint64_t bytes = 0;     // of the file, or of the weights in a folder
  std::size_t tensors = 0, nodes = 0;
  Digest sha256{};                      // of the file, or of the weights in a folder
  std::vector<std::string> warnings{};  // what the folder lacks
};

// By the ending of `output`: a network becomes .onnx or .safetensors; a language model .gguf, or a folder as Hugging
// Face has it, whose name has no such ending. Unsupported, before a byte is written, with the place and the reason of
// what the format cannot express (engine F-43). Atomic for files.
Result<ExportResult> export_file(const std::string& input, const std::string& output, const ExportOptions& options);
// Like export_file(), for a network as it stands.
Result<ExportResult> export_network(const Network& network, const std::string& output, const ExportOptions& options);
Json to_json(const ExportResult& result);

}  // namespace loom
