#pragma once
// The 21 numeric types of engine 4.1 and the GGUF block formats of D-26, by name and by layout. Files store names, never ordinals.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace loom {

enum class DType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  fp8e4m3,
  fp8e5m2,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  int4,
  uint4,
  fp4,
  int2,
  uint2,
  ternary,
  binary,
  // Block formats: a matrix may keep them packed (D-26); they are no types to compute or train in.
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  tq1_0,
  tq2_0,
  mxfp4,
};
inline constexpr std::size_t kNumTypes = 21;
inline constexpr std::size_t kNumDTypes = 34;

// How a matrix of this type meets its input (engine 4.4): in f32 chains, exact integers, f64, or quantised blocks.
enum class ComputeClass : std::uint8_t { F64, F32, Wide, Int, Block };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::string_view aliases;        // space-separated
  std::uint16_t block_elements;    // 1 for plain types; sub-byte types of Loom pack by rows (D-10)
  std::uint16_t block_bytes;       // bytes of one block in a GGUF file; 0 where the type is packed below a byte
  std::uint8_t bits;               // bits of one code
  ComputeClass compute;
};

inline constexpr std::array<DTypeInfo, kNumDTypes> kDTypes = {{
    {DType::float64, "float64", "fp64 f64 double", 1, 8, 64, ComputeClass::F64},
    {DType::float32, "float32", "fp32 f32 float", 1, 4, 32, ComputeClass::F32},
    {DType::float16, "float16", "fp16 f16 half", 1, 2, 16, ComputeClass::F32},
    {DType::bfloat16, "bfloat16", "bf16", 1, 2, 16, ComputeClass::F32},
    {DType::fp8e4m3, "fp8e4m3", "fp8 f8e4m3 float8e4m3fn", 1, 1, 8, ComputeClass::F32},
    {DType::fp8e5m2, "fp8e5m2", "f8e5m2 float8e5m2", 1, 1, 8, ComputeClass::F32},
    {DType::int64, "int64", "i64", 1, 8, 64, ComputeClass::Wide},
    {DType::int32, "int32", "i32", 1, 4, 32, ComputeClass::Wide},
    {DType::int16, "int16", "i16", 1, 2, 16, ComputeClass::Wide},
    {DType::int8, "int8", "i8", 1, 1, 8, ComputeClass::Int},
    {DType::uint64, "uint64", "u64", 1, 8, 64, ComputeClass::Wide},
    {DType::uint32, "uint32", "u32", 1, 4, 32, ComputeClass::Wide},
    {DType::uint16, "uint16", "u16", 1, 2, 16, ComputeClass::Wide},
    {DType::uint8, "uint8", "u8", 1, 1, 8, ComputeClass::Int},
    {DType::int4, "int4", "i4", 1, 0, 4, ComputeClass::Int},
    {DType::uint4, "uint4", "u4", 1, 0, 4, ComputeClass::Int},
    {DType::fp4, "fp4", "f4 fp4e2m1 e2m1 float4e2m1fn", 1, 0, 4, ComputeClass::F32},
    {DType::int2, "int2", "i2", 1, 0, 2, ComputeClass::Int},
    {DType::uint2, "uint2", "u2", 1, 0, 2, ComputeClass::Int},
    {DType::ternary, "ternary", "t1.58", 1, 0, 2, ComputeClass::Int},
    {DType::binary, "binary", "b1", 1, 0, 1, ComputeClass::Int},
    {DType::q4_0, "q4_0", "", 32, 18, 4, ComputeClass::Block},
    {DType::q4_1, "q4_1", "", 32, 20, 4, ComputeClass::Block},
    {DType::q5_0, "q5_0", "", 32, 22, 5, ComputeClass::Block},
    {DType::q5_1, "q5_1", "", 32, 24, 5, ComputeClass::Block},
    {DType::q8_0, "q8_0", "", 32, 34, 8, ComputeClass::Block},
    {DType::q2_k, "q2_k", "", 256, 84, 2, ComputeClass::Block},
    {DType::q3_k, "q3_k", "", 256, 110, 3, ComputeClass::Block},
    {DType::q4_k, "q4_k", "", 256, 144, 4, ComputeClass::Block},
    {DType::q5_k, "q5_k", "", 256, 176, 5, ComputeClass::Block},
    {DType::q6_k, "q6_k", "", 256, 210, 6, ComputeClass::Block},
    {DType::tq1_0, "tq1_0", "", 256, 54, 2, ComputeClass::Block},
    {DType::tq2_0, "tq2_0", "", 256, 66, 2, ComputeClass::Block},
    {DType::mxfp4, "mxfp4", "", 32, 17, 4, ComputeClass::Block},
}};

constexpr std::size_t index(DType t) { return static_cast<std::size_t>(t); }
constexpr const DTypeInfo& info(DType t) { return kDTypes[index(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr bool is_block_format(DType t) { return info(t).compute == ComputeClass::Block; }

static_assert(
    [] {
      for (std::size_t i = 0; i < kNumDTypes; ++i)
        if (index(kDTypes[i].dtype) != i) return false;
      return true;
    }(),
    "kDTypes stands in enumerator order");

// Case-insensitive; '_' and '-' are ignored. UnknownName with the list of names.
Result<DType> dtype_from_name(std::string_view text);

// Bytes of one row of `elements` in a file. ShapeMismatch when they are no whole number of blocks; Unsupported for the types that
// Loom packs below a byte.
Result<std::size_t> row_bytes(DType dtype, std::size_t elements);

}  // namespace loom
