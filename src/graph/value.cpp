#include "graph/value.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "core/checked.h"
#include "core/little_endian.h"
#include "dtypes/float16.h"
#include "dtypes/small_float.h"

namespace loom::graph {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  Store store;
  std::size_t bits;  // of an element in a file
};
constexpr std::array kTypes{
    TypeRow{Type::f32, "float32", Store::f32, 32},
    TypeRow{Type::f64, "float64", Store::f64, 64},
    TypeRow{Type::f16, "float16", Store::f32, 16},
    TypeRow{Type::bf16, "bfloat16", Store::f32, 16},
    TypeRow{Type::f8e4m3fn, "float8e4m3fn", Store::f32, 8},
    TypeRow{Type::f8e5m2, "float8e5m2", Store::f32, 8},
    TypeRow{Type::boolean, "bool", Store::i64, 8},
    TypeRow{Type::u8, "uint8", Store::i64, 8},
    TypeRow{Type::i8, "int8", Store::i64, 8},
    TypeRow{Type::u16, "uint16", Store::i64, 16},
    TypeRow{Type::i16, "int16", Store::i64, 16},
    TypeRow{Type::u32, "uint32", Store::i64, 32},
    TypeRow{Type::i32, "int32", Store::i64, 32},
    TypeRow{Type::u64, "uint64", Store::i64, 64},
    TypeRow{Type::i64, "int64", Store::i64, 64},
    TypeRow{Type::u4, "uint4", Store::i64, 4},
    TypeRow{Type::i4, "int4", Store::i64, 4},
};

const TypeRow* row_of(Type type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

float float_of_code(Type type, std::uint64_t code) {
  switch (type) {
    case Type::f16: return float16_to_float(static_cast<std::uint16_t>(code));
    case Type::bf16: return bfloat16_to_float(static_cast<std::uint16_t>(code));
    case Type::f8e4m3fn: return Fp8E4M3::decode(static_cast<std::uint8_t>(code));
    case Type::f8e5m2: return Fp8E5M2::decode(static_cast<std::uint8_t>(code));
    default: return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  }
}

std::uint64_t code_of_float(Type type, float value) {
  switch (type) {
    case Type::f16: return float_to_float16(value);
    case Type::bf16: return float_to_bfloat16(value);
    case Type::f8e4m3fn: return Fp8E4M3::encode(value);
    case Type::f8e5m2: return Fp8E5M2::encode(value);
    default: return std::bit_cast<std::uint32_t>(value);
  }
}

std::uint64_t load_code(const TypeRow& row, const std::byte* from, std::size_t i) {
  switch (row.bits) {
    case 4: return (static_cast<std::uint64_t>(from[i / 2]) >> (i % 2 * 4)) & 15u;
    case 8: return static_cast<std::uint64_t>(from[i]);
    case 16: return load_le<std::uint16_t>(from + 2 * i);
    case 32: return load_le<std::uint32_t>(from + 4 * i);
    default: return load_le<std::uint64_t>(from + 8 * i);
  }
}

}  // namespace

std::string name_of(Type type) {
  const TypeRow* const row = row_of(type);
  return row != nullptr ? std::string(row->name) : fmt::format("type {}", static_cast<int>(type));
}

Type type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.type;
  return Type::none;
}

bool is_known(Type type) { return row_of(type) != nullptr; }

Store store_of(Type type) {
  const TypeRow* const row = row_of(type);
  return row != nullptr ? row->store : Store::i64;
}

std::int64_t wrapped(Type type, std::int64_t value) {
  const auto sign_extended = [&](int bits) {
    const auto high = static_cast<std::uint64_t>(value) << (64 - bits);
    return static_cast<std::int64_t>(high) >> (64 - bits);
  };
  switch (type) {
    case Type::boolean: return value != 0;
    case Type::u4: return value & 15;
    case Type::i4: return sign_extended(4);
    case Type::u8: return value & 0xff;
    case Type::i8: return sign_extended(8);
    case Type::u16: return value & 0xffff;
    case Type::i16: return sign_extended(16);
    case Type::u32: return value & 0xffffffff;
    case Type::i32: return sign_extended(32);
    default: return value;
  }
}

float rounded(Type type, float value) {
  return type == Type::f32 ? value : float_of_code(type, code_of_float(type, value));
}

float rounded_without_saturation(Type type, float value) {
  const float size = value < 0 ? -value : value;
  // From halfway to the number that would follow the largest one on: 448 stays at a tie, being even, 57344 does not.
  if (type == Type::f8e4m3fn && size > 464) return std::bit_cast<float>(0x7fc00000u);
  if (type == Type::f8e5m2 && size >= 61440) return value < 0 ? -__builtin_huge_valf() : __builtin_huge_valf();
  return rounded(type, value);
}

std::string text_of(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

Result<Value> Value::create(Type type, Dims dims) {
  std::size_t bytes = bytes_of(store_of(type));
  for (const std::size_t d : dims) {
    LOOM_TRY(bytes, checked_mul(bytes, d));
  }
  Value value;
  LOOM_TRY(Buffer memory, Buffer::create(bytes == 0 ? 1 : bytes));
  value.data = memory.data();
  value.own = std::make_shared<Buffer>(std::move(memory));
  value.type = type, value.dims = std::move(dims), value.known = true;
  return value;
}

std::size_t stored_bytes(Type type, std::size_t elements) {
  const TypeRow* const row = row_of(type);
  const std::size_t bits = row != nullptr ? row->bits : 64;
  return bits == 4 ? (elements + 1) / 2 : elements * (bits / 8);
}

Result<Value> value_from_bytes(Type type, Dims dims, std::span<const std::byte> bytes) {
  const TypeRow* const row = row_of(type);
  if (row == nullptr) return fail(Code::Unsupported, "a tensor of {}", name_of(type));
  std::size_t n = 1;
  for (const std::size_t d : dims) {
    LOOM_TRY(n, checked_mul(n, d));
  }
  if (n > SIZE_MAX / 16 || stored_bytes(type, n) != bytes.size())
    return fail(Code::CorruptData, "{} bytes for a tensor of {} {}", bytes.size(), name_of(type), text_of(dims));
  LOOM_TRY(Value value, Value::create(type, std::move(dims)));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = load_code(*row, bytes.data(), i);
    if (row->store == Store::f32)
      value.as<float>()[i] = float_of_code(type, code);
    else if (row->store == Store::f64)
      value.as<double>()[i] = std::bit_cast<double>(code);
    else
      value.as<std::int64_t>()[i] = wrapped(type, static_cast<std::int64_t>(code));
  }
  return value;
}

Result<std::vector<std::byte>> bytes_of_value(const Value& value) {
  const TypeRow* const row = row_of(value.type);
  if (row == nullptr) return fail(Code::Unsupported, "a tensor of {}", name_of(value.type));
  const std::size_t n = value.elements();
  std::vector<std::byte> bytes(stored_bytes(value.type, n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = row->store == Store::f32   ? code_of_float(value.type, value.as<float>()[i])
                               : row->store == Store::f64 ? std::bit_cast<std::uint64_t>(value.as<double>()[i])
                                                          : static_cast<std::uint64_t>(value.as<std::int64_t>()[i]);
    if (row->bits == 4)
      bytes[i / 2] |= static_cast<std::byte>((code & 15u) << (i % 2 * 4));
    else
      for (std::size_t b = 0; b < row->bits / 8; ++b)
        bytes[i * (row->bits / 8) + b] = static_cast<std::byte>(code >> (8 * b));
  }
  return bytes;
}

}  // namespace loom::graph
