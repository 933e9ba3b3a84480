#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/gguf/gguf.h"

namespace loom {
namespace {

constexpr std::uint32_t kMaxArrayDepth = 4;
// The shortest possible entries of both tables: a count that needs more than the bytes left is refused before it
// allocates.
constexpr std::uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;             // name length, name, type, value
constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, rank, extent, type, offset

// 0: the size is not fixed.
std::size_t fixed_bytes(GgufType type) {
  switch (type) {
    case GgufType::U8:
    case GgufType::I8:
    case GgufType::Bool: return 1;
    case GgufType::U16:
    case GgufType::I16: return 2;
    case GgufType::U32:
    case GgufType::I32:
    case GgufType::F32: return 4;
    case GgufType::U64:
    case GgufType::I64:
    case GgufType::F64: return 8;
    case GgufType::String:
    case GgufType::Array: return 0;
  }
  return 0;
}

// Positions of `items` in the order of their names; a name that comes twice is an error.
template <class Item, class NameOf>
Result<std::vector<std::uint32_t>> index_by_name(const std::vector<Item>& items, NameOf name_of, const char* what) {
  std::vector<std::uint32_t> order(items.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return name_of(items[a]) < name_of(items[b]); });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (name_of(items[order[i]]) == name_of(items[order[i - 1]]))
      return fail(Code::CorruptData, "{} \"{}\" appears twice", what, printable(name_of(items[order[i]])));
  return order;
}

template <class Item, class NameOf>
const Item* look_up(const std::vector<Item>& items, const std::vector<std::uint32_t>& order, std::string_view wanted,
                    NameOf name_of) {
  const auto it =
      std::lower_bound(order.begin(), order.end(), wanted, [&](auto i, auto n) { return name_of(items[i]) < n; });
  return it != order.end() && name_of(items[*it]) == wanted ? &items[*it] : nullptr;
}

std::string_view key_of(const GgufValue& v) { return v.key; }
std::string_view name_of(const GgufTensor& t) { return t.name; }

}  // namespace

class GgufParser {
 public:
  // `front` of `size` bytes.
  GgufParser(std::span<const std::byte> front, std::uint64_t size) : bytes_(front), size_(size), in_(front, size) {}

  Result<GgufFile> parse() {
    LOOM_TRY_VOID(header());
    LOOM_TRY_VOID(metadata());
    LOOM_TRY_VOID(tensor_table());
    LOOM_TRY_VOID(tensor_data());
    return std::move(out_);
  }
  std::uint64_t missing() const { return in_.missing(); }

 private:
  Result<void> header() {
    LOOM_TRY(const auto magic, in_.take(4, "the magic"));
    if (as_text(magic) == "FUGG")
      return fail(Code::Unsupported, "offset 0: a big-endian GGUF file; only little-endian ones are read");
    if (as_text(magic) != "GGUF")
      return fail(Code::CorruptData, "offset 0: no GGUF file (magic \"{}\")", printable(as_text(magic)));
    LOOM_TRY(out_.version_, in_.number<std::uint32_t>("the version"));
    if (out_.version_ != 0 && (out_.version_ & 0xffff) == 0)
      return fail(Code::Unsupported, "offset 4: a big-endian GGUF file; only little-endian ones are read");
    if (out_.version_ != 2 && out_.version_ != 3)
      return fail(Code::Unsupported, "offset 4: GGUF version {}; versions 2 and 3 are read", out_.version_);
    LOOM_TRY(num_tensors_, in_.number<std::uint64_t>("the tensor count"));
    LOOM_TRY(num_keys_, in_.number<std::uint64_t>("the key count"));
    const std::uint64_t left = in_.left();
    if (num_keys_ > left / kMinKeyBytes || num_tensors_ > (left - num_keys_ * kMinKeyBytes) / kMinTensorBytes)
      return fail(Code::CorruptData, "offset 8: {} tensors and {} keys cannot fit into the {} bytes that follow",
                  num_tensors_, num_keys_, left);
    if (std::max(num_keys_, num_tensors_) > std::numeric_limits<std::uint32_t>::max())
      return fail(Code::LimitExceeded, "offset 8: {} tensors and {} keys, at most 2^32 - 1", num_tensors_, num_keys_);
    return {};
  }

  Result<std::string_view> text(const char* what) {
    LOOM_TRY(const auto n, in_.number<std::uint64_t>(what));
    LOOM_TRY(const auto part, in_.take(n, what));
    return as_text(part);
  }

