#pragma once
// The part of src/simd/simd64.h that kernels of the target `record` need: shaders have no f64.

#include <type_traits>

#include "simd/math64.h"
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  using type = F32x16;
};
template <class T>
using Lanes = typename LanesOf<T>::type;
template <class T>
LOOM_INLINE Lanes<T> zeros() {
  return {};
}

template <class Table>
constexpr Table per_element(auto make) {
  const auto f32 = make.template operator()<float>();
  return {f32, {}};
}

}  // namespace loom::inline LOOM_TARGET
