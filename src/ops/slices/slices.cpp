#include "ops/slices/slices.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/slices/slices_gpu.h"

namespace loom {
namespace {

SlicePlace from_slice(SlicePlace place, std::size_t first) {
  place.offset += first * place.stride;
  return place;
}

// f<T>(slices, where they begin in each tensor) over parts of them.
template <class F>
void each_run_of_slices(const Exec& exec, Slices s, Element element, SlicePlace from, SlicePlace to, F&& f) {
  with_element(element, [&]<class T>() {
    for_ranges(exec, s.count, s.width, [&](std::size_t begin, std::size_t end) {
      f.template operator()<T>(Slices{end - begin, s.width}, from_slice(from, begin), from_slice(to, begin));
    });
  });
}

}  // namespace

void move_slices(const Exec& exec, Slices s, ConstTensor from, SlicePlace from_place, Tensor to, SlicePlace to_place) {
  for (const Exec& host : dispatch(exec, [&] { gpu::move_slices(exec, s, from, from_place, to, to_place, false); }))
    each_run_of_slices(host, s, to.element, from_place, to_place,
                       [&]<class T>(Slices part, SlicePlace source, SlicePlace target) {
                         host.kernels.slices.of<T>().move(part, from.as<T>(), source, to.as<T>(), target);
                       });
}

void add_slices(const Exec& exec, Slices s, ConstTensor from, SlicePlace from_place, Tensor to, SlicePlace to_place) {
  for (const Exec& host : dispatch(exec, [&] { gpu::move_slices(exec, s, from, from_place, to, to_place, true); }))
    each_run_of_slices(host, s, to.element, from_place, to_place,
                       [&]<class T>(Slices part, SlicePlace source, SlicePlace target) {
                         host.kernels.slices.of<T>().add(part, from.as<T>(), source, to.as<T>(), target);
                       });
}

}  // namespace loom
