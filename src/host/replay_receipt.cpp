#include "host/replay_receipt.h"

#include <algorithm>

#include "core/numerics_version.h"
#include "host/device.h"
#include "host/load_any.h"
#include "io/onnx/graph_file.h"
#include "lm/peft.h"
#include "text/unicode/utf8.h"

namespace loom {
namespace {

// The first difference in one line; empty: equal.
using Difference = std::string;

Difference compare(std::string_view what, std::string_view given, std::string_view computed) {
  if (given == computed) return {};
  constexpr std::size_t kMost = 80;
  return fmt::format("{}: {} in the receipt, {} computed", what, given.substr(0, kMost), computed.substr(0, kMost));
}

// `so_far`: more may follow what was computed.
Difference compare_ids(std::string_view what, std::span<const std::int32_t> given,
                       std::span<const std::int32_t> computed, bool so_far = false) {
  for (std::size_t i = 0; i < std::min(given.size(), computed.size()); ++i)
    if (given[i] != computed[i])
      return fmt::format("{} {} of {}: {} in the receipt, {} computed", what, i + 1, given.size(), given[i],
                         computed[i]);
  if (given.size() == computed.size() || (so_far && computed.size() < given.size())) return {};
  return fmt::format("number of {}s: {} in the receipt, {} computed", what, given.size(), computed.size());
}

// Replays one receipt. Each step returns the first difference that it finds.
class Replay {
 public:
  Replay(const Receipt& receipt, const ReceiptReplayOptions& options)
      : r_(receipt), o_(options), isa_(isa_of(receipt, options)), device_(device_of(receipt, options)) {}

  Isa isa() const { return isa_; }
  const std::string& device() const { return device_; }

  Result<Difference> run() {
    if (r_.numerics_version != kNumericsVersion)
      return fmt::format("numerics version: {} in the receipt, this program has {}: loom {} computes its bits",
                         r_.numerics_version, kNumericsVersion, r_.version);
    LOOM_TRY(Difference found, check_files());
    if (!found.empty()) return found + first_other_layer();
    switch (r_.command) {
      case Receipt::Command::generate:
      case Receipt::Command::logits: return language_model();
      case Receipt::Command::embed: return embedding();
      case Receipt::Command::run: {
        LOOM_TRY(const Identified file, identify_any(place_of(r_.model.path)));
        return file.is_graph() ? graph() : network();
      }
    }
    return Difference();
  }
  const std::string& hash() const { return hash_; }

 private:
  // The instruction set and the device of the receipt, where this machine has them; no bit depends on them.
  static Isa isa_of(const Receipt& receipt, const ReceiptReplayOptions& options) {
    if (options.isa) return *options.isa;
    const auto named = isa_from_name(receipt.machine.isa);
    const std::vector<Isa> usable = usable_isas();
    return named && std::ranges::find(usable, *named) != usable.end() ? *named : best_isa();
  }
  static std::string device_of(const Receipt& receipt, const ReceiptReplayOptions& options) {
    if (!options.device.empty()) return options.device;
    return receipt.machine.device.starts_with("gpu") && device_from_name("gpu") ? "gpu" : "cpu";
  }

  static std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? std::string() : path.substr(0, slash + 1);
  }

  // Returns the place of a path of the receipt on this machine.
  std::string place_of(const std::string& path) const {
    if (!o_.model.empty()) {
      if (path == r_.model.path) return o_.model;
      const std::string old = folder_of(r_.model.path);
      if (path.starts_with(old) && path.find('/', old.size()) == path.npos)
        if (const std::string beside = folder_of(o_.model) + path.substr(old.size()); is_file(beside)) return beside;
    }
    return o_.folder.empty() || path.starts_with('/') ? path : o_.folder + "/" + path;
  }

  Result<Difference> check_file(std::string_view what, const Receipt::File& file, std::string_view hint = {}) const {
    const std::string path = place_of(file.path);
    const auto digest = content_hash(path, HashCache::fresh, o_.cancel);
    if (!digest && digest.error().code == Code::CorruptData) return fmt::format("{}: {}", what, digest.error().text());
    if (!digest && digest.error().code == Code::NotFound)
      return fail(Code::NotFound, "{}{}", digest.error().text(), hint);
    if (!digest) return tl::make_unexpected(digest.error());
    return compare(fmt::format("SHA-256 of {} {}", what, path), file.sha256, to_hex(*digest));
  }

