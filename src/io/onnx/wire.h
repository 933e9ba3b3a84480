#pragma once
// The wire format of protocol buffers, as far as ONNX files use it: a message is a row of fields, each a key (number
// and wire type) and a value. Everything is read from untrusted bytes: every length is checked against what is left.

#include <span>
#include <string>

#include "io/byte_reader.h"

namespace loom {

struct WireField {
  std::uint32_t number = 0;
  // 0: a varint, 1: eight bytes, 2: bytes, 5: four bytes
  std::uint8_t wire = 0;
  std::uint64_t bits = 0;              // of wire types 0, 1 and 5
  std::span<const std::byte> bytes{};  // of wire type 2
  std::size_t offset = 0;              // in the message

  // CorruptData where the field has another wire type.
  Result<std::int64_t> integer() const;
  Result<float> number32() const;
  Result<std::span<const std::byte>> message() const;
  Result<std::string> text() const;
};

// A cursor over the fields of one message.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : reader_(bytes) {}
  bool done() const { return reader_.left() == 0; }
  // CorruptData for a varint of more than ten bytes, a length beyond the message, groups and field number 0.
  Result<WireField> next();
  Result<std::uint64_t> varint();
  std::size_t offset() const { return reader_.offset(); }

 private:
  ByteReader reader_;
};

// A repeated number, packed or one by one: f(bits) for each. Elements of wire type `wire`.
template <class F>
Result<void> each_number(const WireField& field, std::uint8_t wire, F&& f) {
  if (field.wire == wire) {
    f(field.bits);
    return {};
  }
  if (field.wire != 2) return fail(Code::CorruptData, "field {} has wire type {}", field.number, field.wire);
  if (wire == 0) {
    WireReader reader(field.bytes);
    while (!reader.done()) {
      LOOM_TRY(const std::uint64_t bits, reader.varint());
      f(bits);
    }
    return {};
  }
  const std::size_t size = wire == 1 ? 8 : 4;
  if (field.bytes.size() % size != 0)
    return fail(Code::CorruptData, "field {} has {} bytes", field.number, field.bytes.size());
  for (std::size_t i = 0; i < field.bytes.size(); i += size)
    f(wire == 1 ? load_le<std::uint64_t>(field.bytes.data() + i) : load_le<std::uint32_t>(field.bytes.data() + i));
  return {};
}

}  // namespace loom
