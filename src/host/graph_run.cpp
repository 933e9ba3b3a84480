#include "host/graph_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "core/file.h"
#include "core/json.h"
#include "core/philox.h"
#include "host/device.h"
#include "host/tensor_file.h"
#include "io/identify.h"
#include "io/npy/npy.h"
#include "io/onnx/graph_file.h"

namespace loom {
namespace {

using graph::Type;
using graph::Value;

struct ValueType {
  DType dtype;
  Type type;
};
constexpr std::array kValueTypes{
    ValueType{DType::float32, Type::f32}, ValueType{DType::float64, Type::f64}, ValueType{DType::float16, Type::f16},
    ValueType{DType::int8, Type::i8},     ValueType{DType::int16, Type::i16},   ValueType{DType::int32, Type::i32},
    ValueType{DType::int64, Type::i64},   ValueType{DType::uint8, Type::u8},    ValueType{DType::uint16, Type::u16},
    ValueType{DType::uint32, Type::u32},  ValueType{DType::uint64, Type::u64}};

Result<Value> value_of_file(const std::string& path) {
  if (!path.ends_with(".npy") && !holds(path, FileKind::Npy)) {
    if (const auto text = read_text_file(path)) {
      const auto json = parse_json(*text);
      if (json && as_number(*json)) {  // a scalar
        LOOM_TRY(Value value, Value::create(Type::f64, {}));
        *value.as<double>() = *as_number(*json);
        return value;
      }
    }
    LOOM_TRY(const TensorValues read, read_tensor(path));
    LOOM_TRY(Value value, Value::create(Type::f64, {read.shape.extents().begin(), read.shape.extents().end()}));
    std::ranges::copy(read.values, value.as<double>());
    return value;
  }
  LOOM_TRY(const NpyArray array, read_npy(path));
  if (array.is_bool) return graph::value_from_bytes(Type::boolean, array.shape, array.bytes.bytes());
  for (const ValueType& row : kValueTypes)
    if (row.dtype == array.dtype) {
      const std::size_t bytes = graph::stored_bytes(row.type, graph::count(array.shape));
      return graph::value_from_bytes(row.type, array.shape, array.bytes.bytes().first(bytes));
    }
  return fail(Code::Unsupported, "an array of {}", name(array.dtype));
}

// The value in the type that the graph asks for: whole numbers must stay what they are.
Result<Value> in_type(Value value, Type type) {
  if (type == Type::none || value.type == type) return value;
  LOOM_TRY(Value out, Value::create(type, value.dims));
  for (std::size_t i = 0; i < value.elements(); ++i) {
    const double v = value.number(i);
    switch (graph::store_of(type)) {
      case graph::Store::f32: out.as<float>()[i] = graph::rounded(type, static_cast<float>(v)); break;
      case graph::Store::f64: out.as<double>()[i] = v; break;
      default: {
        if (!(v >= -0x1p63 && v < 0x1p63) || v != std::floor(v) ||
            static_cast<double>(graph::wrapped(type, static_cast<std::int64_t>(v))) != v)
          return fail(Code::InvalidArgument, "element {} is {}, {} expected", i, v, graph::name_of(type));
        const bool exact = graph::store_of(value.type) == graph::Store::i64;
        out.as<std::int64_t>()[i] = exact ? value.as<std::int64_t>()[i] : static_cast<std::int64_t>(v);
      }
    }
  }
  return out;
}

Result<Value> drawn_value(const graph::InputInfo& info, std::uint64_t seed) {
  if (!info.has_shape || info.type == Type::none)
    return fail(Code::InvalidArgument, "input \"{}\" has no shape in the file: give --input {}=FILE.npy", info.name,
                info.name);
  graph::Dims dims;
  for (const std::int64_t d : info.dims) dims.push_back(d < 0 ? 1 : static_cast<std::size_t>(d));
  LOOM_TRY(Value value, Value::create(info.type, dims));
  const RandomStream stream{seed, RandomDomain::Noise, 0, random_site(info.name)};
  for (std::size_t i = 0; i < value.elements(); ++i) {
    if (graph::store_of(info.type) == graph::Store::f32)
      value.as<float>()[i] = graph::rounded(info.type, stream.uniform(i));
    else if (graph::store_of(info.type) == graph::Store::f64)
      value.as<double>()[i] = static_cast<double>(stream.uniform(i));
  }
  return value;
}

Result<std::map<std::string, std::string>> files_of(const graph::Program& program,
                                                    const std::vector<std::string>& given) {
  std::map<std::string, std::string> files;
  for (const std::string& text : given) {
    std::string name, file = text;
    for (const graph::InputInfo& info : program.accepted())
      if (text.starts_with(info.name + "=")) name = info.name, file = text.substr(info.name.size() + 1);
    if (name.empty() && program.inputs().size() == 1 && given.size() == 1) name = program.inputs()[0].name;
    if (name.empty()) {
      std::vector<std::string> names;
      for (const graph::InputInfo& info : program.inputs()) names.push_back(info.name);
      return fail(Code::InvalidArgument, "--input {}: NAME=FILE expected, with a name of {}", text,
                  fmt::join(names, ", "));
    }
    if (!files.emplace(name, file).second) return fail(Code::InvalidArgument, "--input {}: given twice", name);
  }
  return files;
}

Json nested_of(const Value& value, std::size_t axis, std::size_t& at) {
  if (axis == value.rank()) {
    const std::size_t i = at++;
    if (value.type == Type::boolean) return Json(value.as<std::int64_t>()[i] != 0);
    if (!graph::is_float(value.type)) return Json(value.as<std::int64_t>()[i]);
    const double v = value.number(i);
    if (std::isnan(v)) return Json("NaN");
    if (std::isinf(v)) return Json(v > 0 ? "Infinity" : "-Infinity");
    return graph::store_of(value.type) == graph::Store::f32 ? Json(value.as<float>()[i]) : Json(v);
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < value.dims[axis]; ++i) list.push_back(nested_of(value, axis + 1, at));
  return list;
}

Json listed(const std::vector<std::pair<std::string, Value>>& values, bool numbers) {
  Json list = Json::array();
  for (const auto& [name, value] : values) {
    list.push_back({{"name", name}, {"type", graph::name_of(value.type)}, {"shape", value.dims}});
    if (numbers) list.back()["values"] = nested_json(value);
  }
  return list;
}

void count_ops(const graph::Body& body, std::map<std::string, std::size_t>& ops) {
  for (const graph::Node& node : body.nodes) {
    ++ops[node.domain.empty() ? node.op : node.domain + "." + node.op];
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) count_ops(*attribute.body, ops);
  }
}

Json described(const graph::InputInfo& info) {
  Json out{{"name", info.name}, {"type", graph::name_of(info.type)}};
  if (!info.has_shape) return out;
  Json shape = Json::array();
  for (const std::int64_t d : info.dims) shape.push_back(d < 0 ? Json("?") : Json(d));
  out["shape"] = std::move(shape);
  return out;
}

// Runs the same inputs again and takes the time of each run. A session that answers otherwise the second time is
// broken.
Result<void> repeat(graph::Runner& runner, double seconds, GraphRunResult& result) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    LOOM_TRY(const std::vector<Value> outputs, runner.run(result.inputs));
    result.repeated.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    LOOM_TRY(const Digest digest, digest_of_outputs(outputs));
    if (digest != result.digest)
      return fail(Code::InvalidState, "run {} answers {}, the first one {}", result.repeated.size() + 1, to_hex(digest),
                  to_hex(result.digest));
  }
  return {};
}

}  // namespace

