// Single layers of Loom 0.8x on tensors. A layer runs alone in a copy of its network, so its weights and its bits are
// those of the network. A tiled name gives the bits of the plain one.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "legacy/names/own_objects.h"

namespace welvet {
namespace {

struct TensorOf08 {
  std::mutex mutex;
  std::vector<std::uint64_t> shape;  // samples first
  std::vector<float> values;
};
using Tensors = OwnObjects<TensorOf08, 0x74>;

// A copy of what a handle holds; false where it is no tensor.
bool tensor_of(int64_t given, std::vector<std::uint64_t>& shape, std::vector<float>& values) {
  const std::shared_ptr<TensorOf08> found = Tensors::find(given);
  if (found == nullptr) return false;
  const std::scoped_lock lock(found->mutex);
  shape = found->shape, values = found->values;
  return true;
}

Json json_of(loom_status status, loom_blob blob) {
  return status == LOOM_OK ? Json::parse(take(blob), nullptr, false) : Json();
}

// A network in which a layer stands alone, and the layer's kind.
struct Alone {
  Held network;
  std::string kind;
  std::string why;  // it could not be made
};

std::vector<std::uint64_t> address_of(std::uint64_t index, const std::vector<std::uint64_t>& grid) {
  std::vector<std::uint64_t> address(4);
  for (std::size_t axis = 4; axis-- > 0;) address[axis] = index % grid[axis], index /= grid[axis];
  return address;
}

void stand_alone(int64_t n, int li, Alone& out) {
  loom_blob blob = 0;
  const loom_status asked = loom_network_info(handle(n), &blob);
  const Json info = json_of(asked, blob);
  if (!info.is_object()) return void(out.why = loom_last_error());
  const auto grid = info["grid"].get<std::vector<std::uint64_t>>();
  std::uint64_t cells = 1;
  for (const std::uint64_t extent : grid) cells *= extent;
  if (li < 0 || static_cast<std::uint64_t>(li) >= cells)
    return void(out.why = "layer " + std::to_string(li) + ": expected 0 to " + std::to_string(cells - 1));
  const auto here = address_of(static_cast<std::uint64_t>(li), grid);
  const loom_status found = loom_network_layer(handle(n), here.data(), 4, &blob);
  const Json layer = json_of(found, blob);
  if (!layer.is_object()) return void(out.why = loom_last_error());
  out.kind = layer.value("type", "");
  if (loom_network_clone(handle(n), out.network.out()) != LOOM_OK) return void(out.why = loom_last_error());
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    const auto address = address_of(cell, grid);
    if (cell != static_cast<std::uint64_t>(li) &&
        loom_network_place(out.network.get(), address.data(), 4, nullptr, 0) != LOOM_OK)
      return void(out.why = loom_last_error());
  }
}

std::string kind_error(const Alone& alone, int li, const char* kind) {
  if (!alone.why.empty()) return alone.why;
  if (kind != nullptr && alone.kind != kind)
    return "layer " + std::to_string(li) + " is of the kind " + alone.kind + ": expected " + kind;
  return {};
}

// One forward pass of a layer, and a backward pass where there is a gradient.
struct LayerCall {
  int64_t n = 0;
  int li = 0;
  const char* kind = nullptr;  // NULL: any
  int64_t x = 0, skip = 0, gradient = 0;
  bool goes_back = false;
};

Json gradients_of(loom_network network, loom_network_session session) {
  Json out = Json::object();
  loom_blob blob = 0;
  const loom_status listed = loom_network_weights(network, &blob);
  for (const Json& weight : json_of(listed, blob)) {
    std::size_t elements = 1;
    for (const Json& extent : weight["shape"]) elements *= extent.get<std::size_t>();
    std::vector<float> values(elements);
    const auto name = weight["name"].get<std::string>();
    const loom_tensor to = float_tensor(values.data(), elements);
    if (loom_network_session_gradient(session, name.c_str(), &to) == LOOM_OK) out[name] = values;
  }
  return out;
}

char* go_back(const LayerCall& call, const Alone& alone, loom_network_session session, std::size_t outputs) {
  std::vector<std::uint64_t> shape;
  std::vector<float> slope;
  if (!tensor_of(call.gradient, shape, slope)) return failed("invalid handle of a tensor: the output's gradient");
  if (slope.size() != outputs)
    return failed("the gradient has " + std::to_string(slope.size()) + " values, the output " +
                  std::to_string(outputs));
  const loom_tensor dy = float_tensor(slope.data(), slope.size(), shape);
  auto dx = sized<loom_tensor>();
  if (loom_network_session_backward(session, &dy, 0, &dx) != LOOM_OK) return failed_call();
  Json out{{"dx", floats_of(dx)}};
  out["dw"] = gradients_of(alone.network.get(), session);
  return json_text(out);
}

char* run_layer(const LayerCall& call) {
  std::vector<std::uint64_t> shape, skip_shape;
  std::vector<float> values, skip;
  if (!tensor_of(call.x, shape, values)) return failed("invalid handle of a tensor: the input");
  if (call.skip != 0 && !tensor_of(call.skip, skip_shape, skip)) return failed("invalid handle of a tensor: the skip");
  Alone alone;
  stand_alone(call.n, call.li, alone);
  if (const std::string why = kind_error(alone, call.li, call.kind); !why.empty()) return failed(why);
  // Backward needs only the shape of the tensor that a residual adds: gradients do not depend on its values.
  const bool adds = call.skip != 0 || (call.goes_back && alone.kind == "residual");
  if (call.skip == 0 && adds) skip = values, skip_shape = shape;
  auto compute = sized<loom_compute_options>();
  auto options = sized<loom_network_session_options>();
  options.compute = &compute;
  compute.threads = shared_threads(), options.backward = call.goes_back ? 1 : 0;
  Held session;
  if (loom_network_session_create(alone.network.get(), &options, session.out()) != LOOM_OK) return failed_call();
  auto pass = sized<loom_pass>();
  const loom_tensor external = float_tensor(skip.data(), skip.size(), skip_shape);
  if (adds) pass.external = &external;
  const loom_tensor x = float_tensor(values.data(), values.size(), shape);
  auto y = sized<loom_tensor>();
  if (loom_network_session_forward(session.get(), &x, &pass, &y) != LOOM_OK) return failed_call();
  if (call.goes_back) return go_back(call, alone, session.get(), y.data_size / sizeof(float));
  return json_text(
      Json{{"output", floats_of(y)}, {"shape", std::vector<std::uint64_t>(y.shape, y.shape + y.shape_count)}});
}

char* forward_of(int64_t n, int li, const char* kind, int64_t x, int64_t skip = 0) {
  return answer([&] { return run_layer({n, li, kind, x, skip, 0, false}); });
}
// The value before the activation is computed again, so `pre` is not read.
char* backward_of(int64_t n, int li, const char* kind, int64_t gradient, int64_t x, int64_t skip = 0) {
  return answer([&] { return run_layer({n, li, kind, x, skip, gradient, true}); });
}

LoomLayerStats stats_of(const std::vector<float>& values) {
  LoomLayerStats out{};
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float v = values[i];
    out.Max = i == 0 ? v : std::max(out.Max, v), out.Min = i == 0 ? v : std::min(out.Min, v);
    sum += static_cast<double>(v), out.Active += std::abs(v) > 1e-6f;
  }
  out.Total = static_cast<int>(values.size());
  out.Avg = values.empty() ? 0 : static_cast<float>(sum / static_cast<double>(values.size()));
  return out;
}

