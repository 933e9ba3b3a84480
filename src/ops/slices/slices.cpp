#include "ops/slices/slices.h"

#include <cstring>

#include "ops/all.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"

namespace loom {

void move_slices(const Exec& exec, Slices s, ConstTensor from, SlicePlace from_place, Tensor to, SlicePlace to_place) {
  with_element(to.element, [&]<class T>() {
    for_rows(exec, s.count, s.width, [&](std::size_t r) {
      const T* source = from.as<T>() + from_place.offset + r * from_place.stride;
      T* target = to.as<T>() + to_place.offset + r * to_place.stride;
      if (from_place.step == 1 && to_place.step == 1) {
        std::memcpy(target, source, s.width * sizeof(T));
      } else {
        for (std::size_t i = 0; i < s.width; ++i) target[i * to_place.step] = source[i * from_place.step];
      }
    });
  });
}

void add_slices(const Exec& exec, Slices s, ConstTensor from, SlicePlace from_place, Tensor to, SlicePlace to_place) {
  with_element(to.element, [&]<class T>() {
    const auto add_row = exec.kernels.elementwise.of<T>().add;
    for_rows(exec, s.count, s.width, [&](std::size_t r) {
      const T* source = from.as<T>() + from_place.offset + r * from_place.stride;
      T* target = to.as<T>() + to_place.offset + r * to_place.stride;
      if (from_place.step == 1 && to_place.step == 1) return add_row(target, source, s.width, target);
      for (std::size_t i = 0; i < s.width; ++i) add_row(target + i * to_place.step, source + i * from_place.step, 1, target + i * to_place.step);
    });
  });
}

}  // namespace loom
