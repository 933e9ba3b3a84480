#pragma once
// Slices of tensors moved into or out of wider ones: what concatenation and scattering are made of.

#include "backend/exec.h"

namespace loom {

// `count` slices of `width` elements. Slice r begins at r * stride; its elements are `step` apart. In elements.
struct SlicePlace {
  std::size_t offset = 0, stride = 0, step = 1;
};
struct Slices {
  std::size_t count = 0, width = 0;
};

// to[r][i] = from[r][i]
void move_slices(const Exec& exec, Slices slices, ConstTensor from, SlicePlace from_place, Tensor to,
                 SlicePlace to_place);
// to[r][i] = snap(to[r][i] + from[r][i])
void add_slices(const Exec& exec, Slices slices, ConstTensor from, SlicePlace from_place, Tensor to,
                SlicePlace to_place);

template <class T>
struct SlicesKernels {
  void (*move)(Slices slices, const T* from, SlicePlace from_place, T* to, SlicePlace to_place);
  void (*add)(Slices slices, const T* from, SlicePlace from_place, T* to, SlicePlace to_place);
};

}  // namespace loom
