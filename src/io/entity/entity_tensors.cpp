#include "io/entity/entity_tensors.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "core/checked.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"

namespace loom {
namespace {

constexpr std::size_t kBlobAlignment = 64;
constexpr std::array<std::string_view, 4> kRoles = {"active", "adapter", "feedback", "master"};
// as Granularity; "auto" is never stored
constexpr std::array<std::string_view, 4> kGranularities = {"auto", "tensor", "row", "group"};

auto order_of(const EntityTensor& t) { return std::tie(t.path, t.weight, t.role); }

// Bytes that dtype, shape and span call for.
struct BlobSizes {
  std::size_t codes = 0, scales = 0, zeros = 0;
};
Result<BlobSizes> sizes_of(const EntityTensor& t) {
  if (t.role == EntityRole::Master && t.dtype != DType::float32 && t.dtype != DType::float64)
    return fail(Code::InvalidArgument, "a master of {}, expected float32 or float64", name(t.dtype));
  BlobSizes s;
  LOOM_TRY(s.codes, packed_bytes(t.dtype, t.rows(), t.cols()));
  LOOM_TRY(const std::size_t spans, span_count(t.dtype, t.rows(), t.cols(), t.span));
  LOOM_TRY(s.scales, checked_mul(spans, info(scale_dtype(t.dtype)).block_bytes));
  if (has_zero_points(t.dtype)) {
    LOOM_TRY(s.zeros, checked_mul(spans, info(zero_dtype(t.dtype)).block_bytes));
  }
  return s;
}

class TableParser {
 public:
  explicit TableParser(std::span<const std::byte> weights) : weights_(weights) {}

  Result<EntityTensor> tensor(const Json& entry) {
    const auto* members = entry.get_ptr<const Json::object_t*>();
    if (!members) return fail(Code::CorruptData, "no object");
    constexpr std::string_view kKeys[] = {"dtype", "granularity", "group_size", "length", "offset", "path",
                                          "role",  "scales",      "shape",      "weight", "zeros"};
    for (const auto& [key, value] : *members)
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
        return fail(Code::UnknownKey, "key \"{}\" is unknown", printable(key));
    EntityTensor t;
    LOOM_TRY(t.path, text(entry, "path"));
    LOOM_TRY(t.weight, text(entry, "weight"));
    LOOM_TRY(const std::size_t role, one_of(entry, "role", kRoles));
    t.role = static_cast<EntityRole>(role);
    LOOM_TRY(const std::string type, text(entry, "dtype"));
    LOOM_TRY(t.dtype, stored_dtype(type));
    LOOM_TRY(t.shape, shape(entry));
    LOOM_TRY_VOID(span(entry, t));
    LOOM_TRY(const BlobSizes sizes, sizes_of(t));
    LOOM_TRY(t.codes, blob(entry, sizes.codes));
    LOOM_TRY(t.scales, array(entry, "scales", scale_dtype(t.dtype), sizes.scales));
    LOOM_TRY(t.zeros, array(entry, "zeros", zero_dtype(t.dtype), sizes.zeros));
    return t;
  }

 private:
  static Result<std::string> text(const Json& object, const char* key) {
    const Json* value = find(object, key);
    const std::string* s = value ? as_string(*value) : nullptr;
    if (!s || s->empty()) return fail_at({std::string(key)}, Code::CorruptData, "expected a text that is not empty");
    return *s;
  }

  static Result<std::size_t> one_of(const Json& object, const char* key, std::span<const std::string_view> names) {
    LOOM_TRY(const std::string s, text(object, key));
    const auto it = std::find(names.begin(), names.end(), s);
    if (it == names.end())
      return fail_at({std::string(key)}, Code::UnknownName, "\"{}\" is unknown; known: {}", printable(s),
                     fmt::join(names, " "));
    return static_cast<std::size_t>(it - names.begin());
  }

  // Files hold the one name of a type, not its other spellings.
  static Result<DType> stored_dtype(const std::string& text) {
    LOOM_TRY(const DType dtype, dtype_from_name(text));
    if (name(dtype) != text)
      return fail_at({"dtype"}, Code::CorruptData, "\"{}\", files spell it \"{}\"", printable(text), name(dtype));
    return dtype;
  }