  Result<Difference> check_files() const {
    LOOM_TRY(Difference found, check_file("the model", r_.model, "; --model PATH says where the model is now"));
    const auto all = [&](std::string_view what, const std::vector<Receipt::File>& files) -> Result<Difference> {
      for (const Receipt::File& file : files)
        if (found.empty()) {
          LOOM_TRY(found, check_file(what, file, "; --folder FOLDER says where relative paths start"));
        }
      return found;
    };
    LOOM_TRY_VOID(all("the adapter", r_.adapters));
    LOOM_TRY_VOID(all("the input", r_.input.files));
    LOOM_TRY_VOID(all("the file", r_.input.others));
    if (!r_.input.hints.path.empty()) LOOM_TRY_VOID(all("the hints", {r_.input.hints}));
    return found;
  }

  // After files that differ: names the first layer whose weights are not those of the receipt.
  std::string first_other_layer() const {
    if (!r_.trace || r_.command != Receipt::Command::generate) return {};
    const auto model = load();
    if (!model) return model.error().code == Code::Cancelled ? "" : "; " + model.error().text();
    const auto weights = weights_of(*model);
    const Difference layer = weights ? compare_weights(*weights) : weights.error().text();
    return layer.empty() ? "; no weight differs" : "; " + layer;
  }

  Result<std::vector<Digest>> weights_of(const LanguageModel& model) const {
    LOOM_TRY(const auto pool, ThreadPool::given_or_new(nullptr, o_.threads));
    return weight_digests(*model.decoder, &r_.session.adapters, *pool);
  }

  Difference compare_weights(const std::vector<Digest>& weights) const {
    const std::vector<std::string>& given = r_.trace->weights;
    if (given.size() != weights.size())
      return fmt::format("layers of the trace: {} in the receipt, the model has {}", given.size(), weights.size());
    for (std::size_t layer = 0; layer < weights.size(); ++layer)
      if (given[layer] != to_hex(weights[layer]))
        return fmt::format("first layer whose weights differ: {}", trace_layer_name(layer, weights.size()));
    return {};
  }

  // Names the first token and the first layer that differ in the trace; empty: none does.
  Result<Difference> compare_trace(const LanguageModel& model, const Session& like) const {
    if (!r_.trace) return Difference();
    LOOM_TRY(std::vector<Digest> weights, weights_of(model));
    if (Difference found = compare_weights(weights); !found.empty()) return found;
    LOOM_TRY(const auto session, trace_session(like));
    LOOM_TRY(auto again, trace_again(r_, *session, o_.cancel));
    Trace& computed = again.first;
    const auto first = [](const std::vector<std::string>& given, const std::vector<Digest>& now) {
      std::size_t i = 0;
      while (i < given.size() && i < now.size() && given[i] == to_hex(now[i])) ++i;
      return i;
    };
    const std::size_t tokens = computed.tokens.size(), layers = computed.layers.size();
    if (r_.trace->tokens.size() != tokens || r_.trace->layers.size() != layers)
      return fmt::format("trace: {} tokens and {} layers in the receipt, {} and {} computed", r_.trace->tokens.size(),
                         r_.trace->layers.size(), tokens, layers);
    const std::size_t token = first(r_.trace->tokens, computed.tokens),
                      layer = first(r_.trace->layers, computed.layers);
    if (token < tokens || layer < layers)
      return fmt::format("trace: the first token that differs is {}, the first layer {}",
                         token < tokens ? fmt::format("{} of {}", token + 1, tokens) : "none",
                         layer < layers ? trace_layer_name(layer, layers) : "none");
    computed.weights = std::move(weights);
    seal_trace(computed);
    return compare("root of the trace", r_.trace->root, to_hex(computed.root));
  }

  template <class Options>
  Result<void> set_workers(Options& to, double passes) const {
    to.threads = o_.threads, to.isa = isa_;
    return name_device(device_, to, passes);
  }

