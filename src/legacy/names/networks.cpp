// Networks of Loom 0.8x. A handle is that of loom.h; the session that runs one is kept beside it.

#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "legacy/names/own_objects.h"

namespace welvet {
namespace {

// Types by their numbers in 0.8x.
constexpr const char* kTypes[] = {"float64", "float32", "float16", "bfloat16", "fp8e4m3", "fp8e5m2", "int64",
                                  "int32",   "int16",   "int8",    "uint64",   "uint32",  "uint16",  "uint8",
                                  "int4",    "uint4",   "fp4",     "int2",     "uint2",   "ternary", "binary"};

std::mutex g_networks_mutex;
std::map<loom_handle, loom_handle>& sessions() {
  static auto* const all = new std::map<loom_handle, loom_handle>;
  return *all;
}

// The session of a network; 0 when it cannot be made, and loom_last_error() says why.
loom_network_session session_of(loom_network network) {
  const std::scoped_lock lock(g_networks_mutex);
  if (const auto found = sessions().find(network); found != sessions().end()) return found->second;
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.threads = shared_threads();
  loom_network_session made = 0;
  if (loom_network_session_create(network, &options, &made) != LOOM_OK) return 0;
  return sessions()[network] = made;
}

// Extents of an input: none stands for one sample of all values, a single one for one sample.
bool read_shape(const char* json, int length, std::vector<std::uint64_t>& shape) {
  if (length < 0) return false;
  const std::string_view given = words(json);
  const Json list = given.empty() ? Json::array() : Json::parse(given, nullptr, false);
  if (!list.is_array()) return false;
  for (const Json& extent : list) {
    if (!extent.is_number_unsigned()) return false;
    shape.push_back(extent.get<std::uint64_t>());
  }
  if (shape.empty()) shape = {static_cast<std::uint64_t>(length)};
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  return true;
}

char* forward(int64_t n, const float* input, int length, const char* json) {
  std::vector<std::uint64_t> shape;
  if (!read_shape(json, length, shape)) return failed("expected a JSON list of extents, and a length of 0 or more");
  const loom_network_session session = session_of(handle(n));
  if (session == 0) return failed_call();
  const loom_tensor x = float_tensor(input, static_cast<std::size_t>(length), shape);
  auto y = sized<loom_tensor>();
  if (loom_network_session_forward(session, &x, nullptr, &y) != LOOM_OK) return failed_call();
  return json_text(Json(floats_of(y)));
}

// Forward, the gradient of the mean squared error, backward.
char* backward(int64_t n, const float* input, int length, const char* json, const float* target, int targets) {
  std::vector<std::uint64_t> shape;
  if (!read_shape(json, length, shape) || targets < 0 || target == nullptr)
    return failed("expected JSON lists of extents, and lengths of 0 or more");
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.threads = shared_threads(), options.backward = 1;
  Held session;
  if (loom_network_session_create(handle(n), &options, session.out()) != LOOM_OK) return failed_call();
  const auto begin = std::chrono::steady_clock::now();
  const loom_tensor x = float_tensor(input, static_cast<std::size_t>(length), shape);
  auto y = sized<loom_tensor>(), dx = sized<loom_tensor>();
  if (loom_network_session_forward(session.get(), &x, nullptr, &y) != LOOM_OK) return failed_call();
  const std::vector<float> out = floats_of(y);
  const std::size_t count = out.size();
  if (count != static_cast<std::size_t>(targets))
    return failed("the output has " + std::to_string(count) + " values, the target " + std::to_string(targets));
  std::vector<float> slope(count);
  for (std::size_t i = 0; i < count; ++i) slope[i] = 2 * (out[i] - target[i]) / static_cast<float>(count);
  const std::vector<std::uint64_t> extents{count};
  const loom_tensor dy = float_tensor(slope.data(), count, extents);
  if (loom_network_session_backward(session.get(), &dy, 0, &dx) != LOOM_OK) return failed_call();
  const Json input_gradient(floats_of(dx));
  Json weight_gradient = Json::array();
  loom_blob list = 0;
  if (loom_network_weights(handle(n), &list) == LOOM_OK) {
    const Json weights = Json::parse(take(list), nullptr, false);
    if (weights.is_array() && !weights.empty()) {
      std::size_t elements = 1;
      for (const Json& extent : weights[0]["shape"]) elements *= extent.get<std::size_t>();
      std::vector<float> values(elements);
      const auto name = weights[0]["name"].get<std::string>();
      const loom_tensor to = float_tensor(values.data(), elements);
      if (loom_network_session_gradient(session.get(), name.c_str(), &to) == LOOM_OK) weight_gradient = values;
    }
  }
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  return json_text(Json{{"dx", input_gradient}, {"dw", weight_gradient}, {"dur_ns", took.count()}});
}

// A config of 0.8x as one of a trainer; what 0.8x has no more is left out.
Json trainer_config(const Json& given) {
  Json out{{"optimizer", "sgd"}, {"learning_rate", given.value("LearningRate", 0.01)}};
  out["loss"] = given.value("LossType", "mse") == "mse" ? "mse" : "softmax_crossentropy";
  if (const double clip = given.value("GradientClip", 0.0); clip > 0) out["clip_norm"] = clip;
  return out;
}

// Samples of a training, cut into batches.
struct Lesson {
  std::vector<std::uint64_t> shape;
  std::size_t inputs = 0, targets = 0, batches = 0;  // values of a batch, how many there are
};

// Classes of targets that are one row of probabilities each: the likeliest.
std::vector<std::int32_t> classes_of(const float* targets, std::size_t count, std::size_t width) {
  std::vector<std::int32_t> out;
  for (std::size_t row = 0; row + width <= count; row += width) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < width; ++i)
      if (targets[row + i] > targets[row + best]) best = i;
    out.push_back(static_cast<std::int32_t>(best));
  }
  return out;
}

