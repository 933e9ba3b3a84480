#pragma once
// One loader for whatever holds a network or a model (engine F-50): the content decides, names do not.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json_fwd.h"
#include "io/mount.h"
#include "lm/encoder.h"
#include "lm/language_model.h"
#include "network/spec.h"

namespace loom {

struct LoadHints {
  std::string path{};  // of a JSON file as network_from_bare() reads it (io/bare_network.h); empty: none
};

struct AnyOptions {
  SpecOptions spec{};
  ModelOptions model{};
  EncoderOptions encoder{};
};

struct AnyModel {
  std::variant<Network, LanguageModel, TextEncoder> model;
  LoadReport report;  // where each tensor went, for files of tensors; of other formats the format alone
  std::vector<std::string> warnings;
};

// Networks: .entity, JSON, files of Loom 0.8x, graphs in ONNX as one cell, safetensors that Loom wrote, and bare
// tensors in safetensors or .npz. Language models: GGUF, a Hugging Face folder, .entity. Text encoders: a folder of a
// BERT. Strict (engine F-51). InvalidArgument for hints beside a file that needs none.
Result<AnyModel> load_any(const std::string& path, const LoadHints& hints = {}, const AnyOptions& options = {});

// Networks alone, for commands that take nothing else.
struct OpenedNetwork {
  SpecResult loaded;
  LoadReport report;
};
Result<OpenedNetwork> open_any_network(const std::string& path, const LoadHints& hints = {},
                                       const SpecOptions& options = {});
// Whether the file holds tensors, which open_any_network() makes a network of.
bool is_tensor_file(const std::string& path);

}  // namespace loom
