#pragma once
// The tables of kernels whose lanes write shaders (simd/record/trace.h). A table can be used once its file is RECORDED
// in CMakeLists.txt; of those per element type, f32.

#include "ops/all.h"

namespace loom::record {

#define LOOM_KERNELS(name, Kernels) extern const Kernels name##_kernels;
#define LOOM_ELEMENT_KERNELS(name, Kernels) extern const PerElement<Kernels> name##_kernels;
#include "ops/kernels.inc"

}  // namespace loom::record