char* learn(int64_t n, const float* input, const float* target, const Lesson& lesson, std::size_t width,
            const Json& given) {
  const Json config = trainer_config(given);
  const std::string document = config.dump();
  auto options = sized<loom_compute_options>();
  options.threads = shared_threads();
  Held trainer;
  if (loom_trainer_create(handle(n), document.data(), document.size(), lesson.shape.data(), lesson.shape.size(),
                          &options, trainer.out()) != LOOM_OK)
    return failed_call();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> history;
  const int epochs = given.value("Epochs", 10);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double sum = 0;
    for (std::size_t b = 0; b < lesson.batches; ++b) {
      auto batch = sized<loom_batch>();
      const loom_tensor inputs = float_tensor(input + b * lesson.inputs, lesson.inputs, lesson.shape);
      loom_tensor targets = float_tensor(target + b * lesson.targets, lesson.targets);
      std::vector<std::int32_t> classes;
      if (config["loss"] != "mse") {
        classes = classes_of(target + b * lesson.targets, lesson.targets, width);
        targets.element = LOOM_ELEMENT_INT32;
        targets.data = classes.data(), targets.data_size = classes.size() * sizeof(std::int32_t);
      }
      batch.inputs = &inputs, batch.targets = &targets;
      auto step = sized<loom_training_step>();
      if (loom_trainer_step(trainer.get(), &batch, 0, &step) != LOOM_OK) return failed_call();
      sum += step.loss;
    }
    history.push_back(sum / static_cast<double>(lesson.batches));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  return json_text(Json{{"loss_history", history},
                        {"final_loss", history.empty() ? Json() : Json(history.back())},
                        {"total_time_ms", took.count()}});
}

