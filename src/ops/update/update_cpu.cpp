#include "ops/update/rules/all.h"
#include "ops/update/update.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
constexpr UpdateKernels<T> kUpdateKernels = {.update = {
#define LOOM_UPDATE(Rule) Rule::update<T>,
#include "ops/update/rules.inc"
                                             }};

}  // namespace

extern const PerElement<UpdateKernels> update_kernels;
const PerElement<UpdateKernels> update_kernels = {kUpdateKernels<float>, kUpdateKernels<double>};

}  // namespace loom::inline LOOM_TARGET
