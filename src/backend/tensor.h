#pragma once
// Tensors as ops take them: an address, extents and the element type. They own nothing.

#include <cstddef>

#include "backend/element.h"
#include "core/shape.h"

namespace loom {

// Row-major: rows are everything but the last axis.
struct ConstTensor {
  const void* data = nullptr;
  std::size_t rows = 0, cols = 0;
  Element element = Element::f32;

  template <class T = float>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  template <class T = float>
  const T* row(std::size_t r) const {
    return as<T>() + r * cols;
  }
};
struct Tensor {
  void* data = nullptr;
  std::size_t rows = 0, cols = 0;
  Element element = Element::f32;

  template <class T = float>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <class T = float>
  T* row(std::size_t r) const {
    return as<T>() + r * cols;
  }
  operator ConstTensor() const { return {data, rows, cols, element}; }
  std::size_t bytes() const { return rows * cols * bytes_of(element); }
};

// Element i of a tensor of figures, for the host: after a pass, never inside one.
inline double read_element(const ConstTensor& tensor, std::size_t i = 0) {
  return with_element(tensor.element, [&]<class T>() { return static_cast<double>(tensor.as<T>()[i]); });
}

// Tensors with all axes, as layers pass them; ops that work on features take them as rows.
struct ConstView {
  const void* data = nullptr;
  Shape shape;
  Element element = Element::f32;
  operator ConstTensor() const { return {data, shape.rows(), shape.cols(), element}; }
  template <class T = float>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};
struct View {
  void* data = nullptr;
  Shape shape;
  Element element = Element::f32;
  operator Tensor() const { return {data, shape.rows(), shape.cols(), element}; }
  operator ConstTensor() const { return {data, shape.rows(), shape.cols(), element}; }
  operator ConstView() const { return {data, shape, element}; }
  template <class T = float>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::size_t bytes() const { return shape.elements() * bytes_of(element); }
};

}  // namespace loom
