#include "host/tensor_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/json.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "data/csv/csv.h"
#include "data/idx/idx.h"
#include "data/source.h"
#include "dtypes/decode.h"
#include "io/byte_reader.h"
#include "io/npy/npy_types.h"
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

// IDX has the most significant byte of an element first.
Result<TensorValues> from_idx(const RawArray& array) {
  LOOM_TRY(const Shape shape, Shape::create(array.shape));
  const std::size_t count = shape.elements(), size = count == 0 ? 1 : array.bytes.size() / count;
  NpyArray out{.dtype = array.dtype, .is_bool = false, .shape = array.shape, .bytes = {}};
  LOOM_TRY(out.bytes, Buffer::create(array.bytes.size()));
  for (std::size_t i = 0; i < array.bytes.size(); ++i)
    out.bytes.data()[i] = array.bytes[i - i % size + (size - 1 - i % size)];
  return from_npy(out);
}

// A table of numbers: records of equal length, of which the first may name the columns.
Result<TensorValues> from_table(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  char delimiter = ',';
  for (const char other : {'\t', ';'})
    if (first_line.find(',') == std::string_view::npos && first_line.find(other) != std::string_view::npos)
      delimiter = other;
  CsvParser parser(text, delimiter);
  TensorValues out;
  std::vector<std::string> fields;
  std::size_t columns = 0, rows = 0;
  for (bool is_first = true;; is_first = false) {
    LOOM_TRY(const bool has_record, parser.next(fields));
    if (!has_record) break;
    if (is_first) columns = fields.size();
    if (fields.size() != columns)
      return fail(Code::ShapeMismatch, "line {}: {} fields, the first record has {}", parser.line(), fields.size(),
                  columns);
    const auto begin = out.values.size();
    for (const std::string& field : fields)
      if (const auto number = parse_number(field)) out.values.push_back(*number);
    if (out.values.size() - begin == columns) {
      ++rows;
    } else if (is_first) {
      out.values.clear();  // names of columns
    } else {
      return fail(Code::CorruptData, "line {}: expected numbers, got \"{}\"", parser.line(),
                  printable(*std::ranges::find_if(fields, [](const auto& f) { return !parse_number(f); })));
    }
  }
  if (rows == 0) return fail(Code::CorruptData, "expected an array of NumPy, IDX, lists in JSON or a table of numbers");
  LOOM_TRY(out.shape, Shape::create(std::array{rows, columns}));
  return out;
}

enum class Content : std::uint8_t { Npy, Npz, Idx, Json, Table };

// The name counts only for what begins like no format: it chooses the reader that says what is wrong.
Content kind_of_content(std::string_view text, std::string_view name) {
  constexpr std::string_view kIdxTypes = "\x08\x09\x0b\x0c\x0d\x0e";
  if (text.starts_with(kNpyMagic)) return Content::Npy;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return Content::Npz;
  if (text.size() > 3 && text[0] == '\0' && text[1] == '\0' && kIdxTypes.find(text[2]) != std::string_view::npos)
    return Content::Idx;
  const std::size_t first = text.find_first_not_of(" \n\t\r");
  if (first == std::string_view::npos || text[first] == '[' || text[first] == '{') return Content::Json;
  constexpr std::pair<std::string_view, Content> kNames[] = {
      {".npy", Content::Npy}, {".npz", Content::Npz}, {".json", Content::Json}};
  for (const auto& [ending, content] : kNames)
    if (name.ends_with(ending)) return content;
  return Content::Table;
}

Result<TensorValues> one_of_npz(std::span<const std::byte> bytes) {
  LOOM_TRY(const auto arrays, parse_npz(bytes));
  for (const char* name : {"inputs", "x"})
    if (const auto found = arrays.find(name); found != arrays.end()) return from_npy(found->second);
  if (arrays.size() != 1)
    return fail(Code::NotFound, "{} arrays, none of which is named \"inputs\" or \"x\"", arrays.size());
  return from_npy(arrays.begin()->second);
}

Result<TensorValues> tensor_of(const Source& source) {
  const std::string_view text = as_text(source.bytes);
  switch (kind_of_content(text, source.path)) {
    case Content::Npy: {
      LOOM_TRY(const NpyArray array, parse_npy(source.bytes));
      return from_npy(array);
    }
    case Content::Npz: return one_of_npz(source.bytes);
    case Content::Idx: {
      LOOM_TRY(const RawArray array, parse_idx(source.bytes));
      return from_idx(array);
    }
    case Content::Json: {
      LOOM_TRY(const Json json, parse_json(text));
      return from_json(json);
    }
    case Content::Table: return from_table(text);
  }
  return fail(Code::CorruptData, "no tensor");
}

Result<Examples> from_npz(const Source& source) {
  LOOM_TRY(const auto arrays, parse_npz(source.bytes));
  Examples out;
  const auto take = [&](const char* name, const char* other, TensorValues& to) -> Result<bool> {
    auto found = arrays.find(name);
    if (found == arrays.end()) found = arrays.find(other);
    if (found == arrays.end()) return false;
    auto input = from_npy(found->second);
    if (!input) return at(found->first, std::move(input).error());
    to = std::move(*input);
    return true;
  };
  LOOM_TRY(const bool has_inputs, take("inputs", "x", out.inputs));
  if (!has_inputs) return fail(Code::NotFound, "holds no array \"inputs\" (or \"x\")");
  LOOM_TRY(out.has_targets, take("targets", "y", out.targets));
  return out;
}

Result<Examples> examples_of(const Source& source) {
  const std::string_view text = as_text(source.bytes);
  const Content content = kind_of_content(text, source.path);
  if (content == Content::Npz) return from_npz(source);
  Examples out;
  if (content == Content::Json) {
    LOOM_TRY(const Json json, parse_json(text));
    if (const Json* inputs = find(json, "inputs")) {
      auto read = from_json(*inputs);
      if (!read) return at("/inputs", std::move(read).error());
      out.inputs = std::move(*read);
      const Json* targets = find(json, "targets");
      if (!targets) return out;
      auto given = from_json(*targets);
      if (!given) return at("/targets", std::move(given).error());
      out.targets = std::move(*given), out.has_targets = true;
      return out;
    }
    LOOM_TRY(out.inputs, from_json(json));
    return out;
  }
  LOOM_TRY(out.inputs, tensor_of(source));
  return out;
}

}  // namespace

Result<TensorValues> read_tensor(const std::string& path) {
  LOOM_TRY(const Source source, open_source(path));
  auto read = tensor_of(source);
  if (!read) return at(path, std::move(read).error());
  return read;
}

Result<Examples> read_examples(const std::string& path) {
  LOOM_TRY(const Source source, open_source(path));
  auto read = examples_of(source);
  if (!read) return at(path, std::move(read).error());
  return read;
}

}  // namespace loom
