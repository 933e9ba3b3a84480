#include "io/onnx/wire.h"

namespace loom {

Result<std::int64_t> WireField::integer() const {
  if (wire != 0) return fail(Code::CorruptData, "offset {}: field {} is no whole number", offset, number);
  return static_cast<std::int64_t>(bits);
}

Result<float> WireField::number32() const {
  if (wire != 5) return fail(Code::CorruptData, "offset {}: field {} is no number", offset, number);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

Result<std::span<const std::byte>> WireField::message() const {
  if (wire != 2) return fail(Code::CorruptData, "offset {}: field {} is no message", offset, number);
  return bytes;
}

Result<std::string> WireField::text() const {
  if (wire != 2) return fail(Code::CorruptData, "offset {}: field {} is no text", offset, number);
  return std::string(as_text(bytes));
}

Result<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    LOOM_TRY(const auto byte, reader_.number<std::uint8_t>("a varint"));
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return fail(Code::CorruptData, "offset {}: a varint of more than ten bytes", reader_.offset());
}

Result<WireField> WireReader::next() {
  WireField field;
  field.offset = reader_.offset();
  LOOM_TRY(const std::uint64_t key, varint());
  field.number = static_cast<std::uint32_t>(key >> 3), field.wire = static_cast<std::uint8_t>(key & 7);
  if (key >> 3 == 0 || key >> 32 != 0)
    return fail(Code::CorruptData, "offset {}: field number {}", field.offset, key >> 3);
  switch (field.wire) {
    case 0: {
      LOOM_TRY(field.bits, varint());
      return field;
    }
    case 1: {
      LOOM_TRY(field.bits, reader_.number<std::uint64_t>("a number"));
      return field;
    }
    case 2: {
      LOOM_TRY(const std::uint64_t length, varint());
      LOOM_TRY(field.bytes, reader_.take(length, "a field"));
      return field;
    }
    case 5: {
      LOOM_TRY(field.bits, reader_.number<std::uint32_t>("a number"));
      return field;
    }
    default:
      return fail(Code::CorruptData, "offset {}: wire type {}: no ONNX file, or a damaged one", field.offset,
                  field.wire);
  }
}

}  // namespace loom
