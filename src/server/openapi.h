#pragma once
// The OpenAPI 3.1 description of the paths that are served, made from the tables that requests are read by.

#include "core/json.h"

namespace loom::server {

Json openapi_json();

}  // namespace loom::server
