#include "bridge/bridge_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/file.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/nearest.h"
#include "dtypes/decode.h"
#include "io/npy/npz.h"

namespace loom {
namespace {

constexpr std::size_t kMostNesting = 8;

Result<void> append_flat(const Json& json, std::vector<double>& values, const Steps& place, std::size_t depth) {
  if (const auto number = as_number(json)) {
    values.push_back(*number);
    return {};
  }
  if (!json.is_array() || depth == kMostNesting)
    return fail_at(place, Code::InvalidConfig, "expected numbers, got {}", printable(dump_json(json).substr(0, 40)));
  for (const Json& item : json) LOOM_TRY_VOID(append_flat(item, values, place, depth + 1));
  return {};
}

// Networks let through what is not finite, and what float32 cannot hold; a stream's outputs have to be numbers.
Result<void> check_finite(std::span<const double> values, const BridgeNetwork& network, const Steps& place) {
  const double most = network.network.settings.activations == Element::f32
                          ? static_cast<double>(std::numeric_limits<float>::max())
                          : std::numeric_limits<double>::max();
  const auto bad = std::ranges::find_if(values, [&](double v) { return !(std::abs(v) <= most); });
  if (bad == values.end()) return {};
  return fail_at(place, Code::NonFinite, "number {} is not finite", bad - values.begin());
}

// Puts one tensor of every sample where it belongs.
Result<void> add_part(BridgeSamples& samples, const BridgeNetwork& network, const BridgeInput& input,
                      std::size_t offset, std::size_t count, const std::vector<double>& values) {
  const std::size_t width = input.shape.elements(), row = network.sample.elements();
  if (samples.count != 0 && samples.count != count)
    return fail_at({input.key}, Code::ShapeMismatch, "{} samples beside {}", count, samples.count);
  samples.count = count;
  if (input.is_external) {
    samples.external = values;
    return {};
  }
  LOOM_TRY(const std::size_t total, checked_mul(count, row));
  samples.rows.resize(total);
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                samples.rows.begin() + static_cast<std::ptrdiff_t>(i * row + offset));
  return {};
}

std::vector<double> doubles_of(const NpyArray& array, std::size_t elements) {
  if (array.dtype == DType::float64) {
    std::vector<double> values(elements);
    for (std::size_t i = 0; i < elements; ++i) values[i] = load_le<double>(array.bytes.data() + i * sizeof(double));
    return values;
  }
  std::vector<float> narrow(elements);
  decode_to_float(array.dtype, array.bytes.data(), narrow.data(), narrow.size());
  return {narrow.begin(), narrow.end()};
}

// The first so many of each axis of an array [samples, ...].
Result<std::vector<double>> corner(const NpyArray& array, const BridgeInput& input) {
  const Shape& want = input.shape;
  std::size_t elements = 1;
  for (const std::size_t extent : array.shape) elements *= extent;
  bool fits = array.shape.size() == want.rank() + 1 && array.shape[0] > 0;
  for (std::size_t a = 0; fits && a < want.rank(); ++a) fits = want[a] <= array.shape[a + 1];
  if (!fits)
    return fail(Code::ShapeMismatch, "{}: an array of {} axes and {} numbers does not hold samples of {}",
                input.fixture, array.shape.size(), elements, want.text());
  const std::vector<double> all = doubles_of(array, elements);
  std::vector<double> out;
  out.reserve(array.shape[0] * want.elements());
  const std::size_t rows = array.shape[0] * want.rows(), cols = want.cols();
  for (std::size_t r = 0; r < rows; ++r) {
    // The offset in the array of row r of the result, axis by axis.
    std::size_t left = r, offset = 0, stride = array.shape.back();
    for (std::size_t a = want.rank() - 1; a-- > 0;) {
      offset += left % want[a] * stride;
      left /= want[a], stride *= array.shape[a + 1];
    }
    offset += left * stride;
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(offset),
               all.begin() + static_cast<std::ptrdiff_t>(offset + cols));
  }
  return out;
}

}  // namespace

