#include "io/onnx_writer/emitter.h"

#include <array>
#include <cmath>
#include <numbers>

#include "core/config_writer.h"
#include "layers/share/share.h"

namespace loom::onnx_out {
namespace {

// Writes settings by the one list of fields; layers inside are no settings.
class SettingsWriter final : public FieldVisitor, public ConfigWriter {
 public:
  explicit SettingsWriter(Json& object) : ConfigWriter(object) {}
  using ConfigWriter::operator();
  void operator()(Key key, Activation& value) override { put(key, std::string(name(value))); }
  void operator()(Key key, AxisSizes& value) override { put(key, Json(value.values)); }
  void operator()(Key, SkipFrom&) override {}
  void operator()(Key, LayerRef&) override {}
  void operator()(Key, std::vector<LayerPtr>&) override {}
  void operator()(Key, LayerPtr&) override {}
};

}  // namespace

Settings::Settings(Layer& layer) : values_(Json::object()) {
  SettingsWriter writer(values_);
  layer.fields(writer);
}

std::size_t Settings::size(const char* key) const {
  const Json* found = find(values_, key);
  return found == nullptr ? 0 : static_cast<std::size_t>(as_int(*found).value_or(0));
}

double Settings::number(const char* key) const {
  const Json* found = find(values_, key);
  return found == nullptr ? 0 : as_number(*found).value_or(0);
}

bool Settings::flag(const char* key) const {
  const Json* found = find(values_, key);
  return found != nullptr && as_bool(*found).value_or(false);
}

std::string Settings::text(const char* key) const {
  const Json* found = find(values_, key);
  const std::string* text = found == nullptr ? nullptr : as_string(*found);
  return text == nullptr ? std::string() : *text;
}

std::vector<std::size_t> Settings::sizes(const char* key) const {
  std::vector<std::size_t> out;
  const Json* found = find(values_, key);
  if (found == nullptr || !found->is_array()) return out;
  for (const Json& item : *found) out.push_back(static_cast<std::size_t>(as_int(item).value_or(0)));
  return out;
}

std::vector<bool> Settings::flags(const char* key) const {
  std::vector<bool> out;
  const Json* found = find(values_, key);
  if (found == nullptr || !found->is_array()) return out;
  for (const Json& item : *found) out.push_back(as_bool(item).value_or(false));
  return out;
}

Settings Settings::object(const char* key) const {
  const Json* found = find(values_, key);
  return Settings(found == nullptr ? Json::object() : *found);
}

std::vector<std::int64_t> Settings::axes(const char* key, std::size_t count, std::int64_t fallback) const {
  const std::vector<std::size_t> given = sizes(key);
  std::vector<std::int64_t> out(count, fallback);
  for (std::size_t i = 0; i < count && !given.empty(); ++i)
    out[i] = static_cast<std::int64_t>(given.size() == 1 ? given[0] : given[i]);
  return out;
}

ActivationFn Settings::activation() const {
  ActivationFn fn(activation_from_name(text("activation")).value_or(Activation::Linear));
  fn.leaky_slope = number("leaky_slope"), fn.elu_alpha = number("elu_alpha");
  return fn;
}

tl::unexpected<Error> unsupported(const std::string& path, const std::string& why) {
  return fail_at(path_steps(path), Code::Unsupported, "{}", why);
}

const Weight* optional_weight(const Part& part, std::string_view name) { return find_weight(part.layer, name); }

const Weight& weight_of(const Part& part, std::string_view name) {
  const Weight* found = optional_weight(part, name);
  LOOM_ASSERT(found != nullptr);
  return *found;
}

Layer* child_of(const Part& part, std::string_view path) {
  Layer* found = nullptr;
  part.layer.visit_children([&](const std::string& below, Layer& child) {
    if (below == path) found = &child;
  });
  return found;
}

Shape with_extent(const Shape& shape, std::size_t axis, std::size_t extent) {
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::ranges::copy(shape.extents(), extents.begin());
  extents[axis] = extent;
  return *Shape::create({extents.data(), shape.rank()});
}

Emitter::Emitter(const Network& network, const Wiring& wiring, const OnnxExportOptions& options)
    : network_(network), wiring_(wiring), options_(options) {
  network.visit_weights(
      [this](const std::string& path, const Weight& w, const Layer&) { weight_paths_.emplace(w.identity(), path); });
}

std::string Emitter::name_of(const Weight& weight) const {
  const auto found = weight_paths_.find(weight.identity());
  LOOM_ASSERT(found != weight_paths_.end());
  return found->second;
}

std::vector<float> Emitter::values_of(const Weight& weight) const {
  std::vector<float> values(weight.elements());
  weight.decode(0, values.size(), values.data());
  return values;
}

Result<void> Emitter::check_matrix(const Weight& weight) const {
  const ComputeClass compute = info(weight.dtype()).compute;
  const bool rounds = (compute == ComputeClass::Int || compute == ComputeClass::Block) &&
                      weight.encoding().activation_quant != ActivationQuant::None;
  if (rounds && !options_.dequantize)
    return unsupported(name_of(weight),
                       fmt::format("{} weights, whose inputs Loom rounds and ONNX would not; --dequantize writes them "
                                   "as float32, loom morph --dtype float32 makes the same of the network",
                                   loom::name(weight.dtype())));
  if (!weight.has_value()) return fail_at(path_steps(name_of(weight)), Code::NoValue, "the weight has no value");
  return {};
}

Result<std::string> Emitter::weight(const Weight& weight) {
  std::string name = name_of(weight);
  if (!weight.has_value()) return fail_at(path_steps(name), Code::NoValue, "the weight has no value");
  if (graph.has(name)) return name;
  return graph.floats(name, weight.shape().extents(), values_of(weight));
}

Value Emitter::op(const std::string& path, const char* name, const Shape& shape, const std::vector<std::string>& inputs,
                  const Attributes& attributes) {
  return {graph.node(path, name, inputs, attributes), shape};
}

Value Emitter::op(const std::string& path, const char* name, const Value& like, const std::vector<std::string>& inputs,
                  const Attributes& attributes) {
  return op(path, name, like.shape, inputs, attributes);
}

Value Emitter::reshape(const std::string& path, const Value& x, const Shape& shape) {
  if (shape == x.shape) return x;
  std::vector<std::int64_t> dims{0};
  for (std::size_t a = 1; a < shape.rank(); ++a) dims.push_back(static_cast<std::int64_t>(shape[a]));
  Value y = op(path, "Reshape", shape, {x.name, graph.ints(dims)});
  y.is_whole = x.is_whole;
  return y;
}

Result<Value> Emitter::transpose(const std::string& path, const Value& x, const std::vector<std::int64_t>& order) {
  std::vector<std::size_t> extents;
  extents.reserve(order.size());
  for (const std::int64_t axis : order) extents.push_back(x.shape[static_cast<std::size_t>(axis)]);
  LOOM_TRY(const Shape shape, Shape::create(extents));
  Value y = op(path, "Transpose", shape, {x.name}, {{"perm", order}});
  y.is_whole = x.is_whole;
  return y;
}

Result<Value> Emitter::slice(const std::string& path, const Value& x, std::size_t axis, std::size_t begin,
                             std::size_t end) {
  if (begin == 0 && end == x.shape[axis]) return x;
  return op(path, "Slice", with_extent(x.shape, axis, end - begin),
            {x.name, graph.ints({static_cast<std::int64_t>(begin)}), graph.ints({static_cast<std::int64_t>(end)}),
             graph.ints({static_cast<std::int64_t>(axis)})});
}

Value Emitter::zeros(const std::string& path, const Value& batch, const Shape& shape) {
  std::vector<std::int64_t> rest;
  for (std::size_t a = 1; a < shape.rank(); ++a) rest.push_back(static_cast<std::int64_t>(shape[a]));
  const std::string all = graph.node(path, "Shape", {batch.name});
  const std::string first = graph.node(path, "Slice", {all, graph.ints({0}), graph.ints({1})});
  const std::string wanted = graph.node(path, "Concat", {first, graph.ints(rest)}, {{"axis", std::int64_t{0}}});
  return op(path, "ConstantOfShape", shape, {wanted});
}

Value Emitter::as_float(const std::string& path, const Value& x) {
  if (!x.is_whole) return x;
  return op(path, "Cast", x, {x.name}, {{"to", std::int64_t{1}}});
}

Result<Value> Emitter::linear(const std::string& path, const Value& x, const Weight& w, const Weight* bias) {
  const auto product = [&](const Value& from, const Weight& matrix, const std::string& name) -> Result<Value> {
    LOOM_TRY(const Shape shape, from.shape.with_cols(matrix.rows()));
    if (from.shape.rank() == 2) return op(path, "Gemm", shape, {from.name, name}, {{"transB", std::int64_t{1}}});
    const std::string turned = graph.node(path, "Transpose", {name}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    return op(path, "MatMul", shape, {from.name, turned});
  };
  LOOM_TRY_VOID(check_matrix(w));
  LOOM_TRY(const std::string name, weight(w));
  LOOM_TRY(Value y, product(x, w, name));
  if (bias != nullptr && bias->declared()) {
    LOOM_TRY(const std::string b, weight(*bias));
    y = op(path, "Add", y, {y.name, b});
  }
  for (const Adapter& adapter : w.adapters()) {
    if (!adapter.enabled) continue;
    LOOM_TRY(const std::string a, weight(adapter.a));
    LOOM_TRY(const std::string b, weight(adapter.b));
    LOOM_TRY(const Value low, product(x, adapter.a, a));
    LOOM_TRY(Value change, product(low, adapter.b, b));
    change = with(path, "Mul", change, static_cast<float>(adapter.scale));
    y = op(path, "Add", y, {y.name, change.name});
  }
  return y;
}

Value Emitter::rms(const std::string& path, const Value& x, double eps) {
  const Value square = op(path, "Mul", x, {x.name, x.name});
  Value mean = op(path, "ReduceMean", with_extent(x.shape, x.shape.rank() - 1, 1), {square.name},
                  {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{1}}});
  mean = with(path, "Add", mean, static_cast<float>(eps));
  const Value root = op(path, "Sqrt", mean, {mean.name});
  return op(path, "Div", x, {x.name, root.name});
}

Value Emitter::activation(const std::string& path, const ActivationFn& fn, const Value& x) {
  const auto plain = [&](const char* name, const Attributes& attributes = {}) {
    return op(path, name, x, {x.name}, attributes);
  };
  const auto times = [&](const Value& a, const Value& b) { return op(path, "Mul", a, {a.name, b.name}); };
  const auto clip = [&](float low, float high) {
    return op(path, "Clip", x, {x.name, graph.scalar(low), graph.scalar(high)});
  };
  const auto sigmoid = [&](const Value& v) { return op(path, "Sigmoid", v, {v.name}); };
  const auto half_of = [&](const Value& v) { return with(path, "Mul", times(x, with(path, "Add", v, 1)), 0.5f); };
  // 1 where x is 0 or more, else `otherwise`.
  const auto by_sign = [&](float otherwise) {
    const std::string at_least = graph.node(path, "GreaterOrEqual", {x.name, graph.scalar(0)});
    return op(path, "Where", x, {at_least, graph.scalar(1), graph.scalar(otherwise)});
  };
  switch (fn.kind) {
    case Activation::Linear: return x;
    case Activation::Relu: return plain("Relu");
    case Activation::Silu: return times(x, sigmoid(x));
    case Activation::Gelu: {
      const Value cube = with(path, "Mul", times(times(x, x), x), 0.044715f);
      const Value sum = op(path, "Add", x, {x.name, cube.name});
      const Value inner = with(path, "Mul", sum, static_cast<float>(std::sqrt(2 / std::numbers::pi)));
      return half_of(op(path, "Tanh", inner, {inner.name}));
    }
    case Activation::Tanh: return plain("Tanh");
    case Activation::Sigmoid: return sigmoid(x);
    case Activation::LeakyRelu: return plain("LeakyRelu", {{"alpha", static_cast<float>(fn.leaky_slope)}});
    case Activation::Relu2: {
      const Value y = plain("Relu");
      return times(y, y);
    }
    case Activation::GeluExact: {
      const Value inner = with(path, "Mul", x, static_cast<float>(1 / std::numbers::sqrt2));
      return half_of(op(path, "Erf", inner, {inner.name}));
    }
    case Activation::Softplus: return plain("Softplus");
    case Activation::Mish: {
      const Value inner = plain("Softplus");
      return times(x, op(path, "Tanh", inner, {inner.name}));
    }
    case Activation::HardSigmoid: return plain("HardSigmoid", {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
    case Activation::HardSwish: return plain("HardSwish");
    case Activation::HardTanh: return clip(-1, 1);
    case Activation::Elu: return plain("Elu", {{"alpha", static_cast<float>(fn.elu_alpha)}});
    case Activation::Selu: return plain("Selu");
    case Activation::Relu6: return clip(0, 6);
    case Activation::Softsign: return plain("Softsign");
    case Activation::QuickGelu: return times(x, sigmoid(with(path, "Mul", x, 1.702f)));
    case Activation::Sign: return by_sign(-1);
    case Activation::Step: return by_sign(0);
  }
  return x;
}

}  // namespace loom::onnx_out