  Result<LanguageModel> load() const {
    ModelOptions options;
    options.threads = o_.threads, options.decoder.cancel = o_.cancel;
    if (!r_.session.dtype.empty()) {
      LOOM_TRY(options.decoder.dtype, dtype_from_name(r_.session.dtype));
    }
    LOOM_TRY(LanguageModel model, load_language_model(place_of(r_.model.path), options));
    auto decoder = std::const_pointer_cast<DecoderModel>(model.decoder);  // nobody else holds it
    for (const Receipt::File& adapter : r_.adapters)
      LOOM_TRY_VOID(load_peft(*decoder, place_of(adapter.path), adapter.name));
    return model;
  }

  Result<std::unique_ptr<Session>> session_of(const LanguageModel& model) const {
    SessionOptions options;
    LOOM_TRY_VOID(set_workers(options, kManyPasses));
    options.context_tokens = r_.session.context;
    options.activations = r_.session.activations;
    LOOM_TRY(options.kv_dtype, dtype_from_name(r_.session.kv_dtype));
    options.adapters = r_.session.adapters;
    return Session::create(model.decoder, options);
  }

  Result<Difference> compare_prompt(const LanguageModel& model) const {
    if (!r_.prompt.is_exact) return Difference();
    LOOM_TRY_VOID(model.need_tokenizer());
    std::vector<std::int32_t> ids;
    const text::EncodeOptions options{.add_special_tokens = r_.prompt.adds_special_tokens,
                                      .max_tokens = static_cast<std::size_t>(r_.session.context + 1)};
    LOOM_TRY_VOID(model.tokenizer->encode(r_.prompt.text, options, ids));
    return compare_ids("prompt id", r_.prompt.ids, ids);
  }

  Result<Difference> language_model() {
    if (r_.prompt.ids.empty()) return fail(Code::CorruptData, "/prompt/ids: expected at least one id, got none");
    LOOM_TRY(const LanguageModel model, load());
    LOOM_TRY(const auto session, session_of(model));
    LOOM_TRY(Difference found, compare_prompt(model));
    if (!found.empty()) return found;
    if (r_.command == Receipt::Command::generate) {
      LOOM_TRY(found, generation(model, *session));
      if (const auto where = compare_trace(model, *session); where && !where->empty())
        found += (found.empty() ? "" : "; ") + *where;
      else if (!where && found.empty())
        return where;
      // All ids are read again: the file is named, and not needed.
      if (!found.empty() && !r_.kv.empty())
        found += fmt::format("; the answer went on from the keys and values of {}", r_.kv[0].path);
      return found;
    }
    LOOM_TRY(const std::span<const float> logits, session->feed(r_.prompt.ids, 0, o_.cancel));
    Sha256 hash;
    hash.update_floats(logits);
    return compare_hash("hash of the logits", hash.finish());
  }

  // Ends with the first token that differs.
  Result<Difference> generation(const LanguageModel& model, Session& session) {
    GenerationOptions options = r_.generation;
    if (r_.form) {
      LOOM_TRY(options.grammar, Grammar::from_source(*r_.form));
    }
    LOOM_TRY(Generator generator, Generator::create(session, model, r_.prompt.ids, options));
    const Generation& g = generator.result();
    while (!generator.done()) {
      LOOM_TRY_VOID(generator.next(o_.cancel));
      if (g.stop_reason == StopReason::Cancelled) return fail(Code::Cancelled, "cancelled");
      if (Difference found = compare_ids("token", r_.result.ids, g.ids, true); !found.empty()) return found;
      if (o_.progress) o_.progress(g.ids.size(), r_.result.ids.size());
    }
    Difference found = compare_ids("token", r_.result.ids, g.ids);
    if (found.empty()) found = compare("reason of the end", r_.result.stop_reason, std::string(name(g.stop_reason)));
    if (found.empty() && r_.result.text != text::to_valid_utf8(g.text)) found = "the text of the answer differs";
    if (!found.empty()) return found;
    return compare_hash("hash of the ids and the last logits", g.hash);
  }