Result<Digest> digest_of_outputs(const std::vector<Value>& outputs) {
  Sha256 hash;
  for (const Value& value : outputs) {
    LOOM_TRY(const auto bytes, graph::bytes_of_value(value));
    hash.update(bytes);
  }
  return hash.finish();
}

Json nested_json(const Value& value) {
  std::size_t at = 0;
  return nested_of(value, 0, at);
}

Result<GraphRunResult> run_graph_file(const std::string& path, const GraphRunOptions& options) {
  LOOM_TRY(graph::Model model, read_graph(path));
  auto made = graph::Program::create(std::move(model), {options.max_bytes});
  if (!made) return at(path, std::move(made).error());
  LOOM_TRY(const auto files, files_of(**made, options.inputs));
  GraphRunResult result;
  for (const graph::InputInfo& info : (*made)->accepted()) {
    const auto file = files.find(info.name);
    if (file == files.end() && result.inputs.size() >= (*made)->inputs().size()) continue;  // it has a default
    if (file == files.end()) result.drawn.push_back(info.name);
    auto value = file == files.end() ? drawn_value(info, options.seed) : value_of_file(file->second);
    if (value) value = in_type(std::move(*value), info.type);
    if (!value) return at(file == files.end() ? path : file->second, std::move(value).error());
    result.inputs.emplace_back(info.name, std::move(*value));
  }
  LOOM_TRY(const auto runner, graph::Runner::create(*made, options.runner));
  const auto begin = std::chrono::steady_clock::now();
  auto outputs = runner->run(result.inputs);
  if (!outputs) return at(path, std::move(outputs).error());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  LOOM_TRY(result.digest, digest_of_outputs(*outputs));
  LOOM_TRY_VOID(repeat(*runner, options.repeat_seconds, result));
  for (std::size_t i = 0; i < outputs->size(); ++i)
    result.outputs.emplace_back((*made)->outputs()[i], std::move((*outputs)[i]));
  result.scratch_bytes = runner->scratch_bytes(), result.precision = precision_of(runner->device());
  result.threads = runner->threads(), result.device = device_title(runner->device());
  result.isa = options.runner.isa.value_or(best_isa());
  return result;
}

