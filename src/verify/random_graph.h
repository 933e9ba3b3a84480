#pragma once
// Random layers of the kind "graph": products of an Einsum, and operations with bodies (Loop, Scan, If).

#include "core/shape.h"
#include "core/json.h"
#include "verify/draw.h"

namespace loom {

struct RandomGraph {
  Json layer;
  Shape input, output;  // with the batch first
};

RandomGraph random_einsum(Draw& draw);
RandomGraph random_loop(Draw& draw);

}  // namespace loom
