#pragma once
// Every layer kind. To add one: its folder, one line in all.cpp.

#include <span>

#include "layers/layer.h"

namespace loom {

struct LayerKind {
  int id;                          // of the legacy C ABI (engine L-01); files store names
  std::string_view name, aliases;  // aliases separated by '|'
  LayerPtr (*make)();              // with the default settings
};

std::span<const LayerKind> layer_kinds();
// Case-insensitive, '_' and '-' ignored (engine J-20). UnknownName with the nearest names.
Result<const LayerKind*> layer_kind(std::string_view name);

}  // namespace loom
