#include "host/tensor_file.h"

#include <algorithm>
#include <cstring>

#include "core/file.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "dtypes/decode.h"
#include "io/npy/npz.h"

namespace loom {
namespace {

Result<void> append_numbers(const Json& json, std::vector<double>& values, std::vector<std::size_t>& extents,
                            std::size_t depth) {
  if (const auto number = as_number(json)) {
    if (depth != extents.size()) return fail(Code::ShapeMismatch, "the lists are not all nested to the same depth");
    values.push_back(*number);
    return {};
  }
  if (!json.is_array() || json.empty()) return fail(Code::CorruptData, "nested lists of numbers expected");
  if (depth == extents.size()) {
    if (!values.empty() || depth >= Shape::kMaxRank)
      return fail(Code::ShapeMismatch, "the lists are not all nested to the same depth");
    extents.push_back(json.size());
  }
  if (json.size() != extents[depth])
    return fail(Code::ShapeMismatch, "a list of {} beside one of {}", json.size(), extents[depth]);
  for (const Json& item : json) LOOM_TRY_VOID(append_numbers(item, values, extents, depth + 1));
  return {};
}

Result<TensorValues> from_json(const Json& json) {
  TensorValues input;
  std::vector<std::size_t> extents;
  LOOM_TRY_VOID(append_numbers(json, input.values, extents, 0));
  LOOM_TRY(input.shape, Shape::create(extents));
  return input;
}

Result<TensorValues> from_npy(const NpyArray& array) {
  TensorValues input;
  LOOM_TRY(input.shape, Shape::create(array.shape));
  const std::size_t n = input.shape.elements();
  input.values.resize(n);
  const auto widen = [&]<class T>(T) {
    for (std::size_t i = 0; i < n; ++i)
      input.values[i] = static_cast<double>(load_le<T>(array.bytes.data() + i * sizeof(T)));
  };
  switch (array.dtype) {  // what f32 would round
    case DType::float64: widen(double{}); break;
    case DType::int64: widen(std::int64_t{}); break;  // class numbers, as NumPy makes them
    case DType::int32: widen(std::int32_t{}); break;
    case DType::uint64: widen(std::uint64_t{}); break;
    case DType::uint32: widen(std::uint32_t{}); break;
    default: {
      std::vector<float> narrow(n);
      decode_to_float(array.dtype, array.bytes.data(), narrow.data(), n);
      std::ranges::copy(narrow, input.values.begin());
    }
  }
  return input;
}

Result<Examples> from_npz(const std::string& path) {
  LOOM_TRY(const auto arrays, read_npz(path));
  Examples out;
  const auto take = [&](const char* name, const char* other, TensorValues& to) -> Result<bool> {
    auto found = arrays.find(name);
    if (found == arrays.end()) found = arrays.find(other);
    if (found == arrays.end()) return false;
    auto input = from_npy(found->second);
    if (!input) return at(fmt::format("{}: {}", path, found->first), std::move(input).error());
    to = std::move(*input);
    return true;
  };
  LOOM_TRY(const bool has_inputs, take("inputs", "x", out.inputs));
  if (!has_inputs) return fail(Code::NotFound, "{}: holds no array \"inputs\" (or \"x\")", path);
  LOOM_TRY(out.has_targets, take("targets", "y", out.targets));
  return out;
}

}  // namespace

Result<TensorValues> read_tensor(const std::string& path) {
  if (path.ends_with(".npy")) {
    LOOM_TRY(const NpyArray array, read_npy(path));
    auto input = from_npy(array);
    if (!input) return at(path, std::move(input).error());
    return input;
  }
  LOOM_TRY(const std::string text, read_text_file(path));
  const auto json = parse_json(text);
  if (!json) return at(path, json.error());
  auto input = from_json(*json);
  if (!input) return at(path, std::move(input).error());
  return input;
}

Result<Examples> read_examples(const std::string& path) {
  if (path.ends_with(".npz")) return from_npz(path);
  Examples out;
  if (!path.ends_with(".npy")) {
    LOOM_TRY(const std::string text, read_text_file(path));
    auto json = parse_json(text);
    if (!json) return at(path, std::move(json).error());
    if (const Json* inputs = find(*json, "inputs")) {
      auto read = from_json(*inputs);
      if (!read) return at(path + ": /inputs", std::move(read).error());
      out.inputs = std::move(*read);
      const Json* targets = find(*json, "targets");
      if (!targets) return out;
      auto wanted = from_json(*targets);
      if (!wanted) return at(path + ": /targets", std::move(wanted).error());
      out.targets = std::move(*wanted), out.has_targets = true;
      return out;
    }
  }
  LOOM_TRY(out.inputs, read_tensor(path));
  return out;
}

}  // namespace loom
