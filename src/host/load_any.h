#pragma once
// One loader for whatever holds a network or a model (engine F-50): the content decides, names do not.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json_fwd.h"
#include "io/identify.h"
#include "io/mount.h"
#include "graph/plan.h"
#include "lm/encoder.h"
#include "lm/language_model.h"
#include "network/spec/spec.h"

namespace loom {

struct LoadHints {
  std::string path{};  // of a JSON file as network_from_bare() reads it (io/bare_network.h); empty: none
};

// An option that the file's kind does not use is refused by its name: dtype is for language models and encoders,
// threads are for these and for graphs, spec.strict = false ("lenient") is for networks.
struct AnyOptions {
  SpecOptions spec{};
  ModelOptions model{};
  EncoderOptions encoder{};
};

struct AnyModel {
  std::variant<Network, LanguageModel, TextEncoder, std::shared_ptr<const graph::Program>> model;
  LoadReport report;  // where each tensor went, for files of tensors; of other formats the format alone
  std::vector<std::string> warnings;
  Plans plans{};  // of a network, as of SpecResult
};

// Identifies a path, or the id of a model in the cache of the hub (lm/hub.h).
Result<Identified> identify_any(const std::string& path);

// Networks: .entity, JSON, files of Loom 0.8x, safetensors that Loom wrote, and bare tensors in safetensors or .npz.
// Language models: GGUF, a Hugging Face folder, .entity. Text encoders: a folder of a BERT. Graphs: .onnx, .entity.
// Strict (engine F-51). InvalidArgument for hints beside a file that needs none.
Result<AnyModel> load_any(const std::string& path, const LoadHints& hints = {}, const AnyOptions& options = {});

// Networks alone, for commands that take nothing else.
struct OpenedNetwork {
  SpecResult loaded;
  LoadReport report;
};
Result<OpenedNetwork> open_any_network(const Identified& file, const LoadHints& hints = {},
                                       const SpecOptions& options = {});
Result<OpenedNetwork> open_any_network(const std::string& path, const LoadHints& hints = {},
                                       const SpecOptions& options = {});

}  // namespace loom
