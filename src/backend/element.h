#pragma once
// Element types of activation and gradient tensors.

#include <cstddef>
#include <cstdint>

namespace loom {

// f64 is for checks and for networks that ask for it.
enum class Element : std::uint8_t { f32, f64 };
template <class T>
inline constexpr Element element_of = sizeof(T) == 8 ? Element::f64 : Element::f32;
constexpr std::size_t bytes_of(Element e) { return e == Element::f64 ? 8 : 4; }

// Calls f<T>() with the type of the elements.
template <class F>
decltype(auto) with_element(Element e, F&& f) {
  return e == Element::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

// One table of kernels per element type.
template <template <class> class Kernels>
struct PerElement {
  Kernels<float> f32;
  Kernels<double> f64;
  template <class T>
  const Kernels<T>& of() const {
    if constexpr (sizeof(T) == 8)
      return f64;
    else
      return f32;
  }
};

}  // namespace loom