char* train(int64_t n, const float* input, int inputs, const float* target, int targets, int batch, int in_dim,
            int out_dim, const char* config) {
  const std::string_view given = words(config);
  const Json json = given.empty() ? Json::object() : Json::parse(given, nullptr, false);
  if (!json.is_object()) return failed("the config is no JSON object");
  if (json.value("Mode", 0) > 2 || json.value("UseGPU", false)) return failed("unsupported: training on a GPU");
  const std::string loss = json.value("LossType", "mse");
  if (loss != "mse" && loss != "crossentropy") return failed("unsupported LossType \"" + loss + "\"");
  if (input == nullptr || target == nullptr || batch < 1 || in_dim < 1 || out_dim < 1 || inputs < 1 || targets < 1)
    return failed("expected samples, and a batch and dimensions of 1 or more");
  Lesson lesson;
  lesson.shape = {static_cast<std::uint64_t>(batch), static_cast<std::uint64_t>(in_dim)};
  if (const auto shape = json.find("InputShape"); shape != json.end() && shape->is_array() && !shape->empty())
    lesson.shape = shape->get<std::vector<std::uint64_t>>();
  std::size_t values = 1;
  for (const std::uint64_t extent : lesson.shape)
    if (extent == 0 || __builtin_mul_overflow(values, static_cast<std::size_t>(extent), &values))
      return failed("InputShape has an extent of 0, or more values than can be counted");
  lesson.inputs = values;
  lesson.batches = static_cast<std::size_t>(inputs) / values;
  if (lesson.batches == 0 || static_cast<std::size_t>(inputs) % values != 0 ||
      static_cast<std::size_t>(targets) % lesson.batches != 0)
    return failed(std::to_string(inputs) + " inputs and " + std::to_string(targets) + " targets are no whole batches");
  lesson.targets = static_cast<std::size_t>(targets) / lesson.batches;
  return learn(n, input, target, lesson, static_cast<std::size_t>(out_dim), json);
}

// A network of whatever a file holds, bare tensors too, and what became of these.
int64_t load_network(const char* path, Json& report) {
  Held object;
  loom_blob blob = 0;
  if (loom_file_open(path, nullptr, object.out(), &blob) != LOOM_OK) return no_handle_of_call();
  report = Json::parse(take(blob), nullptr, false);
  loom_kind kind = LOOM_KIND_NONE;
  if (loom_kind_of(object.get(), &kind) != LOOM_OK) return no_handle_of_call();
  if (kind != LOOM_KIND_NETWORK) {
    failed("the file holds a " + report.value("kind", "") + ", no network");
    return -1;
  }
  return static_cast<int64_t>(object.keep());
}

char* base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < here; ++k)
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) << (16 - 8 * k);
    for (std::size_t k = 0; k < 4; ++k) out += k <= here ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return json_text(Json{{"b64", out}});
}

// Names of kinds, activations and types are written in capitals in 0.8x.
void lower_names(Json& spec) {
  for (auto& [key, value] : spec.items()) {
    if (value.is_structured())
      lower_names(value);
    else if (value.is_string() && (key == "type" || key == "activation" || key == "dtype" || key == "combine_mode" ||
                                   key == "softmax_type")) {
      std::string name = value.get<std::string>();
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      value = name;
    }
  }
}

// Keys that 0.8x ignores, as tile sizes, are ignored; a name that means nothing is an error, where 0.8x took another.
int64_t from_spec(std::string_view given) {
  Json spec = Json::parse(given, nullptr, false);
  if (!spec.is_object()) {
    failed("the network is no JSON object");
    return -1;
  }
  lower_names(spec);
  const std::string document = spec.dump();
  auto options = sized<loom_network_options>();
  options.lenient = 1;
  loom_network network = 0;
  if (loom_network_from_json(document.data(), document.size(), &options, &network) != LOOM_OK)
    return no_handle_of_call();
  return static_cast<int64_t>(network);
}

int64_t from_memory(const char* data, int length) {
  loom_network network = 0;
  if (length < 0) {
    failed("the length is negative");
    return -1;
  }
  if (loom_network_from_memory(data, static_cast<std::size_t>(length), nullptr, &network) != LOOM_OK)
    return no_handle_of_call();
  return static_cast<int64_t>(network);
}

