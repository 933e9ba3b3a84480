#include "io/gguf/gguf.h"

#include "core/checked.h"

namespace loom {
namespace {

struct GgmlType {
  std::uint32_t number;
  std::string_view name;
  std::optional<DType> dtype;  // none: known to the format, not read by Loom
};

constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", DType::float32},
    {1, "F16", DType::float16},
    {2, "Q4_0", DType::q4_0},
    {3, "Q4_1", DType::q4_1},
    {4, "Q4_2", {}},
    {5, "Q4_3", {}},
    {6, "Q5_0", DType::q5_0},
    {7, "Q5_1", DType::q5_1},
    {8, "Q8_0", DType::q8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", DType::q2_k},
    {11, "Q3_K", DType::q3_k},
    {12, "Q4_K", DType::q4_k},
    {13, "Q5_K", DType::q5_k},
    {14, "Q6_K", DType::q6_k},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", {}},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", {}},
    {24, "I8", DType::int8},
    {25, "I16", DType::int16},
    {26, "I32", DType::int32},
    {27, "I64", DType::int64},
    {28, "F64", DType::float64},
    {29, "IQ1_M", {}},
    {30, "BF16", DType::bfloat16},
    {31, "Q4_0_4_4", {}},
    {32, "Q4_0_4_8", {}},
    {33, "Q4_0_8_8", {}},
    {34, "TQ1_0", DType::tq1_0},
    {35, "TQ2_0", DType::tq2_0},
    {36, "IQ4_NL_4_4", {}},
    {37, "IQ4_NL_4_8", {}},
    {38, "IQ4_NL_8_8", {}},
    {39, "MXFP4", DType::mxfp4},
    {40, "NVFP4", {}},
    {41, "Q1_0", {}},
    {42, "Q2_0", {}},
};

}  // namespace

std::optional<std::uint32_t> ggml_type(DType dtype) {
  for (const GgmlType& t : kGgmlTypes)
    if (t.dtype == dtype) return t.number;
  return std::nullopt;
}

std::optional<DType> dtype_from_ggml(std::uint32_t type) {
  for (const GgmlType& t : kGgmlTypes)
    if (t.number == type) return t.dtype;
  return std::nullopt;
}

std::string_view ggml_type_name(std::uint32_t type) {
  for (const GgmlType& t : kGgmlTypes)
    if (t.number == type) return t.name;
  return "of no known name";
}

std::string_view name(GgufType type) {
  constexpr std::string_view kNames[] = {"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace loom