  Result<Difference> embedding() {
    EncoderOptions options;
    LOOM_TRY_VOID(set_workers(options.session, kManyPasses));
    if (!r_.session.dtype.empty()) {
      LOOM_TRY(options.dtype, dtype_from_name(r_.session.dtype));
    }
    options.prompt = r_.text_prompt;  // also where the folder has another default
    LOOM_TRY(TextEncoder encoder, TextEncoder::load(place_of(r_.model.path), options));
    LOOM_TRY(const std::vector<TextEmbedding> vectors, encoder.embed(r_.texts, o_.cancel));
    return compare_hash("hash of the vectors", hash_of(vectors));
  }

  Result<Difference> network() {
    const std::string hints = r_.input.hints.path.empty() ? std::string() : place_of(r_.input.hints.path);
    LOOM_TRY(OpenedNetwork opened, open_any_network(place_of(r_.model.path), {hints},
                                                    {.strict = !r_.input.lenient, .max_bytes = o_.max_bytes}));
    Network& net = opened.loaded.network;
    if (r_.input.files.size() > 1)
      return fail(Code::CorruptData, "/input/files: a network has one input, {} are given", r_.input.files.size());
    LOOM_TRY(const TensorValues input, r_.input.files.empty()
                                           ? drawn_input(net, r_.input.batch, r_.input.seed, o_.max_bytes)
                                           : read_tensor(place_of(r_.input.files[0].path)));
    NetworkRunOptions options;
    options.threads = o_.threads, options.isa = isa_, options.max_bytes = o_.max_bytes, options.cancel = o_.cancel;
    NetworkSessionOptions named;
    LOOM_TRY_VOID(set_workers(named, 1));
    options.device = named.device, options.choose_device = named.choose_device;
    LOOM_TRY(const NetworkOutput y, run_network(net, input, options));
    return compare_hash("hash of the output", y.hash);
  }

  Result<Difference> graph() {
    GraphRunOptions options;
    options.seed = r_.input.seed, options.max_bytes = o_.max_bytes, options.runner.cancel = o_.cancel;
    LOOM_TRY_VOID(set_workers(options.runner, 1));
    for (const Receipt::File& file : r_.input.files)
      options.inputs.push_back((file.name.empty() ? "" : file.name + "=") + place_of(file.path));
    LOOM_TRY(const GraphRunResult result, run_graph_file(place_of(r_.model.path), options));
    return compare_hash("hash of the outputs", result.digest);
  }

  Difference compare_hash(std::string_view what, const Digest& computed) {
    hash_ = to_hex(computed);
    return compare(what, r_.result.hash, hash_);
  }

  const Receipt& r_;
  const ReceiptReplayOptions& o_;
  const Isa isa_;
  const std::string device_;
  std::string hash_;
};

}  // namespace

Result<ReceiptReplay> replay_receipt(const Json& json, const ReceiptReplayOptions& options) {
  if (is_fast_name(options.device))
    return fail(Code::InvalidArgument, "a replay compares bits, and those of precision fast are of no other device");
  LOOM_TRY(const Receipt receipt, receipt_from_json(json));
  ReceiptReplay out;
  out.command = *as_string(json["command"]), out.model = receipt.model.path;
  if (!is_intact(json)) {
    out.difference = "digest: the receipt was changed after it was written";
    return out;
  }
  Replay replay(receipt, options);
  auto found = replay.run();
  // Settings of the receipt are no arguments of the caller.
  if (!found && found.error().code == Code::InvalidArgument) found.error().code = Code::InvalidConfig;
  if (!found) return tl::make_unexpected(std::move(found).error());
  out.difference = std::move(*found), out.hash = replay.hash();
  out.isa = name(replay.isa()), out.device = replay.device();
  return out;
}

Json to_json(const ReceiptReplay& replay) {
  return {{"command", replay.command},
          {"model", replay.model},
          {"equal", replay.difference.empty()},
          {"difference", replay.difference.empty() ? Json() : Json(replay.difference)},
          {"hash", replay.hash.empty() ? Json() : Json(replay.hash)},
          {"isa", replay.isa.empty() ? Json() : Json(replay.isa)},
          {"device", replay.device.empty() ? Json() : Json(replay.device)}};
}

}  // namespace loom
