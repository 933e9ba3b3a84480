#pragma once
// Values that flow through a graph of operations: tensors of any rank, scalars and empty ones included. Numbers are
// held in one of three stores: f32 (float16, bfloat16 and the small floats are rounded to their type and kept in it),
// f64, and int64 for every whole number and for truth values.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/error.h"

namespace loom::graph {

// Numbered as in ONNX files (TensorProto.DataType).
enum class Type : std::uint8_t {
  none = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  text = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
};
enum class Store : std::uint8_t { f32, f64, i64 };

// The name in specs ("float32"), "type 23" of what Loom does not know.
std::string name_of(Type type);
// Type::none of an unknown name.
Type type_from_name(std::string_view name);
bool is_known(Type type);
Store store_of(Type type);
inline bool is_float(Type type) { return store_of(type) != Store::i64; }
inline std::size_t bytes_of(Store store) { return store == Store::f32 ? 4 : 8; }
// Converts a whole number to the type: its low bits, as NumPy keeps them; a truth value is 0 or 1.
std::int64_t wrapped(Type type, std::int64_t value);
// The nearest number of the type, ties to even, kept in the store.
float rounded(Type type, float value);
// Rounds without saturation: a float of 8 bits above its largest number is NaN or, of float8e5m2, infinity.
float rounded_without_saturation(Type type, float value);

using Dims = std::vector<std::size_t>;
// "[2, 3]"
std::string text_of(const Dims& dims);
inline std::size_t count(std::span<const std::size_t> dims) {
  std::size_t n = 1;
  for (const std::size_t d : dims) n *= d;
  return n;
}

struct Value {
  Type type = Type::none;
  Dims dims;
  void* data = nullptr;
  bool known = false;                 // its numbers are known while a run is planned
  bool constant = false;              // and are those of every run
  std::shared_ptr<const void> own{};  // keeps the numbers, which stay as they are while a plan knows them

  // Zeroed memory of its own. OutOfMemory, SizeOverflow.
  static Result<Value> create(Type type, Dims dims);
  bool present() const { return type != Type::none; }
  std::size_t rank() const { return dims.size(); }
  std::size_t elements() const { return count(dims); }
  std::size_t bytes() const { return elements() * bytes_of(store_of(type)); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  double number(std::size_t i) const {
    switch (store_of(type)) {
      case Store::f32: return static_cast<double>(as<float>()[i]);
      case Store::f64: return as<double>()[i];
      default: return static_cast<double>(as<std::int64_t>()[i]);
    }
  }
};

// Calls f with a number of the store's type.
template <class F>
decltype(auto) with_store(Store store, F&& f) {
  switch (store) {
    case Store::f32: return f(float{});
    case Store::f64: return f(double{});
    default: return f(std::int64_t{});
  }
}

// The elements of that type as files hold them, little-endian and dense (two codes of 4 bits in a byte, the first one
// low), and back. CorruptData unless the bytes are as many as the shape says.
Result<Value> value_from_bytes(Type type, Dims dims, std::span<const std::byte> bytes);
Result<std::vector<std::byte>> bytes_of_value(const Value& value);
// Bytes that so many elements take in a file.
std::size_t stored_bytes(Type type, std::size_t elements);

}  // namespace loom::graph
