#include "io/mount.h"

#include <algorithm>
#include <set>

#include "core/checked.h"
#include "core/json.h"
#include "dtypes/decode.h"
#include "io/npy/npz.h"
#include "io/safetensors/safetensors.h"

namespace loom {
namespace mounting {
namespace {

std::string shape_text(std::span<const std::size_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// The rows that a weight counts in a tensor: its first axis.
std::size_t rows_of(const Weight& w) { return w.shape()[0]; }

// Returns whether the axes after the first are those of the weight.
bool rows_fit(const BareTensor& t, const Mount& mount, const Weight& w) {
  const auto wanted = w.shape().extents();
  if (mount.transposed)
    return t.shape.size() == 2 && wanted.size() == 2 && t.shape[0] == wanted[1] && t.shape[1] == wanted[0];
  if (mount.swaps_channels)
    return t.shape.size() == wanted.size() && t.shape[0] == wanted[1] * mount.groups &&
           t.shape[1] * mount.groups == wanted[0] && std::equal(t.shape.begin() + 2, t.shape.end(), wanted.begin() + 2);
  return t.shape.size() == wanted.size() && std::equal(t.shape.begin() + 1, t.shape.end(), wanted.begin() + 1) &&
         mount.first_row <= t.shape[0] && rows_of(w) <= t.shape[0] - mount.first_row;
}

// The values that a mount takes, in the order of the weight.
std::vector<float> taken(const BareTensor& t, const std::vector<float>& all, const Mount& mount, const Weight& w) {
  const std::size_t rows = rows_of(w), cols = w.elements() / rows;
  std::vector<float> out(w.elements());
  if (mount.transposed) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) out[r * cols + c] = all[c * rows + r];
    return out;
  }
  if (!mount.swaps_channels) {
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(mount.first_row * cols), out.size(), out.begin());
    return out;
  }
  const std::size_t filters = t.shape[1], channels = w.shape()[1], taps = cols / channels;
  for (std::size_t g = 0; g < mount.groups; ++g)
    for (std::size_t f = 0; f < filters; ++f)
      for (std::size_t c = 0; c < channels; ++c)
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(((g * channels + c) * filters + f) * taps), taps,
                    out.begin() + static_cast<std::ptrdiff_t>(((g * filters + f) * channels + c) * taps));
  return out;
}

// The state of one call of mount_tensors().
struct Mounting {
  std::map<std::string, Weight*> weights;
  std::map<std::string, const BareTensor*> tensors;
  std::map<std::string, std::vector<float>> values;           // by weight
  std::map<std::string, std::vector<std::size_t>> rows_used;  // by tensor: how often each row

  Result<void> put(const Mount& mount) {
    const auto tensor = tensors.find(mount.tensor);
    if (tensor == tensors.end()) return fail(Code::NotFound, "{}: the file has no such tensor", mount.tensor);
    const auto weight = weights.find(mount.path);
    if (weight == weights.end())
      return fail(Code::NotFound, "{}: the network has no weight {}", mount.tensor, mount.path);
    const BareTensor& t = *tensor->second;
    const Weight& w = *weight->second;
    if (!rows_fit(t, mount, w))
      return fail(Code::ShapeMismatch, "{}: shape {}, from row {} on no {} for {}", mount.tensor, shape_text(t.shape),
                  mount.first_row, w.shape().text(), mount.path);
    LOOM_TRY(const std::vector<float> all, t.values());
    const std::vector<float> own = taken(t, all, mount, w);
    auto& used = rows_used[mount.tensor];
    used.resize(t.shape[0]);
    const std::size_t rows = mount.transposed || mount.swaps_channels ? t.shape[0] : rows_of(w);
    for (std::size_t r = 0; r < rows; ++r) ++used[mount.first_row + r];
    auto& to = values[mount.path];
    if (!mount.adds && !to.empty())
      return fail(Code::InvalidArgument, "{}: {} has its values from another tensor", mount.tensor, mount.path);
    if (to.empty()) to.assign(own.size(), 0);
    for (std::size_t i = 0; i < own.size(); ++i) to[i] += own[i];
    return {};
  }
};

}  // namespace
}  // namespace mounting

std::size_t BareTensor::elements() const {
  std::size_t n = 1;
  for (const std::size_t d : shape) n *= d;
  return n;
}

Result<std::vector<float>> BareTensor::values() const {
  const DTypeInfo& type = info(dtype);
  if (type.compute == ComputeClass::Block || type.bits < 8 || (type.compute == ComputeClass::Wide && type.bits > 16))
    return fail(Code::Unsupported, "{}: {} values are no weights", name, loom::name(dtype));
  LOOM_TRY(const std::size_t wanted, checked_mul(elements(), type.bits / 8u));
  if (bytes.size() != wanted) return fail(Code::CorruptData, "{}: {} bytes, {} expected", name, bytes.size(), wanted);
  std::vector<float> out(elements());
  decode_to_float(dtype, bytes.data(), out.data(), out.size());
  return out;
}

