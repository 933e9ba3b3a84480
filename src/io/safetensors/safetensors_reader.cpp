#include <algorithm>

#include "core/checked.h"
#include "core/json.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/safetensors/safetensors.h"
#include "io/safetensors/safetensors_limits.h"

namespace loom {

class SafetensorsParser {
 public:
  explicit SafetensorsParser(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<SafetensorsFile> parse() {
    if (as_text(bytes_).starts_with("version https://git-lfs"))
      return fail(Code::CorruptData, "a pointer of Git LFS and not the file itself; git lfs pull fetches it");
    ByteReader in(bytes_);
    LOOM_TRY(const auto length, in.number<std::uint64_t>("the header's length"));
    if (length > kMaxSafetensorsHeader)
      return fail(Code::LimitExceeded, "offset 0: a header of {} bytes, at most {} are read", length,
                  kMaxSafetensorsHeader);
    LOOM_TRY(const auto text, in.take(length, "the header"));
    if (text.empty() || text[0] != std::byte{'{'})
      return fail(Code::CorruptData, "offset 8: the header is no JSON object");
    auto header = parse_json(as_text(text), {.max_bytes = kMaxSafetensorsHeader, .max_depth = 4});
    if (!header) return at("header at offset 8", header.error());
    data_ = bytes_.subspan(in.offset());
    const auto* entries = header->get_ptr<const Json::object_t*>();
    if (!entries) return fail(Code::CorruptData, "offset 8: the header is no JSON object");
    out_.tensors_.reserve(entries->size());
    for (const auto& [name, value] : *entries)
      if (auto done = name == "__metadata__" ? metadata(value) : tensor(name, value); !done)
        return at(fmt::format("header, \"{}\"", printable(name)), done.error());
    LOOM_TRY_VOID(check_layout());
    std::sort(out_.tensors_.begin(), out_.tensors_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(out_);
  }

 private:
  Result<void> metadata(const Json& value) {
    const auto* entries = value.get_ptr<const Json::object_t*>();
    if (!entries) return fail(Code::CorruptData, "not an object");
    for (const auto& [key, text] : *entries) {
      if (!as_string(text)) return fail(Code::CorruptData, "\"{}\" is no string", printable(key));
      out_.metadata_[key] = *as_string(text);
    }
    return {};
  }

  Result<void> tensor(const std::string& name, const Json& value) {
    const Json *dtype = find(value, "dtype"), *shape = find(value, "shape"), *offsets = find(value, "data_offsets");
    if (!dtype || !as_string(*dtype) || !shape || !shape->is_array() || !offsets || !offsets->is_array() ||
        value.size() != 3)
      return fail(Code::CorruptData, "expected an object of dtype, shape and data_offsets");
    SafeTensor t;
    t.name = name;
    const std::string_view stored = *as_string(*dtype);
    t.is_bool = stored == "BOOL";
    const auto type =
        std::ranges::find(kDTypes, t.is_bool ? info(DType::uint8).safetensors : stored, &DTypeInfo::safetensors);
    if (type == kDTypes.end() || stored.empty())
      return fail(Code::Unsupported, "element type \"{}\" is not read", printable(stored));
    t.dtype = type->dtype;
    if (shape->size() > kMaxSafetensorsRank)
      return fail(Code::CorruptData, "{} axes, at most {}", shape->size(), kMaxSafetensorsRank);
    std::size_t size = info(t.dtype).block_bytes;
    for (const Json& extent : *shape) {
      LOOM_TRY(const std::size_t n, count(extent, "an extent"));
      t.shape.push_back(n);
      LOOM_TRY(size, checked_mul(size, n));
    }
    if (offsets->size() != 2)
      return fail(Code::CorruptData, "data_offsets has {} numbers, expected 2", offsets->size());
    LOOM_TRY(const std::size_t begin, count((*offsets)[0], "data_offsets[0]"));
    LOOM_TRY(const std::size_t end, count((*offsets)[1], "data_offsets[1]"));
    if (begin > end)
      return fail(Code::CorruptData, "data_offsets {} and {} leave no bytes: the end is first", begin, end);
    if (end > data_.size())
      return fail(Code::CorruptData,
                  "expected bytes {} to {} of the data, got {} bytes: the file is cut off or its header is wrong",
                  begin, end, data_.size());
    if (end - begin != size)
      return fail(Code::CorruptData, "{} bytes of data, shape and type need {}", end - begin, size);
    t.offset = bytes_.size() - data_.size() + begin;
    t.bytes = data_.subspan(begin, size);
    out_.tensors_.push_back(std::move(t));
    return {};
  }

  static Result<std::size_t> count(const Json& value, const char* what) {
    const auto n = value.is_number_integer() ? as_int(value) : std::nullopt;
    if (!n || *n < 0 || static_cast<std::uint64_t>(*n) > std::uint64_t{1} << 48 ||
        static_cast<std::uint64_t>(*n) > SIZE_MAX)
      return fail(Code::CorruptData, "{} is no count", what);
    return static_cast<std::size_t>(*n);
  }

  // The data has no gaps, no overlaps and no bytes after it.
  Result<void> check_layout() {
    std::sort(out_.tensors_.begin(), out_.tensors_.end(), [](const auto& a, const auto& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.bytes.size() < b.bytes.size();
    });
    std::size_t expected = bytes_.size() - data_.size();
    for (const SafeTensor& t : out_.tensors_) {
      if (t.offset != expected)
        return fail(Code::CorruptData, "offset {}: tensor \"{}\" should start at {}: the data has an overlap or a gap",
                    t.offset, printable(t.name), expected);
      expected += t.bytes.size();
    }
    if (expected != bytes_.size())
      return fail(Code::CorruptData, "offset {}: {} bytes that no tensor names", expected, bytes_.size() - expected);
    return {};
  }

  std::span<const std::byte> bytes_, data_;
  SafetensorsFile out_;
};

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes) {
  return SafetensorsParser(bytes).parse();
}

Result<SafetensorsFile> SafetensorsFile::parse(std::shared_ptr<const ByteSource> source) {
  LOOM_TRY_VOID(source->fill(source->size()));
  auto parsed = parse(source->bytes());
  if (!parsed) return at(source->name(), std::move(parsed).error());
  parsed->source_ = std::move(source);
  return parsed;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  LOOM_TRY(auto source, ByteSource::file(path));
  return parse(std::move(source));
}

const SafeTensor* SafetensorsFile::tensor(std::string_view name) const {
  const auto it = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const SafeTensor& t, std::string_view n) { return t.name < n; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

bool looks_like_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view text = as_text(bytes.first(std::min<std::size_t>(bytes.size(), 16)));
  // First: the low bytes of a length may spell '{' or '[', and a text of other formats is no length of a header.
  ByteReader in(bytes);
  const auto length = in.number<std::uint64_t>("the header's length");
  if (length && *length <= kMaxSafetensorsHeader && text.size() > 8 && text[8] == '{') return true;
  for (const std::string_view other : {"GGUF", "ENTITY", "PK\x03\x04", "{"})
    if (text.starts_with(other)) return false;
  return name.ends_with(".safetensors");
}

}  // namespace loom