int64_t make_tensor(const float* data, int length, const char* shape_json) {
  if (data == nullptr || length < 1) {
    failed("a tensor has no values");
    return -1;
  }
  const std::string_view given = words(shape_json);
  const Json list = given.empty() ? Json::array({1, length}) : Json::parse(given, nullptr, false);
  auto made = std::make_shared<TensorOf08>();
  std::uint64_t product = 1;
  if (!list.is_array() || list.empty()) {
    failed_text("expected a JSON list of extents");
    return -1;
  }
  for (const Json& extent : list) {
    if (!extent.is_number_unsigned()) {
      failed_text("expected a JSON list of extents");
      return -1;
    }
    made->shape.push_back(extent.get<std::uint64_t>());
    if (__builtin_mul_overflow(product, made->shape.back(), &product)) {
      failed_text("the extents overflow");
      return -1;
    }
  }
  if (product != static_cast<std::uint64_t>(length)) {
    failed_text("the shape has " + std::to_string(product) + " values, " + std::to_string(length) + " are given");
    return -1;
  }
  made->values.assign(data, data + length);
  return Tensors::add(std::move(made));
}

// mse alone: what other losses were in 0.8x is not known.
char* loss_gradient(int64_t y, int64_t target, std::string_view loss) {
  std::vector<std::uint64_t> shape, wanted_shape;
  std::vector<float> values, wanted;
  if (!tensor_of(y, shape, values) || !tensor_of(target, wanted_shape, wanted))
    return failed("invalid handle of a tensor: the output or the target");
  if (values.size() != wanted.size())
    return failed("the output has " + std::to_string(values.size()) + " values, the target " +
                  std::to_string(wanted.size()));
  if (loss != "mse" && !loss.empty()) return failed("unsupported loss \"" + std::string(loss) + "\": expected mse");
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 2 * (values[i] - wanted[i]) / static_cast<float>(values.size());
  return json_text(Json(values));
}

