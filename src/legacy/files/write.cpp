#include "legacy/files/write.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "core/json.h"
#include "core/little_endian.h"
#include "dtypes/packing.h"
#include "io/weight_tensors.h"
#include "legacy/files/stores.h"

namespace loom::loom08 {
namespace {

// Blobs whose path is that of the layer and this name; all other weights of a layer are one blob.
constexpr std::string_view kOwnBlobs[] = {"q_norm", "k_norm", "inner_norm"};

struct BlobV1 {
  DType dtype = DType::float32;
  bool is_native = true;
  float scale = 1;
  std::vector<std::byte> bytes;
};

// The weights of one layer that share a blob.
struct LayerBlob {
  DType dtype = DType::float32;  // of the layer
  std::vector<const Weight*> weights;
  std::size_t zeros = 0;  // numbers after them: biases that only 0.8x has
};

// The code of 0.8x for a code of ours; nothing for values that it lacks.
std::optional<unsigned> code_v1(DType dtype, std::int64_t code) {
  constexpr std::array<int, 8> kFp4 = {0, -1, -1, 1, 2, 3, 4, 5};  // the other way round in blob.cpp
  switch (dtype) {
    case DType::fp4:
      if (kFp4[static_cast<std::size_t>(code & 7)] < 0) return std::nullopt;
      return static_cast<unsigned>(kFp4[static_cast<std::size_t>(code & 7)]) + static_cast<unsigned>(code & 8);
    case DType::ternary: return static_cast<unsigned>(code) & 3;
    case DType::binary: return code > 0 ? 1u : 0u;
    default: return static_cast<unsigned>(code) & ((1u << info(dtype).bits) - 1);
  }
}

// Concatenates codes; those of less than eight bits begin at the highest bits of their byte.
class CodeWriter {
 public:
  explicit CodeWriter(DType dtype) : dtype_(dtype), bits_(info(dtype).bits) {}

  bool put(const QuantizedMatrix& q) {
    if (bits_ >= 8) {
      bytes_.insert(bytes_.end(), q.codes.begin(), q.codes.end());
      return true;
    }
    for (std::size_t i = 0; i < q.rows * q.cols; ++i) {
      const auto code = code_v1(dtype_, q.code(i));
      if (!code) return false;
      put(*code);
    }
    return true;
  }
  void put_zeros(std::size_t count) {
    if (bits_ >= 8) bytes_.resize(bytes_.size() + count * (bits_ / 8));
    for (std::size_t i = 0; i < count && bits_ < 8; ++i) put(0u);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put(unsigned code) {
    const std::size_t place = count_++ % (8 / bits_);
    if (place == 0) bytes_.push_back(std::byte{0});
    bytes_.back() |= static_cast<std::byte>(code << (8 - bits_ * (place + 1)));
  }

  DType dtype_;
  unsigned bits_;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_;
};

std::vector<float> floats_of(const Weight& w) {
  std::vector<float> values(w.elements());
  if (w.has_master() && w.master64().empty())
    std::copy(w.master().begin(), w.master().end(), values.begin());
  else
    w.decode(0, values.size(), values.data());
  return values;
}

// The one scale of all matrices; nothing where there are several, or zero points.
std::optional<double> one_scale(const LayerBlob& layer) {
  std::optional<double> scale;
  for (const Weight* w : layer.weights) {
    const auto q = w->quantized();
    if (!q) return std::nullopt;
    if (q->dtype != layer.dtype) continue;
    for (const double s : q->scales)
      if (s != scale.value_or(s))
        return std::nullopt;
      else
        scale = s;
    if (std::ranges::any_of(q->zero_points, [](std::int64_t z) { return z != 0; })) return std::nullopt;
  }
  return scale;
}

// The weights as codes of the layer's type; nothing where one scale cannot hold them.
Result<std::optional<BlobV1>> native_blob(const LayerBlob& layer) {
  BlobV1 blob;
  blob.dtype = layer.dtype;
  double scale = 1;
  if (layer.dtype == DType::binary && layer.zeros > 0) return std::optional<BlobV1>();  // it has no zero
  if (has_scales(layer.dtype)) {
    const std::optional<double> one = one_scale(layer);
    if (!one) return std::optional<BlobV1>();
    scale = *one;
    blob.scale = static_cast<float>(layer.dtype == DType::fp4 ? 2 * scale : scale);
    if (!is_scale(layer.dtype, blob.scale)) return std::optional<BlobV1>();  // int2 has ones as -2 times -0.5
  }
  CodeWriter writer(layer.dtype);
  for (const Weight* w : layer.weights) {
    LOOM_TRY(QuantizedMatrix q, w->quantized());
    if (q.dtype != layer.dtype) {
      QuantizedMatrix like;
      like.dtype = layer.dtype, like.rows = w->rows(), like.cols = w->cols(), like.span = {Granularity::Tensor};
      like.codes.resize(w->elements() * like.code_bytes());
      if (has_scales(layer.dtype)) like.scales = {scale};
      if (has_zero_points(layer.dtype)) like.zero_points = {0};
      const std::vector<float> values = floats_of(*w);
      LOOM_TRY(q, quantize_like(like, values));
      const std::vector<float> kept = dequantize(q);
      if (has_scales(layer.dtype) && kept != values) return std::optional<BlobV1>();
    }
    if (!writer.put(q)) return std::optional<BlobV1>();
  }
  writer.put_zeros(layer.zeros);
  blob.bytes = writer.take();
  return std::optional(std::move(blob));
}

// The values as floats, which 0.8x encodes itself when it loads them.
BlobV1 master_blob(const LayerBlob& layer) {
  BlobV1 blob;
  blob.is_native = layer.dtype == DType::float32;
  for (const Weight* w : layer.weights) {
    const std::vector<float> values = floats_of(*w);
    const auto raw = std::as_bytes(std::span(values));
    blob.bytes.insert(blob.bytes.end(), raw.begin(), raw.end());
  }
  blob.bytes.resize(blob.bytes.size() + layer.zeros * sizeof(float));
  return blob;
}

// Names the weights of a layer as 0.8x orders them; its attention and swiglu always have biases.
class Blobs {
 public:
  explicit Blobs(std::vector<std::string>& losses) : losses_(losses) {}

