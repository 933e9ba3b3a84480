#include <algorithm>
#include <array>
#include <cstring>

#include "core/checked.h"
#include "core/file.h"
#include "core/nearest.h"
#include "io/byte_reader.h"
#include "io/npy/npy.h"
#include "io/npy/npy_types.h"

namespace loom {
namespace {

struct Header {
  const NpyType* type = nullptr;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
};

// The literal that NumPy writes, not all of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  Result<Header> parse() {
    LOOM_TRY_VOID(expect('{'));
    bool have_descr = false, have_order = false, have_shape = false;
    while (!accept('}')) {
      LOOM_TRY(const std::string_view key, string());
      LOOM_TRY_VOID(expect(':'));
      bool* const have = key == "descr"           ? &have_descr
                         : key == "fortran_order" ? &have_order
                         : key == "shape"         ? &have_shape
                                                  : nullptr;
      if (!have) return error("key \"" + printable(key) + "\" is unknown");
      if (*have) return error("key \"" + printable(key) + "\" appears twice");
      *have = true;
      if (auto done = have == &have_descr ? descr() : have == &have_order ? order() : shape(); !done)
        return tl::make_unexpected(done.error());
      if (!accept(',')) {
        LOOM_TRY_VOID(expect('}'));
        break;
      }
    }
    skip_space();
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    if (at_ != text_.size()) return error("text after the dict");
    if (!have_descr || !have_order || !have_shape) return error("expected descr, fortran_order and shape");
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> error(const std::string& what) const {
    return fail(Code::CorruptData, "offset {}: header: {}", offset_ + at_, what);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  Result<void> expect(char c) {
    if (!accept(c)) return error(fmt::format("expected {}", c));
    return {};
  }

  // Between single or double quotes; a backslash would need unescaping, and no known key or type has one.
  Result<std::string_view> string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') LOOM_TRY_VOID(expect('"'));
    const std::size_t end = text_.find(quote, at_);
    if (end == text_.npos) return error("a string without end");
    const std::string_view s = text_.substr(at_, end - at_);
    at_ = end + 1;
    return s;
  }

  Result<void> descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      return fail(Code::Unsupported, "offset {}: header: records of several fields are not read", offset_ + at_);
    LOOM_TRY(const std::string_view name, string());
    const char order = name.empty() ? ' ' : name[0];
    const std::string_view kind = name.empty() ? name : name.substr(1);
    const auto* type =
        std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& k) { return k.name == kind; });
    if ((order != '<' && order != '>' && order != '|') || type == std::end(kNpyTypes))
      return fail(Code::Unsupported, "offset {}: header: element type \"{}\" is not read", offset_ + at_,
                  printable(name));
    if (order == '|' && info(type->dtype).bits != 8)
      return error("element type \"" + printable(name) + "\" has no byte order");
    out_.type = type;
    out_.big_endian = order == '>';
    return {};
  }

  Result<void> order() {
    out_.fortran_order = accept("True");
    if (!out_.fortran_order && !accept("False")) return error("fortran_order is neither True nor False");
    return {};
  }

  Result<std::size_t> extent() {
    skip_space();
    const std::size_t begin = at_;
    std::size_t n = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(n, std::size_t{10}, &n) ||
          __builtin_add_overflow(n, static_cast<std::size_t>(text_[at_] - '0'), &n))
        return error("an extent does not fit in memory");
    if (at_ == begin || (text_[begin] == '0' && at_ != begin + 1)) return error("expected an extent");
    return n;
  }

  // (), (3,), (2, 3), (2, 3,); not (3), which is no tuple.
  Result<void> shape() {
    LOOM_TRY_VOID(expect('('));
    bool comma = true;
    while (!accept(')')) {
      if (!comma) return error("expected a comma in shape");
      if (out_.shape.size() == kMaxNpyRank)
        return fail(Code::Unsupported, "offset {}: header: more than {} axes", offset_ + at_, kMaxNpyRank);
      LOOM_TRY(const std::size_t n, extent());
      out_.shape.push_back(n);
      comma = accept(',');
    }
    if (out_.shape.size() == 1 && !comma) return error("shape is no tuple");
    return {};
  }

  std::string_view text_;
  std::size_t offset_, at_ = 0;
  Header out_;
};