// {"Data": [...]} or a list: the numbers of the layer's weights, in the order of their names' list, or of its first
// one. clip 0: none.
char* apply_gradients(int64_t n, int li, const char* gradients, float rate, float clip) {
  const Json given = Json::parse(words(gradients), nullptr, false);
  const Json& list = given.is_object() && given.contains("Data") ? given["Data"] : given;
  if (!list.is_array()) return failed("the gradients are no JSON list, nor an object with Data");
  const auto slope = list.get<std::vector<float>>();
  loom_blob blob = 0;
  const loom_status listed = loom_network_weights(handle(n), &blob);
  const Json weights = json_of(listed, blob);
  if (!weights.is_array()) return failed_call();
  const std::string prefix = "layers." + std::to_string(li) + ".";
  std::vector<std::pair<std::string, std::size_t>> mine;
  std::size_t all = 0;
  for (const Json& weight : weights) {
    const auto name = weight["name"].get<std::string>();
    if (name.rfind(prefix, 0) != 0) continue;
    std::size_t elements = 1;
    for (const Json& extent : weight["shape"]) elements *= extent.get<std::size_t>();
    mine.emplace_back(name, elements);
    all += elements;
  }
  if (mine.empty()) return failed("layer " + std::to_string(li) + " has no weights");
  if (slope.size() == mine[0].second) {
    mine.resize(1);
    all = slope.size();
  }
  if (slope.size() != all)
    return failed(std::to_string(slope.size()) + " gradients for " + std::to_string(all) + " weights of layer " +
                  std::to_string(li));
  std::size_t at = 0;
  for (const auto& [name, elements] : mine) {
    std::vector<float> values(elements);
    const loom_tensor weight = float_tensor(values.data(), elements);
    if (loom_network_get_weight(handle(n), name.c_str(), &weight) != LOOM_OK) return failed_call();
    for (float& v : values) {
      const float g = slope[at++];
      v -= rate * (clip > 0 ? std::clamp(g, -clip, clip) : g);
    }
    if (loom_network_set_weight(handle(n), name.c_str(), &weight) != LOOM_OK) return failed_call();
  }
  return done();
}

int64_t empty_grid(int depth, int rows, int cols, int layers) {
  if (depth < 1 || rows < 1 || cols < 1 || layers < 1) {
    failed("expected extents of 1 or more");
    return -1;
  }
  const std::string spec =
      Json{{"depth", depth}, {"rows", rows}, {"cols", cols}, {"layers_per_cell", layers}, {"layers", Json::array()}}
          .dump();
  loom_network network = 0;
  if (loom_network_from_json(spec.data(), spec.size(), nullptr, &network) != LOOM_OK) return no_handle_of_call();
  return static_cast<int64_t>(network);
}

}  // namespace
}  // namespace welvet

using namespace welvet;

int64_t LoomCreateTensor(const float* data, int length, const char* shapeJSON) {
  return make([&] { return make_tensor(data, length, shapeJSON); });
}
void LoomFreeTensor(int64_t given) {
  make([&]() -> int64_t {
    if (!Tensors::erase(given)) failed_text("invalid handle of a tensor");
    return 0;
  });
}