  Result<void> add(const std::string& path, Layer& layer) {
    LayerBlob shared{layer.common.encoding.dtype, {}};
    layer.visit_weights([&](Weight& w) {
      const bool own = std::ranges::find(kOwnBlobs, w.name()) != std::end(kOwnBlobs);
      if (!own && !(layer.kind() == "dense" && w.name() == "bias")) {
        shared.weights.push_back(&w);
        return;
      }
      const std::string name =
          own ? path + "." + w.name() : "bridge.dense." + path.substr(path.find('.') + 1) + ".biases";
      blobs_[name] = master_blob({DType::float32, {&w}, 0});
      if (!own && std::ranges::any_of(floats_of(w), [](float v) { return v != 0; }))
        losses_.push_back(path + ".bias: Loom reads it, and 0.8x computes without it");
    });
    if (shared.weights.empty()) return {};
    if (layer.kind() == "mha" || layer.kind() == "swiglu") {
      LOOM_TRY(shared.zeros, missing_biases(shared));
    }
    LOOM_TRY(auto native, native_blob(shared));
    blobs_[path] = native ? std::move(*native) : master_blob(shared);
    return {};
  }

  std::map<std::string, BlobV1> take() { return std::move(blobs_); }

 private:
  // In 0.8x a row of every matrix has a bias; the biases that the layer lacks must be the last.
  static Result<std::size_t> missing_biases(const LayerBlob& layer) {
    std::size_t rows = 0, biases = 0;
    for (const Weight* w : layer.weights)
      if (w->name().ends_with("bias"))
        biases += w->elements();
      else
        rows += w->rows();
    const std::string& last = layer.weights.back()->name();
    if (biases != 0 && biases != rows && last.starts_with("o"))
      return fail(Code::Unsupported, "Loom 0.8x has no biases of the output without those of q, k and v");
    return rows - biases;
  }

