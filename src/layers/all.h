#pragma once
// Every layer kind. To add one: its folder, whose row (layers/kind.h) says all there is to know, and one line in
// all.cpp. A host may register more while the process runs (layers/foreign/foreign_kind.h).

#include <span>

#include "layers/layer.h"

namespace loom {

// Returns the built-in kinds, in the order of their ids. all.cpp has nothing else, for loom-lm.wasm is linked with a
// shorter list in its place (cmake/lm_kinds.cpp).
std::span<const LayerKind* const> layer_kinds();
// Returns the built-in kinds, then the registered ones.
std::vector<const LayerKind*> all_layer_kinds();
bool is_builtin_kind(std::string_view name);
// Case-insensitive, '_' and '-' ignored (engine J-20). UnknownName with the nearest names.
Result<const LayerKind*> layer_kind(std::string_view name);

}  // namespace loom