Json to_json(const LoadReport& report) {
  Json tensors = Json::array();
  for (const TensorReport& t : report.tensors) {
    Json one{{"name", t.name}, {"shape", t.shape}, {"dtype", name(t.dtype)}};
    if (t.reason.empty())
      one["to"] = t.paths;
    else
      one["left_out"] = t.reason;
    tensors.push_back(std::move(one));
  }
  return {{"format", report.format}, {"tensors", std::move(tensors)}};
}

namespace {

Result<std::vector<BareTensor>> tensors_of_arrays(std::span<const std::byte> file) {
  LOOM_TRY(auto arrays, parse_npz(file));
  std::vector<BareTensor> out;
  for (auto& [name, array] : arrays) {
    const auto kept = std::make_shared<const NpyArray>(std::move(array));
    out.push_back({name, kept->dtype, kept->shape, {kept->bytes.data(), kept->bytes.size()}, kept});
  }
  return out;
}

std::vector<BareTensor> tensors_of(SafetensorsModel opened) {
  const auto kept = std::make_shared<const SafetensorsModel>(std::move(opened));
  std::vector<BareTensor> out;
  for (const SafeTensor* t : kept->tensors()) out.push_back({t->name, t->dtype, t->shape, t->bytes, kept});
  return out;
}

}  // namespace

Result<std::vector<BareTensor>> read_bare_tensors(const Identified& file) {
  if (file.kind == FileKind::Npz) {
    auto tensors = tensors_of_arrays(file.source->bytes());
    if (!tensors) return at(file.path, std::move(tensors).error());
    return tensors;
  }
  if (file.is_folder() || file.kind == FileKind::Json) {  // an index of shards
    LOOM_TRY(SafetensorsModel opened, SafetensorsModel::open(file.path));
    return tensors_of(std::move(opened));
  }
  LOOM_TRY(SafetensorsModel opened, SafetensorsModel::open(file.source));
  return tensors_of(std::move(opened));
}

Result<std::vector<BareTensor>> read_bare_tensors(const std::string& path) {
  LOOM_TRY(const Identified file, identify(path));
  return read_bare_tensors(file);
}

Result<LoadReport> mount_tensors(Network& network, std::span<const BareTensor> tensors, std::span<const Mount> mounts,
                                 const std::map<std::string, std::string>& ignored) {
  mounting::Mounting state;
  network.visit_weights([&](const std::string& path, Weight& w, Layer&) { state.weights[path] = &w; });
  for (const BareTensor& t : tensors) state.tensors[t.name] = &t;
  for (const bool adds : {false, true})  // what is added to comes first
    for (const Mount& mount : mounts)
      if (mount.adds == adds) LOOM_TRY_VOID(state.put(mount));
  for (const auto& [path, w] : state.weights) {
    const auto values = state.values.find(path);
    if (values == state.values.end()) return fail(Code::NotFound, "{}: no tensor of the file has its values", path);
    if (auto done = w->set(values->second); !done) return at(path, std::move(done).error());
  }
  LoadReport report;
  for (const BareTensor& t : tensors) {
    TensorReport row{t.name, t.shape, t.dtype, {}, {}};
    for (const Mount& mount : mounts)
      if (mount.tensor == t.name) row.paths.push_back(mount.path);
    const auto used = state.rows_used.find(t.name);
    const auto reason = ignored.find(t.name);
    if (used == state.rows_used.end() && reason == ignored.end())
      return fail(Code::InvalidArgument, "{} {}: the tensor has no place in the network", t.name,
                  mounting::shape_text(t.shape));
    if (reason != ignored.end()) row.reason = reason->second;
    if (used != state.rows_used.end() && std::ranges::find(used->second, 0u) != used->second.end())
      return fail(Code::ShapeMismatch, "{} {}: some of its rows have no place in the network", t.name,
                  mounting::shape_text(t.shape));
    report.tensors.push_back(std::move(row));
  }
  return report;
}

Result<void> rename_by_prefix(std::vector<BareTensor>& tensors, const std::map<std::string, std::string>& prefixes) {
  std::set<std::string> matched, names;
  for (BareTensor& t : tensors) {
    const std::string* longest = nullptr;
    for (const auto& [prefix, to] : prefixes)
      if (t.name.starts_with(prefix) && (longest == nullptr || prefix.size() > longest->size())) longest = &prefix;
    if (longest != nullptr) {
      matched.insert(*longest);
      t.name = prefixes.at(*longest) + t.name.substr(longest->size());
    }
    if (!names.insert(t.name).second) return fail(Code::InvalidArgument, "{}: two tensors come to this name", t.name);
  }
  for (const auto& [prefix, to] : prefixes)
    if (!matched.contains(prefix))
      return fail(Code::NotFound, "prefix \"{}\": no tensor's name begins with it", prefix);
  return {};
}

}  // namespace loom