Result<std::string> safe_file_name(std::string_view id, std::string_view what) {
  constexpr std::size_t kMost = 128;
  std::string out(id);
  std::ranges::replace(out, ' ', '_');
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '+';
  };
  if (out.empty() || out.size() > kMost || out[0] == '.' || !std::ranges::all_of(out, plain))
    return fail_at({std::string(what)}, Code::InvalidArgument,
                   "\"{}\": expected 1 to {} letters, digits, '.', '-', '_' or '+', the first one no '.'",
                   printable(id), kMost);
  return out;
}

Result<JsonRows> rows_from_json(const Json& list, const Steps& place) {
  if (!list.is_array() || list.empty()) return fail_at(place, Code::InvalidConfig, "expected a list of samples");
  JsonRows rows;
  rows.count = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t before = rows.values.size();
    LOOM_TRY_VOID(append_flat(list[i], rows.values, place, 0));
    const std::size_t width = rows.values.size() - before;
    if (i == 0) rows.width = width;
    if (width == 0 || width != rows.width)
      return fail_at(place, Code::ShapeMismatch, "sample {} has {} numbers, the first one {}", i, width, rows.width);
  }
  return rows;
}

bool has_inputs(const Json& request) {
  const Json* inputs = find(request, "inputs");
  return inputs != nullptr && !inputs->is_null();
}

Result<BridgeSamples> samples_of_request(const BridgeNetwork& network, const Json& request) {
  BridgeSamples samples;
  std::size_t offset = 0;
  for (const BridgeInput& input : network.inputs) {
    const Json* given = find(request, input.key);
    if (given == nullptr || given->is_null())
      return fail_at({input.key}, Code::NotFound, "{}: samples of {} are missing", network.bedrock, input.shape.text());
    LOOM_TRY(const JsonRows rows, rows_from_json(*given, {input.key}));
    LOOM_TRY_VOID(check_finite(rows.values, network, {input.key}));
    const bool whole = offset == 0 && rows.width == network.sample.elements();  // tokens stand in the row itself
    if (rows.width != input.shape.elements() && !whole)
      return fail_at({input.key}, Code::ShapeMismatch, "{} numbers in a sample, the network reads {} ({})", rows.width,
                     input.shape.elements(), input.shape.text());
    BridgeInput part = input;
    if (whole) part.shape = network.sample;
    LOOM_TRY_VOID(add_part(samples, network, part, offset, rows.count, rows.values));
    if (whole && rows.width != input.shape.elements()) break;
    offset += input.shape.elements();
  }
  return samples;
}

Result<BridgeSamples> samples_of_fixture(const BridgeNetwork& network, const std::string& folder,
                                         const std::string& version) {
  LOOM_TRY(const std::string name, safe_file_name(version, "fixture_version"));
  std::string path = fmt::format("{}/{}.npz", folder, name);
  if (!is_file(path)) path = fmt::format("{}/{}/{}.npz", folder, network.bedrock, name);
  if (!is_file(path))
    return fail(Code::NotFound, "no inputs are given, and there is no fixture {}/{}.npz", folder, name);
  std::vector<std::string_view> wanted;
  wanted.reserve(network.inputs.size());
  for (const BridgeInput& input : network.inputs) wanted.push_back(input.fixture);
  LOOM_TRY(const auto arrays, read_npz(path, wanted));
  BridgeSamples samples;
  std::size_t offset = 0;
  for (const BridgeInput& input : network.inputs) {
    const auto found = arrays.find(input.fixture);
    if (found == arrays.end()) return fail(Code::NotFound, "{}: holds no array \"{}\"", path, input.fixture);
    auto values = corner(found->second, input);
    if (!values) return at(path, std::move(values).error());
    LOOM_TRY_VOID(check_finite(*values, network, {input.fixture}));
    LOOM_TRY_VOID(add_part(samples, network, input, offset, found->second.shape[0], *values));
    offset += input.shape.elements();
  }
  return samples;
}

}  // namespace loom