Json to_json(const GraphRunResult& result, bool values) {
  return {{"inputs", listed(result.inputs, false)},
          {"outputs", listed(result.outputs, values)},
          {"hash", to_hex(result.digest)},
          {"scratch_bytes", result.scratch_bytes},
          {"precision", name(result.precision)}};
}

Result<void> write_value_npy(const std::string& path, const Value& value) {
  if (value.type == Type::boolean) {
    LOOM_TRY(const auto bytes, graph::bytes_of_value(value));
    return write_npy(path, DType::uint8, value.dims, bytes, true);
  }
  for (const ValueType& row : kValueTypes)
    if (row.type == value.type) {
      LOOM_TRY(const auto bytes, graph::bytes_of_value(value));
      return write_npy(path, row.dtype, value.dims, bytes);
    }
  LOOM_TRY(const Value wide, in_type(value, Type::f32));
  LOOM_TRY(const auto bytes, graph::bytes_of_value(wide));
  return write_npy(path, DType::float32, value.dims, bytes);
}

Json graph_facts(const graph::Model& model) {
  std::map<std::string, std::size_t> ops;
  count_ops(model.body, ops);
  std::size_t bytes = 0, parameters = 0;
  std::map<std::string, bool> constants;
  for (const auto& [name, value] : model.body.constants) {
    bytes += graph::stored_bytes(value.type, value.elements()), parameters += value.elements();
    constants[name] = true;
  }
  Json inputs = Json::array(), outputs = Json::array();
  for (const graph::InputInfo& info : model.body.inputs)
    if (!constants.contains(info.name)) inputs.push_back(described(info));
  for (const graph::InputInfo& info : model.body.output_infos) outputs.push_back(described(info));
  const auto supported = graph::check_model(model);
  Json out{{"format", "onnx"},         {"opset", model.opset},    {"inputs", inputs},
           {"outputs", outputs},       {"operations", ops},       {"constants", model.body.constants.size()},
           {"parameters", parameters}, {"constant_bytes", bytes}, {"runs", supported.has_value()}};
  if (!supported) out["missing"] = supported.error().message;
  return out;
}

}  // namespace loom