char* to_bytes(int64_t n, loom_network_format format) {
  loom_blob bytes = 0;
  if (loom_network_to_bytes(handle(n), format, 1, &bytes) != LOOM_OK) return failed_call();
  return format == LOOM_FORMAT_JSON ? text(take(bytes)) : base64(take(bytes));
}

// The layers of a blueprint that stand in cells, with what was asked of them.
Json blueprint_of(int64_t n) {
  loom_blob blob = 0;
  if (loom_network_blueprint(handle(n), &blob) != LOOM_OK) return {};
  return Json::parse(take(blob), nullptr, false);
}

char* layer_telemetry(int64_t n, int li) {
  const Json facts = blueprint_of(n);
  if (!facts.is_object()) return failed_call();
  const std::string path = "layers." + std::to_string(li);
  for (const Json& layer : facts["layers"])
    if (layer["path"] == path) return json_text(layer);
  return failed("the network has no layer " + std::to_string(li));
}

// A number of a layer's spec by the first of its names that exists.
int number_of(const Json& layer, const std::vector<const char*>& names) {
  for (const char* const name : names)
    if (const auto found = layer.find(name); found != layer.end() && found->is_number())
      return static_cast<int>(found->get<double>());
  return 0;
}

// Numbers of kinds and activations in 0.8x (engine 3.1, 3.2).
constexpr const char* kKinds[] = {"dense",
                                  "mha",
                                  "swiglu",
                                  "rmsnorm",
                                  "cnn1",
                                  "cnn2",
                                  "cnn3",
                                  "rnn",
                                  "lstm",
                                  "layernorm",
                                  "convtransposed1",
                                  "convtransposed2",
                                  "convtransposed3",
                                  "embedding",
                                  "kmeans",
                                  "softmax",
                                  "parallel",
                                  "sequential",
                                  "residual",
                                  "metacognition"};
constexpr const char* kActivations[] = {"relu", "silu", "gelu", "tanh", "sigmoid", "leakyrelu", "relu2"};
template <std::size_t N>
int place_of(const char* const (&names)[N], const std::string& wanted) {
  for (std::size_t i = 0; i < N; ++i)
    if (wanted == names[i]) return static_cast<int>(i);
  return -1;
}

LoomLayerSpec spec_of(int64_t n, int li) {
  LoomLayerSpec out{};
  out.Type = -1;
  loom_blob blob = 0;
  if (loom_network_info(handle(n), &blob) != LOOM_OK) {
    no_handle_of_call();
    return out;
  }
  const Json info = Json::parse(take(blob), nullptr, false);
  const auto grid = info["grid"].get<std::vector<std::uint64_t>>();
  std::uint64_t rest = static_cast<std::uint64_t>(li < 0 ? 0 : li), address[4] = {};
  for (std::size_t axis = 4; axis-- > 0;) address[axis] = rest % grid[axis], rest /= grid[axis];
  if (li < 0 || rest != 0) {
    failed("no such layer");
    return out;
  }
  if (loom_network_layer(handle(n), address, 4, &blob) != LOOM_OK) {
    no_handle_of_call();
    return out;
  }
  const Json layer = Json::parse(take(blob), nullptr, false);
  const auto named = [&](const char* key, const char* otherwise) { return layer.value(key, std::string(otherwise)); };
  out.Type = place_of(kKinds, named("type", ""));
  out.Z = static_cast<int>(address[0]), out.Y = static_cast<int>(address[1]);
  out.X = static_cast<int>(address[2]), out.L = static_cast<int>(address[3]);
  out.Activation = place_of(kActivations, named("activation", "linear"));
  out.DType = place_of(kTypes, named("dtype", "float32"));
  const std::pair<int*, std::vector<const char*>> numbers[] = {
      {&out.InputHeight,
       {"input_height", "in_features", "input_size", "normalized_shape", "channels", "d_inner", "d_model", "features"}},
      {&out.InputWidth, {"input_width"}},
      {&out.InputDepth, {"input_depth"}},
      {&out.OutputHeight, {"output_height", "out_features", "hidden_size", "intermediate_size"}},
      {&out.OutputWidth, {"output_width"}},
      {&out.OutputDepth, {"output_depth"}},
      {&out.InputChannels, {"input_channels"}},
      {&out.Filters, {"filters"}},
      {&out.KernelSize, {"kernel_size"}},
      {&out.Stride, {"stride"}},
      {&out.Padding, {"padding"}},
      {&out.NumHeads, {"num_heads"}},
      {&out.NumKVHeads, {"num_kv_heads"}},
      {&out.DModel, {"d_model"}},
      {&out.SeqLength, {"seq_length", "max_seq_len"}},
      {&out.VocabSize, {"vocab_size"}},
      {&out.EmbeddingDim, {"embedding_dim"}},
      {&out.NumClusters, {"num_clusters"}}};
  for (const auto& [field, names] : numbers) *field = number_of(layer, names);
  return out;
}