// Turns elements whose first axis varies fastest into row-major order.
void transpose(const std::byte* from, std::byte* to, std::size_t element, std::span<const std::size_t> shape,
               std::size_t elements) {
  std::array<std::size_t, kMaxNpyRank> at{}, stride{};
  std::size_t step = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
  std::size_t source = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(to + i * element, from + source * element, element);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += stride[axis];
      if (++at[axis] < shape[axis]) break;
      source -= stride[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

Result<NpyView> view_npy(std::span<const std::byte> file) {
  ByteReader in(file);
  LOOM_TRY(const auto magic, in.take(kNpyMagic.size(), "the magic"));
  if (as_text(magic) != kNpyMagic) return fail(Code::CorruptData, "offset 0: no .npy file");
  LOOM_TRY(const auto major, in.number<std::uint8_t>("the version"));
  LOOM_TRY(const auto minor, in.number<std::uint8_t>("the version"));
  if (major < 1 || major > 3 || minor != 0)
    return fail(Code::Unsupported, "offset 6: .npy version {}.{}, 1.0 to 3.0 are read", major, minor);
  std::size_t length = 0;
  if (major == 1) {
    LOOM_TRY(length, in.number<std::uint16_t>("the header's length"));
  } else {
    LOOM_TRY(length, in.number<std::uint32_t>("the header's length"));
  }
  if (length > kMaxNpyHeader)
    return fail(Code::LimitExceeded, "offset 8: a header of {} bytes, at most {} are read", length, kMaxNpyHeader);
  const std::size_t start = in.offset();
  LOOM_TRY(const auto text, in.take(length, "the header"));
  LOOM_TRY(Header header, HeaderParser(as_text(text), start).parse());

  const std::size_t element = info(header.type->dtype).block_bytes;
  std::size_t elements = 1;
  for (const std::size_t extent : header.shape) {
    LOOM_TRY(elements, checked_mul(elements, extent));
  }
  LOOM_TRY(const std::size_t size, checked_mul(elements, element));
  if (size != in.left())
    return fail(Code::CorruptData, "offset {}: {} bytes of data, shape and type need {}", in.offset(), in.left(), size);
  const std::byte* data = file.data() + in.offset();
  if (header.type->is_bool)
    for (std::size_t i = 0; i < size; ++i)
      if (data[i] > std::byte{1})
        return fail(Code::CorruptData, "offset {}: {} is no bool", in.offset() + i, std::to_integer<int>(data[i]));

  return NpyView{header.type->dtype,   header.type->is_bool,    header.big_endian,
                 header.fortran_order, std::move(header.shape), file.subspan(in.offset())};
}

Result<NpyArray> parse_npy(std::span<const std::byte> file) {
  LOOM_TRY(NpyView view, view_npy(file));
  const std::size_t element = info(view.dtype).block_bytes, size = view.bytes.size();
  NpyArray out{view.dtype, view.is_bool, std::move(view.shape), {}};
  if (size == 0) return out;
  LOOM_TRY(out.bytes, Buffer::create(size));
  if (view.fortran_order && out.shape.size() > 1)
    transpose(view.bytes.data(), out.bytes.data(), element, out.shape, size / element);
  else
    std::memcpy(out.bytes.data(), view.bytes.data(), size);
  if (view.big_endian && element > 1)
    for (std::size_t i = 0; i < size; i += element) std::reverse(out.bytes.data() + i, out.bytes.data() + i + element);
  return out;
}

Result<NpyArray> read_npy(const std::string& path) {
  LOOM_TRY(const auto file, MappedFile::open(path));
  auto array = parse_npy(file->bytes());
  if (!array) return at(path, array.error());
  return array;
}

}  // namespace loom
