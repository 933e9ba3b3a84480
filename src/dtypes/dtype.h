#pragma once
// The 21 numeric types of engine 4.1 and the GGUF block formats of D-26, by name and by layout. Files store names,
// never ordinals.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "dtypes/panel.h"

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

// Arithmetic of a matmul with this weight type (engine 4.4): f32 chains, exact integers, f64, or quantised blocks.
enum class ComputeClass : std::uint8_t { F64, F32, Wide, Int, Block };

// A type in one row: all lists of types in specs, files and messages are made from these.
struct DTypeInfo {
  DType dtype;
  std::string_view names;        // its own, then the others that specs and options may use, separated by '|'
  std::uint16_t block_elements;  // 1 for plain types; sub-byte types of Loom pack by rows (D-10)
  std::uint16_t block_bytes;     // bytes of one block in a GGUF file; 0 where the type is packed below a byte
  std::uint8_t bits;             // bits of one code
  ComputeClass compute;
  std::int8_t gguf;               // its number in GGUF files; -1: they have none
  std::string_view safetensors;   // its name in safetensors files; empty: they have none
  std::uint64_t non_finite_mask;  // the bits that are all set in what is no finite number
  PanelLayout panel;              // of a matrix, with the span of scales that the type has by itself
  std::string_view name = names.substr(0, names.find('|'));
};