  static Result<std::size_t> count(const Json* value, const char* what) {
    const auto n = value && value->is_number_integer() ? as_int(*value) : std::nullopt;
    if (!n || *n < 0 || static_cast<std::uint64_t>(*n) > SIZE_MAX)
      return fail_at({std::string(what)}, Code::CorruptData, "expected a count");
    return static_cast<std::size_t>(*n);
  }

  static Result<Shape> shape(const Json& entry) {
    const Json* value = find(entry, "shape");
    if (!value || !value->is_array()) return fail_at({"shape"}, Code::CorruptData, "expected an array of extents");
    if (value->size() > Shape::kMaxRank)
      return fail_at({"shape"}, Code::ShapeMismatch, "{} axes, at most {}", value->size(), Shape::kMaxRank);
    std::vector<std::size_t> extents;
    for (const Json& extent : *value) {
      LOOM_TRY(const std::size_t n, count(&extent, "shape"));
      extents.push_back(n);
    }
    return Shape::create(extents);
  }

  static Result<void> span(const Json& entry, EntityTensor& t) {
    const Json *granularity = find(entry, "granularity"), *group = find(entry, "group_size");
    if (!has_scales(t.dtype)) {
      if (granularity || group) return fail_at({"granularity"}, Code::CorruptData, "{} has no scales", name(t.dtype));
      t.span = resolved(t.dtype, {});
      return {};
    }
    LOOM_TRY(const std::size_t known, one_of(entry, "granularity", std::span(kGranularities).subspan(1)));
    t.span.granularity = static_cast<Granularity>(known + 1);
    if (t.span.granularity != Granularity::Group)
      return group ? Result<void>(fail_at({"group_size"}, Code::CorruptData, "scales are not by group"))
                   : Result<void>();
    LOOM_TRY(t.span.group_size, count(group, "group_size"));
    return {};
  }

  // The next piece of the section, as {offset, length} says.
  Result<std::span<const std::byte>> blob(const Json& place, std::size_t size) {
    LOOM_TRY(const std::size_t offset, count(find(place, "offset"), "offset"));
    LOOM_TRY(const std::size_t length, count(find(place, "length"), "length"));
    if (length != size)
      return fail_at({"length"}, Code::ShapeMismatch, "{} bytes, shape and type need {}", length, size);
    if (offset % kBlobAlignment != 0)
      return fail_at({"offset"}, Code::CorruptData, "{} is no multiple of {}", offset, kBlobAlignment);
    if (offset < end_)
      return fail_at({"offset"}, Code::CorruptData, "{} overlaps the blob that ends at {}, or is out of order", offset,
                     end_);
    if (offset > weights_.size() || length > weights_.size() - offset)
      return fail_at({"offset"}, Code::CorruptData, "{} bytes at {} leave the {} bytes of weights", length, offset,
                     weights_.size());
    end_ = offset + length;
    return weights_.subspan(offset, length);
  }

  // scales or zeros: {dtype, offset, length}, given exactly when the type has them.
  Result<std::span<const std::byte>> array(const Json& entry, const char* key, DType dtype, std::size_t size) {
    const Json* value = find(entry, key);
    if (size == 0) {
      if (value) return fail_at({std::string(key)}, Code::CorruptData, "the type has none");
      return std::span<const std::byte>();
    }
    const auto* members = value ? value->get_ptr<const Json::object_t*>() : nullptr;
    if (!members || members->size() != 3)
      return fail_at({std::string(key)}, Code::CorruptData, "expected an object of dtype, offset and length");
    const Json* type = find(*value, "dtype");
    if (!type || !as_string(*type) || *as_string(*type) != name(dtype))
      return fail_at({std::string(key), "dtype"}, Code::CorruptData, "expected \"{}\"", name(dtype));
    auto bytes = blob(*value, size);
    if (!bytes) return under({std::string(key)}, bytes.error());
    return bytes;
  }