#define LOOM_LAYER(Name, kind)                                                                   \
  char* Loom##Name##Forward(int64_t n, int li, int64_t x) { return forward_of(n, li, kind, x); } \
  char* Loom##Name##Backward(int64_t n, int li, int64_t gOut, int64_t x, int64_t) {              \
    return backward_of(n, li, kind, gOut, x);                                                    \
  }
LOOM_LAYER(Dense, "dense")
LOOM_LAYER(RMSNorm, "rmsnorm")
LOOM_LAYER(LayerNorm, "layernorm")
LOOM_LAYER(MHA, "mha")
LOOM_LAYER(Softmax, "softmax")
LOOM_LAYER(SwiGLU, "swiglu")
LOOM_LAYER(Embedding, "embedding")
LOOM_LAYER(KMeans, "kmeans")
LOOM_LAYER(RNN, "rnn")
LOOM_LAYER(LSTM, "lstm")
LOOM_LAYER(CNN1, "cnn1")
LOOM_LAYER(CNN2, "cnn2")
LOOM_LAYER(CNN3, "cnn3")
LOOM_LAYER(ConvTransposed1D, "convtransposed1")
LOOM_LAYER(ConvTransposed2D, "convtransposed2")
LOOM_LAYER(ConvTransposed3D, "convtransposed3")
#undef LOOM_LAYER

char* LoomResidualForward(int64_t n, int li, int64_t x, int64_t skip) { return forward_of(n, li, "residual", x, skip); }
char* LoomResidualBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t) {
  return backward_of(n, li, "residual", gOut, x);
}
char* LoomParallelBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t) {
  return backward_of(n, li, "parallel", gOut, x);
}
char* LoomDispatchLayer(int64_t n, int li, int64_t x, int64_t skip) { return forward_of(n, li, nullptr, x, skip); }
char* LoomDispatchLayerBackward(int64_t n, int li, int64_t gOut, int64_t x, int64_t skip, int64_t) {
  return backward_of(n, li, nullptr, gOut, x, skip);
}

char* LoomComputeLayerStats(int64_t tensor) {
  return answer([&] {
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
    if (!tensor_of(tensor, shape, values)) return failed("invalid handle of a tensor");
    const LoomLayerStats s = stats_of(values);
    return json_text(Json{{"Avg", s.Avg}, {"Max", s.Max}, {"Min", s.Min}, {"Active", s.Active}, {"Total", s.Total}});
  });
}
LoomLayerStats LoomGetLayerStats(int64_t state, int li) {
  LoomLayerStats out{};
  make([&]() -> int64_t {
    char* const said = LoomGetOutput(state, li);
    const Json values = Json::parse(words(said), nullptr, false);
    FreeLoomString(said);
    if (values.is_array()) out = stats_of(values.get<std::vector<float>>());
    return 0;
  });
  return out;
}
char* LoomComputeLossGradient(int64_t y, int64_t target, const char* lossType) {
  return answer([&] { return loss_gradient(y, target, words(lossType)); });
}
void LoomApplyGradients(int64_t n, int li, const char* gradWeightsJSON, float learningRate) {
  std::free(answer([&] { return apply_gradients(n, li, gradWeightsJSON, learningRate, 0); }));
}
char* LoomApplyGradientsNative(int64_t n, int li, int dtype, const char* gradWeightsJSON, float learningRate,
                               float clipVal) {
  return answer([&] {
    const LoomLayerSpec spec = LoomGetLayerSpec(n, li);
    if (spec.Type == -1) return failed(std::string(last_error()));
    if (spec.DType != dtype)
      return failed("layer " + std::to_string(li) + " has the type " + std::to_string(spec.DType) + ", not " +
                    std::to_string(dtype));
    return apply_gradients(n, li, gradWeightsJSON, learningRate, clipVal);
  });
}
int64_t LoomNewVolumetricNetwork(int depth, int rows, int cols, int layersPerCell) {
  return make([&] { return empty_grid(depth, rows, cols, layersPerCell); });
}
int LoomStackLayerCount(int64_t n) {
  return static_cast<int>(make([&]() -> int64_t {
    loom_blob blob = 0;
    const loom_status status = loom_network_info(handle(n), &blob);
    const Json info = json_of(status, blob);
    if (!info.is_object()) return no_handle_of_call();
    int64_t cells = 1;
    for (const Json& extent : info["grid"]) cells *= extent.get<int64_t>();
    return cells;
  }));
}
