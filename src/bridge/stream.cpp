#include "bridge/stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "bridge/bridge_run.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/network_file.h"

namespace loom {
namespace {

std::string text_of(const Json& payload, std::string_view key) {
  const Json* given = find(payload, key);
  const std::string* text = given == nullptr ? nullptr : as_string(*given);
  return text == nullptr ? std::string() : *text;
}

struct Target {
  std::string planet, model_id, path;
};

// Where the file goes. Ids are checked although a path may be given: they stand in reports too.
Result<Target> target_of(const Json& payload, const StreamOptions& options) {
  Target target;
  const auto id = [&](std::string_view key, std::string_view absent) {
    const std::string given = text_of(payload, key);
    return safe_file_name(given.empty() ? absent : given, key);
  };
  LOOM_TRY(target.planet, id("planet", "unknown"));
  LOOM_TRY(target.model_id, id("model_id", "model"));
  target.path = options.output;
  if (target.path.empty())
    target.path = fmt::format("{0}/{1}/{2}/{2}.stream.entity", options.models, target.planet, target.model_id);
  const std::size_t slash = target.path.rfind('/');
  if (slash != std::string::npos && slash > 0) LOOM_TRY_VOID(create_folders(target.path.substr(0, slash)));
  return target;
}

// The numbers of an output that the payload asks for: the first output_dim.
Result<JsonRows> wanted_outputs(const BridgeRun& run, std::size_t count, const Json& payload) {
  JsonRows rows{count, run.width, {}};
  if (const Json* given = find(payload, "output_dim"); given != nullptr && !given->is_null()) {
    const auto dim = as_int(*given);
    if (!dim || *dim < 0 || static_cast<std::size_t>(*dim) > run.width)
      return fail_at({"output_dim"}, Code::ShapeMismatch, "{}, the network gives {} numbers",
                     printable(dump_json(*given)), run.width);
    if (*dim > 0) rows.width = static_cast<std::size_t>(*dim);
  }
  rows.values.reserve(count * rows.width);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < rows.width; ++k) {
      const double value = run.outputs[i * run.width + k];
      if (!std::isfinite(value)) return fail(Code::NonFinite, "output {} of sample {} is not finite", k, i);
      rows.values.push_back(value);
    }
  return rows;
}

Digest digest_of(std::span<const double> values) {
  Sha256 hash;
  std::vector<float> narrow(values.begin(), values.end());
  hash.update_floats(narrow);
  return hash.finish();
}

Result<std::optional<JsonRows>> native_outputs(const Json& payload, const StreamOptions& options) {
  if (const Json* given = find(payload, "native_outputs"); given != nullptr && !given->is_null()) {
    LOOM_TRY(JsonRows rows, rows_from_json(*given, {"native_outputs"}));
    return {std::move(rows)};
  }
  if (options.native == nullptr) return std::optional<JsonRows>();
  return {*options.native};
}

double largest_distance(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Fills the layers of a certificate: what float32 costs, and how far the source's own layers are.
Result<void> certify_layers(StreamCertificate& out, const Json& payload, const BridgeNetwork& bridge,
                            const BridgeSamples& samples, const BridgeRun& run, const StreamOptions& options) {
  LOOM_TRY(BridgeNetwork wide, network_from_payload(payload, Element::f64));
  LOOM_TRY(const BridgeRun reference, run_samples(wide.network, samples, wide, wide.cells, options));
  const Json* given = find(payload, "layer_outputs");
  if (given != nullptr && (!given->is_array() || given->size() != bridge.cells.size()))
    return fail_at({"layer_outputs"}, Code::ShapeMismatch, "expected a list of {} entries, one per layer",
                   bridge.cells.size());
  for (std::size_t i = 0; i < bridge.cells.size(); ++i) {
    LayerCertificate layer{bridge.kinds[i], run.shapes[i]};
    layer.rounding = largest_distance(run.layers[i], reference.layers[i]);
    if (given != nullptr && !(*given)[i].is_null()) {
      const Steps place = {"layer_outputs", std::to_string(i)};
      LOOM_TRY(const JsonRows rows, rows_from_json((*given)[i], place));
      if (rows.values.size() != run.layers[i].size())
        return fail_at(place, Code::ShapeMismatch, "{} numbers, the layer gives {}", rows.values.size(),
                       run.layers[i].size());
      layer.source = largest_distance(rows.values, run.layers[i]);
    }
    out.layers.push_back(std::move(layer));
  }
  return {};
}

// Whether the file that was written gives the same bits.
Result<bool> same_after_reload(const std::string& path, const BridgeNetwork& bridge, const BridgeSamples& samples,
                               const BridgeRun& run, const StreamOptions& options) {
  LOOM_TRY(SpecResult loaded, load_network(path));
  LOOM_TRY(const BridgeRun again, run_samples(loaded.network, samples, bridge, {}, options));
  return std::ranges::equal(run.outputs, again.outputs, [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  });
}

Result<StreamCertificate> certify(const StreamResult& result, const Json& payload, const BridgeNetwork& bridge,
                                  const BridgeSamples& samples, const BridgeRun& run,
                                  const std::optional<JsonRows>& native, const StreamOptions& options) {
  StreamCertificate out{result.bedrock, result.planet, result.model_id};
  out.loom = digest_of(result.outputs.values);
  if (native && result.difference) out.source = digest_of(native->values);
  out.difference = result.difference, out.samples = samples.count;
  LOOM_TRY(out.reload_equal, same_after_reload(result.entity_path, bridge, samples, run, options));
  if (!out.reload_equal)
    return fail(Code::InvalidState, "{}: the file that was written gives other bits", result.entity_path);
  LOOM_TRY_VOID(certify_layers(out, payload, bridge, samples, run, options));
  return out;
}

Result<BridgeSamples> find_samples(const BridgeNetwork& bridge, const Json& payload, const StreamOptions& options) {
  if (has_inputs(payload)) return samples_of_request(bridge, payload);
  const std::string version = text_of(payload, "fixture_version");
  if (version.empty())
    return fail_at({"inputs"}, Code::InvalidConfig, "expected samples, or fixture_version; got neither");
  if (options.fixtures.empty())
    return fail_at({"fixture_version"}, Code::NotFound, "no folder of fixtures is named (--fixtures)");
  return samples_of_fixture(bridge, options.fixtures, version);
}

Result<void> infer(StreamResult& out, BridgeNetwork& bridge, const Json& payload, const Digest& root,
                   const StreamOptions& options) {
  LOOM_TRY(const BridgeSamples samples, find_samples(bridge, payload, options));
  const std::span<const std::size_t> cells = bridge.cells;
  LOOM_TRY(const BridgeRun run,
           run_samples(bridge.network, samples, bridge, options.certify ? cells : cells.first(0), options));
  LOOM_TRY(out.outputs, wanted_outputs(run, samples.count, payload));
  LOOM_TRY(const std::optional<JsonRows> native, native_outputs(payload, options));
  if (native) {
    auto difference = difference_of(*native, out.outputs);
    if (!difference && find(payload, "native_outputs") != nullptr)
      return under({"native_outputs"}, std::move(difference).error());
    if (difference) out.difference = *difference;
  }
  if (!options.certify) return {};
  LOOM_TRY(out.certificate, certify(out, payload, bridge, samples, run, native, options));
  out.certificate->entity = root;
  return {};
}

}  // namespace

Result<OutputDifference> difference_of(const JsonRows& a, const JsonRows& b) {
  if (a.count != b.count || a.width != b.width)
    return fail(Code::ShapeMismatch, "{} samples of {} numbers, the network gave {} of {}", a.count, a.width, b.count,
                b.width);
  OutputDifference out;
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double distance = std::abs(a.values[i] - b.values[i]);
    out.largest = std::max(out.largest, distance), sum += distance;
    out.exact = out.exact && a.values[i] == b.values[i];
  }
  out.mean = a.values.empty() ? 0 : sum / static_cast<double>(a.values.size());
  return out;
}

