#include "network/own_kinds.h"

#include "core/json.h"
#include "network/spec/spec.h"

namespace loom {

Result<void> register_kind(ForeignDescription description, ForeignCallbacks callbacks) {
  for (const Json& schema : {layer_schema(), link_schema()})
    for (const ForeignSetting& setting : description.settings)
      if (schema["properties"].contains(setting.key))
        return fail(Code::InvalidArgument, "kind {}: the key {} is one of every layer", description.name, setting.key);
  return add_foreign_kind(std::move(description), std::move(callbacks));
}

}  // namespace loom
