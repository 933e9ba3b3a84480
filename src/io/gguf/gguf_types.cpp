#include "io/gguf/gguf.h"

#include <iterator>

#include "core/checked.h"

namespace loom {
namespace {

// By number: all types that the format knows, whether Loom reads them (DTypeInfo::gguf) or not.
constexpr std::string_view kGgmlNames[] = {
    "F32",        "F16",        "Q4_0",       "Q4_1",  "Q4_2",     "Q4_3",     "Q5_0",     "Q5_1",    "Q8_0",
    "Q8_1",       "Q2_K",       "Q3_K",       "Q4_K",  "Q5_K",     "Q6_K",     "Q8_K",     "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS",    "IQ1_S",      "IQ4_NL",     "IQ3_S", "IQ2_S",    "IQ4_XS",   "I8",       "I16",     "I32",
    "I64",        "F64",        "IQ1_M",      "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",   "TQ2_0",
    "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4", "NVFP4",    "Q1_0",     "Q2_0",
};

}  // namespace

std::optional<std::uint32_t> ggml_type(DType dtype) {
  if (info(dtype).gguf < 0) return std::nullopt;
  return static_cast<std::uint32_t>(info(dtype).gguf);
}

std::optional<DType> dtype_from_ggml(std::uint32_t type) {
  for (const DTypeInfo& t : kDTypes)
    if (ggml_type(t.dtype) == type) return t.dtype;
  return std::nullopt;
}

std::string_view ggml_type_name(std::uint32_t type) {
  return type < std::size(kGgmlNames) ? kGgmlNames[type] : "of no known name";
}

std::string_view name(GgufType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace loom
