#pragma once
// The name Json, for headers that only mention it; core/json.h has the type.

#include <nlohmann/json_fwd.hpp>

namespace loom {

using Json = nlohmann::ordered_json;

}  // namespace loom
