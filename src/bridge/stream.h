#pragma once
// Streams: a payload of live weights becomes a network, an .entity file, outputs on samples and a certificate (engine
// F-70).

#include <atomic>
#include <optional>
#include <string>

#include "bridge/bridge_inputs.h"
#include "core/sha256.h"

namespace loom {

struct StreamOptions {
  std::string models = "models";                 // files are models/PLANET/MODEL/MODEL.stream.entity
  std::string output{};                          // the file itself instead
  std::string fixtures{};                        // folder of fixture files; empty: samples come with the request
  bool infer = true;                             // false: the file alone
  bool certify = true;                           // compares every layer with float64 and runs the file that was written
  int threads = 0;                               // 0: one per physical core
  std::optional<Isa> isa{};                      // absent: the best of this machine
  std::size_t max_bytes = std::size_t{4} << 30;  // of activations of one run
  // the source's own outputs, where the request brings none; those of other samples are not compared
  const JsonRows* native = nullptr;
  const std::atomic<bool>* cancel = nullptr;
};

// The difference of two lists of outputs.
struct OutputDifference {
  double largest = 0, mean = 0;
  bool exact = true;
};
// ShapeMismatch unless both have the same rows.
Result<OutputDifference> difference_of(const JsonRows& a, const JsonRows& b);
// EXACT, PASS below 1e-5, DIFF.
std::string_view difference_label(const OutputDifference& difference);

// One layer of the payload in a certificate.
struct LayerCertificate {
  std::string kind;
  Shape shape{};                   // of what it gives for one sample
  double rounding = 0;             // largest distance to the same network in float64
  std::optional<double> source{};  // to the outputs that the request brings for the layer
};
struct StreamCertificate {
  std::string bedrock, planet, model_id;
  Digest loom{}, entity{};         // of the outputs as float32, and the root of the file
  std::optional<Digest> source{};  // of the source's outputs, rounded to float32
  std::optional<OutputDifference> difference{};
  std::size_t samples = 0;
  bool reload_equal = false;  // the written file gave the same bits
  std::vector<LayerCertificate> layers{};
};
Json to_json(const StreamCertificate& certificate);
// A page of its own, without anything from elsewhere.
std::string certificate_page(const Json& certificate);

struct StreamResult {
  std::string bedrock, planet, model_id, entity_path;
  std::size_t layer_count = 0, weight_bytes = 0;
  JsonRows outputs{};
  std::optional<OutputDifference> difference{};
  std::optional<StreamCertificate> certificate{};
};
// status, entity_path, layer_count, weight_bytes, output_dim, sample_count, outputs, max_abs_diff, mean_abs_diff,
// exact_match (the last three where the source's outputs are known), message, certificate.
Json to_json(const StreamResult& result);
// {"status": "error", "message": ..., "code": ...}
Json stream_error(const Error& error);

// Errors of network_from_payload(), samples and files; NonFinite when an output is not finite; InvalidState when the
// file that was written gives other bits.
Result<StreamResult> stream_payload(const Json& payload, const StreamOptions& options);

// Runs the text that a client writes to `loom stream`: `{bedrock, root, models_dir, fixtures_dir, fixture_version,
// output_path, inputs, skip_infer, payload}`, or a payload alone.
Result<StreamResult> stream_envelope(const Json& envelope, StreamOptions options);

}  // namespace loom
