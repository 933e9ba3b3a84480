#pragma once
// Layer kinds of a host's own, as networks have to know them.

#include "layers/foreign/foreign_kind.h"

namespace loom {

// add_foreign_kind(), and InvalidArgument for a setting whose key every layer has, or a link, or a cell.
Result<void> register_kind(ForeignDescription description, ForeignCallbacks callbacks);

}  // namespace loom
