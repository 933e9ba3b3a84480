#pragma once
// Models in other formats: a GGUF file in another type, a language model of any format as one .entity file, a network
// as an .entity or JSON.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "core/sha256.h"
#include "core/stop.h"
#include "dtypes/dtype.h"

namespace loom {

// The part of a long work that is done; false ends it with Cancelled, and nothing is written.
using OnProgress = std::function<bool(std::size_t done, std::size_t total)>;

struct QuantizeFileOptions {
  DType dtype = DType::float32;
  OnProgress progress{};  // tensors; called for each that is re-encoded
  Stop stop{};            // asked every kStopElements of a matrix
};
struct QuantizeFileResult {
  std::string output;
  std::uint64_t bytes = 0;                 // of the file
  std::size_t tensors = 0, quantized = 0;  // in total, and those that were re-encoded
  DType dtype = DType::float32;
};
// Writes a GGUF file with the matrices of another one in `options.dtype`, and everything else as it is. A row that is
// no whole number of blocks keeps its type. Atomic. Errors of GgufFile and GgufWriter, NonFinite with the tensor;
// Cancelled.
Result<QuantizeFileResult> quantize_file(const std::string& model, const std::string& output,
                                         const QuantizeFileOptions& options);
Json to_json(const QuantizeFileResult& result);

struct ConvertModelOptions {
  int threads = 0;               // 0: one per physical core
  std::optional<DType> dtype{};  // matrices to this type; absent: as stored
  std::string adapter{};         // folder of a low-rank adapter to merge into the weights; empty: none
  // folders of adapters to keep beside the weights, each by the last part of its path as its name
  std::vector<std::string> beside{};
  OnProgress progress{};  // tensors
  Stop stop{};            // asked every kStopElements of a matrix
};
struct ConvertModelResult {
  std::string output;
  std::uint64_t bytes = 0;  // of the file
  std::size_t tensors = 0;  // of the model that was read
  Digest root{};            // the file's root hash
  // the part of the adapter's change that is left after rounding to the weights' types; 1: all. Absent without an
  // adapter
  std::optional<double> adapter_share;
};
// Writes a GGUF file, Hugging Face folder or .entity as an .entity. Atomic. Errors of read_model(), PeftDelta::read()
// and write_model_entity(); InvalidConfig for a name that no adapter can have, or that two would have.
Result<ConvertModelResult> convert_model(const std::string& model, const std::string& output,
                                         const ConvertModelOptions& options = {});
Json to_json(const ConvertModelResult& result);

struct ConvertNetworkOptions {
  int entity_version = 2;   // 1: as Loom 0.8x reads it
  bool allow_loss = false;  // write also what the format cannot hold as it is
};
struct ConvertNetworkResult {
  std::string output;
  std::uint64_t bytes = 0;          // of the file
  Digest hash{};                    // the root hash of an .entity of version 2, the SHA-256 of any other file
  std::vector<std::string> losses;  // values and settings that the file does not hold as they were, one line each
};
// Writes a network of any format that load_network() reads as a JSON checkpoint where the output ends in .json, as an
// .entity else. Atomic. Errors of load_network(), save_network() and loom08::write_entity(); LossySave for what a
// format cannot hold, unless it is allowed.
Result<ConvertNetworkResult> convert_network(const std::string& input, const std::string& output,
                                             const ConvertNetworkOptions& options = {});
Json to_json(const ConvertNetworkResult& result);

}  // namespace loom