  std::span<const std::byte> weights_;
  std::size_t end_ = 0;
};

std::string shown_tensor(const EntityTensor& t) {
  return fmt::format("tensor \"{}\" of \"{}\" ({})", printable(t.weight), printable(t.path),
                     kRoles[static_cast<std::size_t>(t.role)]);
}

// Gives each blob its place after the others.
class Layout {
 public:
  Json place(std::size_t size) {
    const std::uint64_t offset = (end_ + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
    end_ = offset + size;
    return Json{{"offset", offset}, {"length", size}};
  }
  Json place(std::size_t size, DType dtype) {
    Json at = place(size);
    at["dtype"] = name(dtype);
    return at;
  }
  std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_ = 0;
};

Result<Json> entry_of(const EntityTensor& t, Layout& layout) {
  if (t.path.empty() || t.weight.empty() || !is_utf8(t.path) || !is_utf8(t.weight))
    return fail(Code::InvalidArgument, "path or weight is no name");
  LOOM_TRY(const BlobSizes sizes, sizes_of(t));
  if ((!t.make_codes && t.codes.size() != sizes.codes) || t.scales.size() != sizes.scales ||
      t.zeros.size() != sizes.zeros)
    return fail(Code::ShapeMismatch, "{} bytes of codes, {} of scales and {} of zero points; {} {} has {}, {} and {}",
                t.codes.size(), t.scales.size(), t.zeros.size(), name(t.dtype), t.shape.text(), sizes.codes,
                sizes.scales, sizes.zeros);
  Json entry = layout.place(sizes.codes);
  entry["path"] = t.path;
  entry["weight"] = t.weight;
  entry["role"] = kRoles[static_cast<std::size_t>(t.role)];
  entry["dtype"] = name(t.dtype);
  entry["shape"] = Json::array();
  for (const std::size_t extent : t.shape.extents()) entry["shape"].push_back(extent);
  if (has_scales(t.dtype)) {
    entry["granularity"] = kGranularities[static_cast<std::size_t>(t.span.granularity)];
    if (t.span.granularity == Granularity::Group) entry["group_size"] = t.span.group_size;
    entry["scales"] = layout.place(sizes.scales, scale_dtype(t.dtype));
  }
  if (has_zero_points(t.dtype)) entry["zeros"] = layout.place(sizes.zeros, zero_dtype(t.dtype));
  return entry;
}

// The bytes of all weights from front to back, with zeros between the blobs.
class BlobStream {
 public:
  explicit BlobStream(std::vector<EntityTensor> tensors) : tensors_(std::move(tensors)) {}

  // The bytes from `begin` to `end`. Parts are asked for in order; `begin` 0 starts over.
  Result<void> give(std::uint64_t begin, std::uint64_t end, const EntityWriter::Sink& out) {
    if (begin == 0) at_ = 0, blob_ = 0, rest_ = {};
    LOOM_ASSERT(begin == at_);
    while (at_ < end) {
      if (rest_.empty()) LOOM_TRY_VOID(next());
      const auto part = rest_.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest_.size(), end - at_)));
      LOOM_TRY_VOID(out(part));
      at_ += part.size(), rest_ = rest_.subspan(part.size());
    }
    return {};
  }

 private:
  // Sets rest_ to the next blob, or to the zeros before it.
  Result<void> next() {
    static constexpr std::byte kZeros[kBlobAlignment] = {};
    const std::uint64_t gap = (kBlobAlignment - at_ % kBlobAlignment) % kBlobAlignment;
    if (gap != 0) {
      rest_ = std::span(kZeros).first(static_cast<std::size_t>(gap));
      return {};
    }
    while (rest_.empty()) {
      LOOM_ASSERT(blob_ < 3 * tensors_.size());
      const EntityTensor& t = tensors_[blob_ / 3];
      const std::size_t part = blob_++ % 3;
      rest_ = part == 0 ? t.codes : part == 1 ? t.scales : t.zeros;
      if (part != 0 || !t.make_codes) continue;
      auto codes = made(t);
      if (!codes) return at(shown_tensor(t), std::move(codes).error());
      made_ = std::move(*codes);
      rest_ = made_;
    }
    return {};
  }

  static Result<std::vector<std::byte>> made(const EntityTensor& t) {
    LOOM_TRY(auto codes, t.make_codes());
    LOOM_TRY(const BlobSizes sizes, sizes_of(t));
    if (codes.size() != sizes.codes)
      return fail(Code::ShapeMismatch, "{} bytes of codes, {} are needed", codes.size(), sizes.codes);
    return codes;
  }

