// .entity of version 1 (engine 10.3): a header in JSON, the network without weights and a list of blobs, and the blobs.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/weight_tensors.h"
#include "legacy/files/loom08.h"
#include "legacy/files/stores.h"

namespace loom::loom08 {
namespace {

constexpr std::uint64_t kLargestHeader = std::uint64_t{256} << 20;

// The matrices of a Q4_0 layer by number.
struct Q4Key {
  std::string_view key, weight;
};
constexpr Q4Key kQ4Keys[] = {
    {"100", "gate.weight"}, {"101", "up.weight"}, {"102", "down.weight"}, {"200", "q.weight"},
    {"201", "k.weight"},    {"202", "v.weight"},  {"203", "o.weight"},
};

// An entry of the list of blobs.
struct Entry {
  std::string path, dtype;
  std::uint64_t offset = 0, length = 0;
  Store store;
};

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  parts.push_back(path);
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 19 && (text == "0" || text[0] != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<Entry> read_entry(const Json& json, std::size_t index, std::span<const std::byte> payload) {
  const Steps place = {"blobs", std::to_string(index)};
  const auto member = [&](std::string_view key) { return find(json, key); };
  const auto text = [&](std::string_view key) -> const std::string* {
    return member(key) == nullptr ? nullptr : as_string(*member(key));
  };
  const auto size = [&](std::string_view key) {
    return member(key) == nullptr ? -1 : as_int(*member(key)).value_or(-1);
  };
  if (text("path") == nullptr || text("dtype") == nullptr || size("offset") < 0 || size("length") < 0)
    return fail_at(place, Code::CorruptData, "expected a path, a dtype, an offset and a length");
  Entry entry{*text("path"),
              *text("dtype"),
              static_cast<std::uint64_t>(size("offset")),
              static_cast<std::uint64_t>(size("length")),
              {}};
  if (entry.offset > payload.size() || entry.length > payload.size() - entry.offset)
    return fail_at(place, Code::CorruptData, "{} bytes at {} leave the file, which has {} after the header",
                   entry.length, entry.offset, payload.size());
  Blob& blob = entry.store.blob;
  blob.bytes = payload.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.length));
  blob.is_native = member("native") != nullptr && as_bool(*member("native")).value_or(false);
  blob.scale = scale_of(json);
  entry.store.place = place;
  return entry;
}

Result<void> check_overlaps(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order;
  order.reserve(entries.size());
  for (const Entry& e : entries) order.push_back(&e);
  std::ranges::sort(order, {}, [](const Entry* e) { return e->offset; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->length)
      return fail_at(order[i]->store.place, Code::CorruptData, "begins inside of the blob at {}", order[i - 1]->offset);
  return {};
}

// "layers.3.ext.NAME", "network.ext.NAME": what 0.8x does not look at.
bool is_extension(std::string_view path) {
  const auto parts = parts_of(path);
  return parts.size() >= 3 && parts[parts.size() - 2] == "ext";
}

// Weights that stand beside those of 0.8x as they are.
Result<void> restore_exact(Network& network, const Entry& entry) {
  const std::vector<std::byte> bytes(entry.store.blob.bytes.begin(), entry.store.blob.bytes.end());  // aligned
  LOOM_TRY(const EntityReader container, EntityReader::parse(bytes));
  LOOM_TRY_VOID(container.verify());
  LOOM_TRY(const std::vector<EntityTensor> tensors, read_entity_tensors(container));
  return restore_weights(network, tensors, false);
}

// Sorts the blobs of a file into stores by what follows the path of the layer.
class Sorter {
 public:
  Result<void> add(Entry entry) {
    const std::string path = entry.path;
    const Steps place = entry.store.place;
    auto done = sort(parts_of(path), std::move(entry));
    if (!done) return under(place, std::move(done).error());
    return {};
  }
  Stores take() { return std::move(stores_); }

 private:
  Result<void> sort(const std::vector<std::string_view>& parts, Entry entry) {
    if (parts.size() == 4 && parts[0] == "bridge" && parts[1] == "dense" && is_number(parts[2]) && parts[3] == "biases")
      return put_named(fmt::format("layers.{}", parts[2]), "bias", std::move(entry));
    std::string path;
    const std::size_t rest = layer_parts(parts, path);
    if (rest == 0) return fail(Code::Unsupported, "blob \"{}\": expected the path of a layer", printable(entry.path));
    if (rest == parts.size()) return put_flat(stores_[path].flat, std::move(entry));
    if (rest + 1 == parts.size()) {
      const std::string_view last = parts[rest];
      if (last == "biases") return put_flat(stores_[path].biases, std::move(entry));
      if (last == "q_norm" || last == "k_norm" || last == "inner_norm")
        return put_named(path, std::string(last), std::move(entry));
    }
    if (rest + 2 == parts.size() && parts[rest] == "q4_0")
      for (const Q4Key& row : kQ4Keys)
        if (row.key == parts[rest + 1]) return put_q4_0(path, std::string(row.weight), std::move(entry));
    return fail(Code::Unsupported, "blob \"{}\": weights of this kind are not read", printable(entry.path));
  }

  // Returns how many parts of a name belong to its layer, and sets the path of the layer; 0 where there is none.
  static std::size_t layer_parts(const std::vector<std::string_view>& parts, std::string& path) {
    if (parts.size() < 2 || parts[0] != "layers" || !is_number(parts[1])) return 0;
    path = fmt::format("layers.{}", parts[1]);
    std::size_t i = 2;
    while (i < parts.size()) {
      if (parts[i] == "meta_observed_layer") {
        path += ".meta_observed_layer";
        ++i;
      } else if (i + 1 < parts.size() && is_number(parts[i + 1]) &&
                 (parts[i] == "parallel_branches" || parts[i] == "sequential_layers")) {
        path += fmt::format(".{}.{}", parts[i], parts[i + 1]);
        i += 2;
      } else {
        break;
      }
    }
    return i;
  }

  static Result<void> read_type(Entry& entry) {
    auto dtype = dtype_from_name(entry.dtype);
    if (!dtype) return under({"dtype"}, std::move(dtype).error());
    // Masters are floats whatever type they name.
    entry.store.blob.dtype = entry.store.blob.is_native ? *dtype : DType::float32;
    return {};
  }

  static Result<void> twice(const Entry& entry) {
    return fail(Code::CorruptData, "blob \"{}\" stands in the file twice", printable(entry.path));
  }

  static Result<void> put_flat(std::optional<Store>& to, Entry entry) {
    if (to) return twice(entry);
    LOOM_TRY_VOID(read_type(entry));
    to = std::move(entry.store);
    return {};
  }

  Result<void> put_named(const std::string& path, std::string weight, Entry entry) {
    LOOM_TRY_VOID(read_type(entry));
    if (!stores_[path].named.emplace(std::move(weight), entry.store).second) return twice(entry);
    return {};
  }

  Result<void> put_q4_0(const std::string& path, std::string weight, Entry entry) {
    entry.store.is_q4_0 = true;
    if (!stores_[path].named.emplace(std::move(weight), entry.store).second) return twice(entry);
    return {};
  }

  Stores stores_;
};

Result<Json> read_header(std::span<const std::byte> bytes, std::span<const std::byte>& payload) {
  ByteReader reader(bytes);
  LOOM_TRY_VOID(reader.take(kMagic.size() + sizeof(std::uint16_t), "the magic and the version"));
  LOOM_TRY(const auto flags, reader.number<std::uint16_t>("the flags"));
  if (flags != 0) return fail(Code::Unsupported, "offset 10: flags {}, version 1 has none", flags);
  LOOM_TRY(const auto length, reader.number<std::uint64_t>("the length of the header"));
  if (length > kLargestHeader)
    return fail(Code::CorruptData, "offset 12: a header of {} bytes, at most {} are allowed", length, kLargestHeader);
  LOOM_TRY(const auto text, reader.take(length, "the header"));
  payload = bytes.subspan(reader.offset());
  return parse_json(as_text(text));
}

}  // namespace

Result<SpecResult> network_from_entity(std::span<const std::byte> bytes, const SpecOptions& options) {
  if (!is_entity(bytes)) return fail(Code::CorruptData, "offset 0: no .entity of version 1");
  std::span<const std::byte> payload;
  LOOM_TRY(Json header, read_header(bytes, payload));
  if (const Json* model = find(header, "transformer"); model != nullptr && !model->is_null())
    return fail_at({"transformer"}, Code::Unsupported,
                   "a language model of Loom 0.8x is not read; loom convert reads the model that it was made of");
  const Json *network = find(header, "network"), *blobs = find(header, "blobs");
  if (network == nullptr || !network->is_object()) return fail_at({"network"}, Code::CorruptData, "expected an object");
  std::vector<Entry> entries;
  if (blobs != nullptr && !blobs->is_null()) {
    if (!blobs->is_array()) return fail_at({"blobs"}, Code::CorruptData, "expected a list");
    for (const Json& blob : *blobs) {
      LOOM_TRY(Entry entry, read_entry(blob, entries.size(), payload));
      entries.push_back(std::move(entry));
    }
  }
  LOOM_TRY_VOID(check_overlaps(entries));
  Sorter sorter;
  std::optional<Entry> exact;
  for (Entry& entry : entries) {
    if (!is_extension(entry.path)) {
      LOOM_TRY_VOID(sorter.add(std::move(entry)));
    } else if (entry.path == kExactWeights && std::exchange(exact, std::move(entry))) {
      return fail_at(exact->store.place, Code::CorruptData, "blob \"{}\" stands in the file twice", kExactWeights);
    }
  }
  const Steps place = {"network"};
  auto converted = convert(Json(header["network"]), sorter.take());
  if (!converted) return under(place, std::move(converted).error());
  converted->place = place;
  auto built = build(*converted, options);
  if (built && exact)
    if (auto restored = restore_exact(built->network, *exact); !restored)
      return under(exact->store.place, std::move(restored).error());
  return built;
}

}  // namespace loom::loom08