std::string_view difference_label(const OutputDifference& difference) {
  constexpr double kPass = 1e-5;  // of planetbridging's compare.py
  return difference.exact ? "EXACT" : difference.largest < kPass ? "PASS" : "DIFF";
}

Result<StreamResult> stream_payload(const Json& payload, const StreamOptions& options) {
  LOOM_TRY(BridgeNetwork bridge, network_from_payload(payload));
  LOOM_TRY(Target target, target_of(payload, options));
  StreamResult out;
  out.bedrock = bridge.bedrock, out.planet = std::move(target.planet), out.model_id = std::move(target.model_id);
  out.layer_count = bridge.kinds.size(), out.weight_bytes = bridge.weight_bytes;
  LOOM_TRY(const Digest root, save_network(target.path, bridge.network));
  out.entity_path = std::move(target.path);
  if (options.infer) LOOM_TRY_VOID(infer(out, bridge, payload, root, options));
  return out;
}

Result<StreamResult> stream_envelope(const Json& envelope, StreamOptions options) {
  const Json* payload = find(envelope, "payload");
  if (payload == nullptr) return stream_payload(envelope, options);
  if (!payload->is_object()) return fail_at({"payload"}, Code::InvalidConfig, "expected an object");
  const std::string models = text_of(envelope, "models_dir"), fixtures = text_of(envelope, "fixtures_dir"),
                    output = text_of(envelope, "output_path"), root = text_of(envelope, "root");
  if (!models.empty())
    options.models = models;
  else if (!root.empty() && output.empty())
    options.models = root + "/models";
  if (!fixtures.empty()) options.fixtures = fixtures;
  if (!output.empty()) options.output = output;
  if (const Json* skip = find(envelope, "skip_infer")) options.infer = !as_bool(*skip).value_or(false);
  // Samples of a second tensor, and what the source gave, may stand in either object.
  Json whole = *payload;
  for (const char* key : {"bedrock", "fixture_version"})
    if (find(whole, key) == nullptr && find(envelope, key) != nullptr) whole[key] = *find(envelope, key);
  for (const char* key : {"inputs", "skip_inputs", "token_inputs", "native_outputs", "layer_outputs"})
    if (find(envelope, key) != nullptr) whole[key] = *find(envelope, key);
  return stream_payload(whole, options);
}

}  // namespace loom
