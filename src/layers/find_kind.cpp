#include "core/nearest.h"
#include "layers/all.h"
#include "layers/foreign/foreign_kind.h"

namespace loom {
namespace {

// Null: there is none. Their names are written as folded_name() gives them.
const LayerKind* find_builtin(std::string_view wanted) {
  for (const LayerKind* kind : layer_kinds()) {
    if (kind->name == wanted) return kind;
    for (const std::string_view alias : split_names(kind->aliases))
      if (alias == wanted) return kind;
  }
  return nullptr;
}

}  // namespace

std::vector<const LayerKind*> all_layer_kinds() {
  const std::span<const LayerKind* const> built_in = layer_kinds();
  std::vector<const LayerKind*> all(built_in.begin(), built_in.end());
  const std::vector<const LayerKind*> foreign = foreign_kinds();
  all.insert(all.end(), foreign.begin(), foreign.end());
  return all;
}

bool is_builtin_kind(std::string_view name) { return find_builtin(folded_name(name)) != nullptr; }

Result<const LayerKind*> layer_kind(std::string_view name) {
  const std::string wanted = folded_name(name);
  if (const LayerKind* const kind = find_builtin(wanted)) return kind;
  if (const LayerKind* const kind = find_foreign_kind(wanted)) return kind;
  std::vector<std::string_view> known;
  for (const LayerKind* kind : all_layer_kinds()) known.push_back(kind->name);
  return fail(Code::UnknownName, "layer type \"{}\" is neither built in nor registered; nearest: {}", printable(name),
              nearest_names(wanted, known));
}

}  // namespace loom
