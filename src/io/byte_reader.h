#pragma once
// A cursor over untrusted bytes: every read is checked against what is left, every error names the offset.

#include <span>
#include <string_view>

#include "core/error.h"
#include "core/little_endian.h"

namespace loom {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : ByteReader(bytes, bytes.size()) {}
  // `front` of `size` bytes: a read past it fails, and missing() is then how many bytes the front needs at least.
  ByteReader(std::span<const std::byte> front, std::uint64_t size) : bytes_(front), size_(size) {}

  std::size_t offset() const { return offset_; }
  std::uint64_t left() const { return size_ - offset_; }
  std::uint64_t missing() const { return missing_; }

  Result<std::span<const std::byte>> take(std::uint64_t n, const char* what) {
    if (n > left())
      return fail(Code::CorruptData, "offset {}: {} needs {} bytes, {} are left", offset_, what, n, left());
    if (n > bytes_.size() - offset_) {
      missing_ = offset_ + n;
      return fail(Code::OutOfRange, "offset {}: {} is past the part that was read", offset_, what);
    }
    const auto part = bytes_.subspan(offset_, static_cast<std::size_t>(n));
    offset_ += part.size();
    return part;
  }

  template <class T>
  Result<T> number(const char* what) {
    LOOM_TRY(const auto part, take(sizeof(T), what));
    return load_le<T>(part.data());
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t size_ = 0, missing_ = 0;
  std::size_t offset_ = 0;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace loom