inline constexpr std::array<DTypeInfo, kNumDTypes> kDTypes = [] {
  using T = DType;
  using C = ComputeClass;
  using K = PanelKind;
  using F = PanelFactors;
  return std::array<DTypeInfo, kNumDTypes>{{
      // clang-format off
      {T::float64, "float64|fp64|f64|double", 1, 8, 64, C::F64, 28, "F64", 0x7ff0000000000000, {.kind = K::Float64}},
      {T::float32, "float32|fp32|f32|float", 1, 4, 32, C::F32, 0, "F32", 0x7f800000, {.kind = K::Float32}},
      {T::float16, "float16|fp16|f16|half", 1, 2, 16, C::F32, 1, "F16", 0x7c00, {.kind = K::Float16}},
      {T::bfloat16, "bfloat16|bf16", 1, 2, 16, C::F32, 30, "BF16", 0x7f80, {.kind = K::BFloat16}},
      {T::fp8e4m3, "fp8e4m3|fp8|f8e4m3|float8e4m3fn", 1, 1, 8, C::F32, -1, "F8_E4M3", 0x7f, {.kind = K::Fp8E4M3}},
      {T::fp8e5m2, "fp8e5m2|f8e5m2|float8e5m2", 1, 1, 8, C::F32, -1, "F8_E5M2", 0x7c, {.kind = K::Fp8E5M2}},
      {T::int64, "int64|i64", 1, 8, 64, C::Wide, 27, "I64", 0, {.kind = K::Wide64, .is_signed = true}},
      {T::int32, "int32|i32", 1, 4, 32, C::Wide, 26, "I32", 0, {.kind = K::Wide32, .is_signed = true}},
      {T::int16, "int16|i16", 1, 2, 16, C::Wide, 25, "I16", 0, {.kind = K::Wide16, .is_signed = true}},
      {T::int8, "int8|i8", 1, 1, 8, C::Int, 24, "I8", 0, {.kind = K::RowBytes}},
      {T::uint64, "uint64|u64", 1, 8, 64, C::Wide, -1, "U64", 0, {.kind = K::Wide64, .has_zeros = true}},
      {T::uint32, "uint32|u32", 1, 4, 32, C::Wide, -1, "U32", 0, {.kind = K::Wide32, .has_zeros = true}},
      {T::uint16, "uint16|u16", 1, 2, 16, C::Wide, -1, "U16", 0, {.kind = K::Wide16, .has_zeros = true}},
      {T::uint8, "uint8|u8", 1, 1, 8, C::Int, -1, "U8", 0, {.kind = K::RowBytes, .has_zeros = true}},
      {T::int4, "int4|i4", 1, 0, 4, C::Int, -1, "", 0, {.kind = K::BlockNibbles, .code_offset = 8}},
      {T::uint4, "uint4|u4", 1, 0, 4, C::Int, -1, "", 0, {.kind = K::BlockNibbles, .has_zeros = true}},
      {T::fp4, "fp4|f4|fp4e2m1|e2m1|float4e2m1fn", 1, 0, 4, C::F32, -1, "", 0, {.kind = K::BlockFp4}},
      {T::int2, "int2|i2", 1, 0, 2, C::Int, -1, "", 0, {.kind = K::BlockCrumbs, .code_offset = 2}},
      {T::uint2, "uint2|u2", 1, 0, 2, C::Int, -1, "", 0, {.kind = K::BlockCrumbs, .has_zeros = true}},
      {T::ternary, "ternary|t1.58", 1, 0, 2, C::Int, -1, "", 0, {.kind = K::RowCrumbs, .code_offset = 1}},
      {T::binary, "binary|b1", 1, 0, 1, C::Int, -1, "", 0, {.kind = K::RowBits, .code_offset = 1}},
      {T::q4_0, "q4_0", 32, 18, 4, C::Block, 2, "", 0, {.kind = K::BlockNibbles, .factors = F::F16, .code_offset = 8}},
      {T::q4_1, "q4_1", 32, 20, 4, C::Block, 3, "", 0, {.kind = K::BlockNibbles, .factors = F::F16, .has_min = true}},
      {T::q5_0, "q5_0", 32, 22, 5, C::Block, 6, "", 0,
       {.kind = K::BlockFiveBits, .factors = F::F16, .code_offset = 16}},
      {T::q5_1, "q5_1", 32, 24, 5, C::Block, 7, "", 0, {.kind = K::BlockFiveBits, .factors = F::F16, .has_min = true}},
      {T::q8_0, "q8_0", 32, 34, 8, C::Block, 8, "", 0, {.kind = K::BlockBytes, .factors = F::F16}},
      {T::q2_k, "q2_k", 256, 84, 2, C::Block, 10, "", 0,
       {.kind = K::BlockCrumbs, .sub_cols = 16, .factors = F::Nibbles, .has_min = true}},
      {T::q3_k, "q3_k", 256, 110, 3, C::Block, 11, "", 0,
       {.kind = K::BlockThreeBits, .sub_cols = 16, .factors = F::Bytes, .code_offset = 4, .scale_offset = 32}},
      {T::q4_k, "q4_k", 256, 144, 4, C::Block, 12, "", 0,
       {.kind = K::BlockNibbles, .factors = F::Bytes, .has_min = true}},
      {T::q5_k, "q5_k", 256, 176, 5, C::Block, 13, "", 0,
       {.kind = K::BlockFiveBits, .factors = F::Bytes, .has_min = true}},
      {T::q6_k, "q6_k", 256, 210, 6, C::Block, 14, "", 0,
       {.kind = K::BlockSixBits, .sub_cols = 16, .factors = F::Bytes, .code_offset = 32, .scale_offset = 128}},
      {T::tq1_0, "tq1_0", 256, 54, 2, C::Block, 34, "", 0,
       {.kind = K::BlockCrumbs, .factors = F::Shared, .code_offset = 1}},
      {T::tq2_0, "tq2_0", 256, 66, 2, C::Block, 35, "", 0,
       {.kind = K::BlockCrumbs, .factors = F::Shared, .code_offset = 1}},
      {T::mxfp4, "mxfp4", 32, 17, 4, C::Block, 39, "", 0,
       {.kind = K::BlockTwiceFp4, .factors = F::Exponents, .code_offset = 12}},
      // clang-format on
  }};
}();

constexpr std::size_t index(DType t) { return static_cast<std::size_t>(t); }
constexpr const DTypeInfo& info(DType t) { return kDTypes[index(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr bool is_block_format(DType t) { return info(t).compute == ComputeClass::Block; }

// Catches a row that is missing or out of place, which would break lookups silently.
static_assert(
    [] {
      for (std::size_t i = 0; i < kNumDTypes; ++i)
        if (index(kDTypes[i].dtype) != i || kDTypes[i].bits == 0 ||
            is_block_format(kDTypes[i].dtype) != (i >= kNumTypes))
          return false;
      return true;
    }(),
    "kDTypes stands in enumerator order, the block formats last");

// Case-insensitive; '_' and '-' are ignored. UnknownName with the list of names.
Result<DType> dtype_from_name(std::string_view text);

// Bytes of one row of `elements` in a file. ShapeMismatch when they are no whole number of blocks; Unsupported for the
// types that Loom packs below a byte.
Result<std::size_t> row_bytes(DType dtype, std::size_t elements);

}  // namespace loom