  Result<std::string_view> entry_name(const char* what) {
    const std::size_t at = in_.offset();
    LOOM_TRY(const auto found, text(what));
    if (found.empty()) return fail(Code::CorruptData, "offset {}: {} is empty", at, what);
    return found;
  }

  Result<GgufType> value_type() {
    const std::size_t at = in_.offset();
    LOOM_TRY(const auto type, in_.number<std::uint32_t>("a value type"));
    if (type > static_cast<std::uint32_t>(GgufType::F64))
      return fail(Code::CorruptData, "offset {}: value type {}, expected 0 to 12", at, type);
    return static_cast<GgufType>(type);
  }

  Result<void> metadata() {
    out_.metadata_.reserve(static_cast<std::size_t>(num_keys_));
    for (std::uint64_t i = 0; i < num_keys_; ++i) {
      GgufValue v;
      LOOM_TRY(v.key, entry_name("a key"));
      LOOM_TRY(v.type, value_type());
      if (auto done = value(v, 0); !done)
        return fail(done.error().code, "key \"{}\": {}", printable(v.key), done.error().text());
      out_.metadata_.push_back(v);
    }
    LOOM_TRY(out_.keys_by_name_, index_by_name(out_.metadata_, key_of, "key"));
    return alignment();
  }

  // Reads what follows the type; for arrays also the element type and count, then walks the elements.
  Result<void> value(GgufValue& v, std::uint32_t depth) {
    const std::size_t at = in_.offset();
    if (v.type == GgufType::String) {
      LOOM_TRY(const auto found, text("a string"));
      v.bytes = std::as_bytes(std::span(found));
      return {};
    }
    if (v.type != GgufType::Array) {
      LOOM_TRY(v.bytes, in_.take(fixed_bytes(v.type), "a value"));
      return v.type == GgufType::Bool ? check_bools(v.bytes, at) : Result<void>{};
    }
    if (depth == kMaxArrayDepth)
      return fail(Code::Unsupported, "offset {}: arrays nested deeper than {}", at, kMaxArrayDepth);
    LOOM_TRY(v.element, value_type());
    LOOM_TRY(v.count, in_.number<std::uint64_t>("an array's length"));
    return elements(v, depth);
  }

  Result<void> elements(GgufValue& v, std::uint32_t depth) {
    const std::size_t start = in_.offset();
    if (const std::size_t size = fixed_bytes(v.element); size != 0) {
      if (v.count > in_.left() / size)
        return fail(Code::CorruptData, "offset {}: an array of {} {} needs more than the {} bytes left", start, v.count,
                    name(v.element), in_.left());
      LOOM_TRY(v.bytes, in_.take(v.count * size, "an array"));
      return v.element == GgufType::Bool ? check_bools(v.bytes, start) : Result<void>{};
    }
    // each element takes at least 8 bytes, so a false count ends with the file
    for (std::uint64_t i = 0; i < v.count; ++i) {
      GgufValue inner;
      inner.type = v.element;
      LOOM_TRY_VOID(value(inner, depth + 1));
    }
    v.bytes = bytes_.subspan(start, in_.offset() - start);
    return {};
  }

