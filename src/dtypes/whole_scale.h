#pragma once
// Scales of a matrix that has one for all of it, estimated by several threads.

#include "core/thread_pool.h"
#include "dtypes/quantize.h"

namespace loom {

// estimate_scales() of dtypes/quantize.h, with the same bits.
void estimate_scales(QuantizedMatrix& to, std::span<const float> w, ThreadPool& pool);

}  // namespace loom
