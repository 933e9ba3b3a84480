#include "dtypes/dtype.h"

#include "core/checked.h"

namespace loom {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '_' && c != '-') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool names(const DTypeInfo& type, const std::string& wanted) {
  if (folded(type.name) == wanted) return true;
  for (std::string_view rest = type.aliases; !rest.empty();) {
    const std::size_t end = rest.find(' ') == rest.npos ? rest.size() : rest.find(' ');
    if (folded(rest.substr(0, end)) == wanted) return true;
    rest.remove_prefix(end == rest.size() ? end : end + 1);
  }
  return false;
}

}  // namespace

Result<DType> dtype_from_name(std::string_view text) {
  const std::string wanted = folded(text);
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
    return fail(Code::ShapeMismatch, "a row of {} elements is no multiple of the {} of a {} block", elements, type.block_elements, type.name);
  return checked_mul(elements / type.block_elements, type.block_bytes);
}

}  // namespace loom