  static Result<void> check_bools(std::span<const std::byte> values, std::size_t at) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] > std::byte{1})
        return fail(Code::CorruptData, "offset {}: bool is {}, expected 0 or 1", at + i, static_cast<int>(values[i]));
    return {};
  }

  Result<void> alignment() {
    const GgufValue* v = out_.find("general.alignment");
    if (!v) return {};
    const auto n = as_int(*v);
    if (v->type != GgufType::U32 || !n || *n < 1 || !std::has_single_bit(static_cast<std::uint64_t>(*n)))
      return fail(Code::CorruptData, "offset {}: general.alignment is no power of two of type u32",
                  v->bytes.data() - bytes_.data());
    out_.alignment_ = static_cast<std::size_t>(*n);
    return {};
  }

  Result<void> tensor_table() {
    out_.tensors_.reserve(static_cast<std::size_t>(num_tensors_));
    for (std::uint64_t i = 0; i < num_tensors_; ++i) {
      GgufTensor t;
      const std::size_t at = in_.offset();
      LOOM_TRY(t.name, entry_name("a tensor name"));
      if (auto done = tensor_entry(t); !done)
        return fail(done.error().code, "offset {}: tensor \"{}\": {}", at, printable(t.name), done.error().text());
      out_.tensors_.push_back(t);
    }
    LOOM_TRY(out_.tensors_by_name_, index_by_name(out_.tensors_, name_of, "tensor"));
    return {};
  }

  // Leaves the offset within the data section in t.offset; place() makes it absolute.
  Result<void> tensor_entry(GgufTensor& t) {
    LOOM_TRY(const auto rank, in_.number<std::uint32_t>("the rank"));
    if (rank < 1 || rank > t.dims.size()) return fail(Code::CorruptData, "rank {}, expected 1 to 4", rank);
    t.rank = static_cast<std::uint8_t>(rank);
    for (std::size_t d = rank; d-- > 0;) {
      LOOM_TRY(const auto extent, in_.number<std::uint64_t>("an extent"));
      if (extent == 0 || extent > std::numeric_limits<std::size_t>::max())
        return fail(Code::CorruptData, "extent {} of axis {}, expected at least 1", extent, d);
      t.dims[d] = static_cast<std::size_t>(extent);
    }
    LOOM_TRY(const auto type, in_.number<std::uint32_t>("the type"));
    const auto dtype = dtype_from_ggml(type);
    if (!dtype) return fail(Code::Unsupported, "type {} {} is not read", type, ggml_type_name(type));
    t.dtype = *dtype;
    LOOM_TRY(const auto offset, in_.number<std::uint64_t>("the offset"));
    if (offset > size_)
      return fail(Code::CorruptData, "data offset {} is past the end of the file ({} bytes)", offset, size_);
    t.offset = offset;
    return {};
  }

  Result<void> tensor_data() {
    if (out_.tensors_.empty()) return {};
    // the power of two is at most 2^31
    const std::size_t start = (in_.offset() + out_.alignment_ - 1) & ~(out_.alignment_ - 1);
    if (start < in_.offset() || start > size_)
      return fail(Code::CorruptData, "offset {}: the file ends before its tensor data", in_.offset());
    std::uint64_t end = 0;  // of the tensor before, padded
    for (GgufTensor& t : out_.tensors_)
      if (auto done = place(t, start, end); !done)
        return at(fmt::format("tensor \"{}\"", printable(t.name)), done.error());
    if (size_ - start > end)
      return fail(Code::CorruptData, "offset {}: {} bytes follow the last tensor", start + end, size_ - start - end);
    return {};
  }

  // Each tensor stands where the one before it ends, padded, so that a size that follows from a false type or extent
  // shows in the next offset or at the end of the file: it would otherwise be read as other numbers.
  Result<void> place(GgufTensor& t, std::size_t start, std::uint64_t& end) {
    LOOM_TRY(std::size_t size, row_bytes(t.dtype, t.dims[t.rank - 1u]));
    for (std::size_t d = 0; d + 1 < t.rank; ++d) {
      LOOM_TRY(size, checked_mul(size, t.dims[d]));
    }
    if (t.offset != end)
      return fail(Code::CorruptData, "its data begin at {}, expected {}, where the tensor before it ends", t.offset,
                  end);
    const std::uint64_t room = size_ - start;
    if (t.offset > room || size > room - t.offset)
      return fail(Code::CorruptData, "{} bytes at offset {} + {} leave the file of {} bytes", size, start, t.offset,
                  size_);
    t.offset += start;
    t.size = size;
    if (t.offset + size <= bytes_.size()) t.bytes = bytes_.subspan(static_cast<std::size_t>(t.offset), size);
    LOOM_TRY(const std::size_t padded, checked_add(size, out_.alignment_ - 1));
    end += padded & ~(out_.alignment_ - 1);
    return {};
  }

  std::span<const std::byte> bytes_;
  std::uint64_t size_;
  ByteReader in_;
  std::uint64_t num_tensors_ = 0;
  std::uint64_t num_keys_ = 0;
  GgufFile out_;
};

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes) { return GgufParser(bytes, bytes.size()).parse(); }

Result<GgufFile> GgufFile::parse(std::shared_ptr<const ByteSource> source) {
  for (;;) {
    GgufParser parser(source->bytes(), source->size());
    auto parsed = parser.parse();
    if (!parsed && parser.missing() != 0) {
      LOOM_TRY_VOID(source->fill(std::max<std::uint64_t>(parser.missing(), 2 * source->bytes().size())));
      continue;
    }
    if (!parsed) return at(source->name(), std::move(parsed).error());
    parsed->source_ = std::move(source);
    return parsed;
  }
}

Result<GgufFile> GgufFile::open(const std::string& path) {
  LOOM_TRY(auto source, ByteSource::file(path));
  return parse(std::move(source));
}

const GgufValue* GgufFile::find(std::string_view key) const { return look_up(metadata_, keys_by_name_, key, key_of); }
const GgufTensor* GgufFile::tensor(std::string_view wanted) const {
  return look_up(tensors_, tensors_by_name_, wanted, name_of);
}

}  // namespace loom