  std::vector<std::string>& losses_;
  std::map<std::string, BlobV1> blobs_;
};

std::vector<std::byte> assembled(const Json& network, const std::map<std::string, BlobV1>& blobs) {
  Json list = Json::array();
  std::size_t offset = 0;
  for (const auto& [path, blob] : blobs) {
    // The shortest text of the float, not that of the same number as a double.
    const double scale = std::strtod(fmt::format("{}", blob.scale).c_str(), nullptr);
    list.push_back({{"path", path},
                    {"offset", offset},
                    {"length", blob.bytes.size()},
                    {"dtype", std::string(name(blob.dtype))},
                    {"scale", scale},
                    {"native", blob.is_native}});
    offset += blob.bytes.size();
  }
  Json document = {{"format_version", 1}, {"network", network}, {"blobs", std::move(list)}};
  if (blobs.contains(kExactWeights)) document["ext"] = {{"tensors", kExactWeights}};
  const std::string header = dump_json(document);
  std::vector<std::byte> out(20);
  std::memcpy(out.data(), "ENTITY\0\0", 8);
  store_le(out.data() + 8, std::uint16_t{1});
  store_le(out.data() + 10, std::uint16_t{0});
  store_le(out.data() + 12, static_cast<std::uint64_t>(header.size()));
  const auto text = std::as_bytes(std::span(header));
  out.insert(out.end(), text.begin(), text.end());
  for (const auto& [path, blob] : blobs) out.insert(out.end(), blob.bytes.begin(), blob.bytes.end());
  return out;
}

std::vector<double> doubles_of(const Weight& w) {
  std::vector<double> values(w.elements());
  w.decode(0, values.size(), values.data());
  return values;
}

// Reads the file back and says what came out otherwise, by the path of the weight.
Result<std::map<std::string, std::string>> differences(const Network& network, std::span<const std::byte> bytes) {
  std::map<std::string, std::string> out;
  auto read = network_from_entity(bytes);
  if (!read) return at("the file of version 1, read back", std::move(read).error());
  std::map<std::string, std::pair<std::vector<double>, DType>> found;
  read->network.visit_weights([&](const std::string& path, const Weight& w, const Layer& layer) {
    found[path] = {doubles_of(w), layer.common.encoding.dtype};
  });
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer& layer) {
    const std::vector<double> values = doubles_of(w);
    const auto at = found.find(path);
    if (at == found.end() || at->second.first.size() != values.size()) {
      out[path] = "not in the file";
      return;
    }
    std::size_t differ = 0;
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::abs(values[i] - at->second.first[i]);
      if (error > 0) ++differ, largest = std::max(largest, error);
    }
    if (at->second.second != layer.common.encoding.dtype)
      out[path] =
          fmt::format("its layer is {}, {} in the file", name(layer.common.encoding.dtype), name(at->second.second));
    else if (differ != 0)
      out[path] = fmt::format("{} of {} values differ, by {:.3g} at most", differ, values.size(), largest);
    found.erase(at);
  });
  for (const auto& [path, kept] : found)
    if (std::ranges::any_of(kept.first, [](double v) { return v != 0; }))
      out[path] = "a weight that the network does not have";
  return out;
}

// The weights of these paths as they are, in a container of version 2.
Result<BlobV1> exact_blob(const Network& network, const std::map<std::string, std::string>& differing) {
  std::set<std::string> paths;
  for (const auto& [path, what] : differing) paths.insert(path);
  LOOM_TRY(const WeightTensors weights, WeightTensors::of(network, {.keep_master = true, .paths = &paths}));
  EntityWriter writer;
  LOOM_TRY_VOID(weights.add_to(writer));
  BlobV1 blob;
  blob.dtype = DType::uint8;
  LOOM_TRY(blob.bytes, writer.to_bytes());
  return blob;
}

}  // namespace

Result<WrittenEntity> write_entity(const Network& network, const WriteOptions& options) {
  WrittenEntity out;
  LOOM_TRY(const Json keys, keys_of_network(network_to_json(network), out.losses));
  Blobs blobs(out.losses);
  std::optional<Error> error;
  network.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    if (error) return;
    if (auto added = blobs.add(path, layer); !added) error = std::move(added.error().in_source(path));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  std::map<std::string, BlobV1> all = blobs.take();
  out.bytes = assembled(keys, all);
  LOOM_TRY(auto differing, differences(network, out.bytes));
  if (!differing.empty()) {
    LOOM_TRY(all[kExactWeights], exact_blob(network, differing));
    out.bytes = assembled(keys, all);
    LOOM_TRY(differing, differences(network, out.bytes));
  }
  for (const auto& [path, what] : differing) out.losses.push_back(fmt::format("{}: {}", path, what));
  if (!out.losses.empty() && !options.allow_loss)
    return fail(Code::LossySave, "version 1 cannot hold the network as it is: {}{}", out.losses[0],
                out.losses.size() == 1 ? "" : fmt::format(", and {} more", out.losses.size() - 1));
  return out;
}

}  // namespace loom::loom08
