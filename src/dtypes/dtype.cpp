#include "dtypes/dtype.h"

#include <algorithm>

#include "core/checked.h"
#include "core/nearest.h"

namespace loom {
namespace {

static_assert(
    [] {
      for (const DTypeInfo& a : kDTypes)
        for (const DTypeInfo& b : kDTypes)
          if (a.dtype != b.dtype && (a.name == b.name || (a.gguf >= 0 && a.gguf == b.gguf) ||
                                     (!a.safetensors.empty() && a.safetensors == b.safetensors)))
            return false;
      return true;
    }(),
    "no two types have one name or number");

bool names(const DTypeInfo& type, const std::string& wanted) {
  return std::ranges::any_of(split_names(type.names),
                             [&](std::string_view name) { return folded_name(name) == wanted; });
}

}  // namespace

Result<DType> dtype_from_name(std::string_view text) {
  const std::string wanted = folded_name(text);
  std::string known;
  for (const DTypeInfo& type : kDTypes) {
    if (names(type, wanted)) return type.dtype;
    known += known.empty() ? "" : " ";
    known += type.name;
  }
  return fail(Code::UnknownName, "numeric type \"{}\" is unknown; known: {}", text.substr(0, 40), known);
}

Result<std::size_t> row_bytes(DType dtype, std::size_t elements) {
  const DTypeInfo& type = info(dtype);
  if (type.block_bytes == 0) return fail(Code::Unsupported, "{} has no byte layout in files", type.name);
  if (elements % type.block_elements != 0)
    return fail(Code::ShapeMismatch, "a row of {} elements is no multiple of the {} of a {} block", elements,
                type.block_elements, type.name);
  return checked_mul(elements / type.block_elements, type.block_bytes);
}

}  // namespace loom