void report_to(int64_t n, const char* address) {
  const loom_network_session session = session_of(handle(n));
  if (session == 0 || loom_network_session_report_to(session, address) != LOOM_OK) no_handle_of_call();
}

}  // namespace

const char* type_of_08(int number) {
  return number >= 0 && number < static_cast<int>(std::size(kTypes)) ? kTypes[number] : nullptr;
}

std::vector<std::uint64_t> sample_shape(loom_network network, std::size_t values) {
  loom_blob blob = 0;
  std::vector<std::uint64_t> shape;
  std::uint64_t product = 1;
  if (loom_network_info(network, &blob) == LOOM_OK) {
    const Json info = Json::parse(take(blob), nullptr, false);
    if (const auto extents = info.find("input_shape"); extents != info.end() && extents->is_array())
      for (const Json& extent : *extents) {
        shape.push_back(extent.get<std::uint64_t>());
        product *= shape.back();
      }
  }
  if (shape.empty() || product != values) shape = {values};
  shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace welvet

using namespace welvet;

int64_t LoomBuildNetworkFromJSON(const char* jsonConfig) {
  return make([&] { return from_spec(words(jsonConfig)); });
}

// Also frees a language model of LoomLoadModel(): the specification's header has no other function for it.
void LoomFreeNetwork(int64_t given) {
  make([&]() -> int64_t {
    if (free_language_model(given)) return 0;
    loom_kind kind = LOOM_KIND_NONE;
    if (loom_kind_of(handle(given), &kind) != LOOM_OK || kind != LOOM_KIND_NETWORK) return no_handle_of_call();
    const std::scoped_lock lock(g_networks_mutex);
    if (const auto found = sessions().find(handle(given)); found != sessions().end()) {
      loom_release(found->second);
      sessions().erase(found);
    }
    return loom_release(handle(given)) == LOOM_OK ? 0 : no_handle_of_call();
  });
}

int64_t LoomLoadUniversal(const char* path) {
  return make([&]() -> int64_t {
    Json report;
    return load_network(path, report);
  });
}
// Returns a description of the loaded file, and the handle.
char* LoomLoadUniversalDetailed(const char* path) {
  return answer([&] {
    Json report;
    const int64_t made = load_network(path, report);
    if (made == -1) return failed(std::string(last_error()));
    report["handle"] = made;
    return json_text(report);
  });
}
int64_t LoomLoadEntity(const char* path) {
  return make([&]() -> int64_t {
    loom_network network = 0;
    if (loom_network_open(path, nullptr, &network) != LOOM_OK) return no_handle_of_call();
    return static_cast<int64_t>(network);
  });
}

char* LoomGetNetworkInfo(int64_t given) {
  return answer([&] {
    loom_blob info = 0;
    return loom_network_info(handle(given), &info) == LOOM_OK ? text(take(info)) : failed_call();
  });
}

char* LoomForwardPolymorphic(int64_t n, const float* inputData, int inputLen, const char* shapeJSON) {
  return answer([&] { return forward(n, inputData, inputLen, shapeJSON); });
}
char* LoomSequentialForward(int64_t n, const float* inputData, int inputLen) {
  return answer([&] { return forward(n, inputData, inputLen, nullptr); });
}
char* LoomBackwardPolymorphic(int64_t n, const float* inputData, int inputLen, const char* inputShapeJSON,
                              const float* targetData, int targetLen, const char*) {
  return answer([&] { return backward(n, inputData, inputLen, inputShapeJSON, targetData, targetLen); });
}
char* LoomTrain(int64_t n, const float* inputData, int inputLen, const float* targetData, int targetLen, int B,
                int inDim, int outDim, const char* configJSON) {
  return answer([&] { return train(n, inputData, inputLen, targetData, targetLen, B, inDim, outDim, configJSON); });
}

char* LoomMorphLayer(int64_t n, int li, int targetDType) {
  return answer([&] {
    if (targetDType < 0 || targetDType >= static_cast<int>(std::size(kTypes))) return failed("no such type");
    const std::string path = "layers." + std::to_string(li);
    return loom_network_morph(handle(n), path.c_str(), kTypes[targetDType]) == LOOM_OK ? done() : failed_call();
  });
}

// 0 to 2 are ways to use the cores, of which no result depends; 3 to 5 are a GPU.
char* LoomConfigureTrainingMode(int64_t n, int mode) {
  return answer([&] {
    loom_kind kind = LOOM_KIND_NONE;
    if (loom_kind_of(handle(n), &kind) != LOOM_OK) return failed_call();
    return mode >= 0 && mode <= 2 ? done() : failed("unsupported: a mode of a GPU");
  });
}

char* LoomSetNetworkUseSimdForward(int64_t n, int) { return LoomConfigureTrainingMode(n, 0); }
int LoomGetNetworkUseSimdForward(int64_t) { return 1; }
void LoomSyncInferenceWeights(int64_t n) {
  make([&]() -> int64_t { return loom_network_release_masters(handle(n)) == LOOM_OK ? 0 : no_handle_of_call(); });
}

char* LoomSerializeNetwork(int64_t n) {
  return answer([&] { return to_bytes(n, LOOM_FORMAT_JSON); });
}
char* LoomSerializeEntity(int64_t n) {
  return answer([&] { return to_bytes(n, LOOM_FORMAT_ENTITY); });
}
int64_t LoomDeserializeNetwork(const char* jsonBuf, int length) {
  return make([&] { return from_memory(jsonBuf, length); });
}
int64_t LoomDeserializeEntity(const char* dataBuf, int length) {
  return make([&] { return from_memory(dataBuf, length); });
}

char* LoomExtractNetworkBlueprint(int64_t n, const char* modelID) {
  return answer([&] {
    Json facts = blueprint_of(n);
    if (!facts.is_object()) return failed_call();
    if (modelID != nullptr && *modelID != 0) facts["id"] = modelID;
    return json_text(facts);
  });
}
char* LoomGetLayerTelemetry(int64_t n, int li) {
  return answer([&] { return layer_telemetry(n, li); });
}
LoomLayerSpec LoomGetLayerSpec(int64_t n, int li) {
  LoomLayerSpec out{};
  out.Type = -1;
  make([&]() -> int64_t {
    out = spec_of(n, li);
    return 0;
  });
  return out;
}

// Reports of every layer of LoomForwardPolymorphic() and LoomSequentialForward(), which always say their shapes.
void LoomNetworkTanhiConfigure(int64_t given, int enabled, const char* host, int port, int) {
  make([&]() -> int64_t {
    const std::string to = "tanhi://" + std::string(words(host).empty() ? "127.0.0.1" : words(host)) + ":" +
                           std::to_string(port > 0 ? port : LoomTanhiDefaultPort());
    report_to(given, enabled != 0 ? to.c_str() : nullptr);
    return 0;
  });
}
void LoomNetworkTanhiDisable(int64_t given) {
  make([&]() -> int64_t {
    report_to(given, nullptr);
    return 0;
  });
}