  std::vector<EntityTensor> tensors_;
  std::uint64_t at_ = 0;
  std::size_t blob_ = 0;             // the next one: codes, scales and zero points of each tensor
  std::span<const std::byte> rest_;  // of the blob that is given out
  std::vector<std::byte> made_;      // codes that were made for it
};

// The bytes of all sections "weights", which are contiguous.
Result<std::span<const std::byte>> all_weights(const EntityReader& file) {
  LOOM_TRY(std::span<const std::byte> all, file.unchecked_section("weights"));
  std::uint32_t count = 0;
  for (const EntitySection& s : file.sections()) {
    if (s.kind != "weights") continue;
    LOOM_TRY(const auto part, file.unchecked_section("weights", count));
    if (count > 0 && part.data() != all.data() + all.size())
      return fail(Code::CorruptData, "offset {}: section \"weights\" {} does not follow the one before it", s.offset,
                  count);
    if (count > 0) all = {all.data(), all.size() + part.size()};
    ++count;
  }
  return all;
}

}  // namespace

Result<QuantizedMatrix> EntityTensor::quantized() const {
  auto matrix = unpack(dtype, rows(), cols(), span, codes, scales, zeros);
  if (!matrix) return at(shown_tensor(*this), matrix.error());
  return matrix;
}

Result<std::vector<EntityTensor>> parse_entity_tensors(std::string_view json, std::span<const std::byte> weights) {
  LOOM_TRY(const Json table, parse_json(json, {.max_depth = 4}));
  if (!table.is_array()) return fail(Code::CorruptData, "expected an array of tensors");
  std::vector<EntityTensor> tensors;
  TableParser parser(weights);
  for (const Json& entry : table) {
    auto t = parser.tensor(entry);
    if (!t) return under({std::to_string(tensors.size())}, t.error());
    if (!tensors.empty() && !(order_of(tensors.back()) < order_of(*t)))
      return fail_at({std::to_string(tensors.size())}, Code::CorruptData, "{} is out of order or appears twice",
                     shown_tensor(*t));
    tensors.push_back(std::move(*t));
  }
  return tensors;
}

Result<std::vector<EntityTensor>> read_entity_tensors(const EntityReader& file, CheckWeights check) {
  if (!file.find("tensors") && !file.find("weights")) return std::vector<EntityTensor>();
  LOOM_TRY(const auto json, file.section("tensors"));
  LOOM_TRY(const auto weights, all_weights(file));
  if (check == CheckWeights::Now) LOOM_TRY_VOID(file.check(weights));
  auto tensors = parse_entity_tensors(as_text(json), weights);
  if (!tensors) return at(fmt::format("offset {}: section \"tensors\"", file.find("tensors")->offset), tensors.error());
  return tensors;
}

Result<void> add_entity_tensors(EntityWriter& file, std::vector<EntityTensor> tensors, std::uint64_t section_bytes) {
  std::sort(tensors.begin(), tensors.end(),
            [](const EntityTensor& a, const EntityTensor& b) { return order_of(a) < order_of(b); });
  Json table = Json::array();
  Layout layout;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0 && order_of(tensors[i - 1]) == order_of(tensors[i]))
      return fail(Code::InvalidArgument, "{} occurs twice", shown_tensor(tensors[i]));
    auto entry = entry_of(tensors[i], layout);
    if (!entry) return at(shown_tensor(tensors[i]), entry.error());
    table.push_back(std::move(*entry));
  }
  LOOM_TRY(std::string json, dump_canonical(table));
  LOOM_TRY_VOID(file.add_text("tensors", 0, 0, std::move(json)));
  const auto stream = std::make_shared<BlobStream>(std::move(tensors));
  std::uint64_t begin = 0;
  for (std::uint32_t index = 0; index == 0 || begin < layout.end(); ++index) {
    const std::uint64_t end = std::min(layout.end(), begin + section_bytes);
    LOOM_TRY_VOID(file.add("weights", index, 0, end - begin, [stream, begin, end](const EntityWriter::Sink& out) {
      return stream->give(begin, end, out);
    }));
    begin = end;
  }
  return {};
}

}  // namespace loom
