#include "ops/loss/direction_loss.h"
#include "ops/loss/factor.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
struct Norm {
  T size;
  bool floored;
};

template <class T>
LOOM_INLINE Norm<T> norm_of(const T* x, std::size_t n) {
  const T squares = lanes16<T>(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    return v * v;
  });
  const T size = square_root(squares), least = static_cast<T>(kLeastNorm);
  return {size < least ? least : if_finite(size, size), size < least};
}

template <class T>
void cosine_row(const T* o, const T* t, T scale, std::size_t n, T* value, T* gradient) {
  const Norm<T> o_norm = norm_of(o, n), t_norm = norm_of(t, n);
  const Lanes<T> o_size = splat(o_norm.size), t_size = splat(t_norm.size);
  const auto u = [&](std::size_t i, auto lanes) { return snap(lanes.load(o + i) / o_size); };
  const auto v = [&](std::size_t i, auto lanes) { return snap(lanes.load(t + i) / t_size); };
  T apart = 0;  // 1 - cos
  if (o_norm.floored || t_norm.floored) {
    apart = T{1} - lanes16<T>(n, [&](std::size_t i, auto lanes) { return u(i, lanes) * v(i, lanes); });
  } else {
    apart = lanes16<T>(n,
                       [&](std::size_t i, auto lanes) {
                         const Lanes<T> d = snap(u(i, lanes) - v(i, lanes));
                         return d * d;
                       }) /
            2;
  }
  *value = apart = snap(apart);
  if (gradient != nullptr) {
    const Lanes<T> factor = splat(flush_factor(scale / o_norm.size)), d = splat(apart);
    for_lanes(n, [&](std::size_t i, auto lanes) {
      const Lanes<T> unit = u(i, lanes);
      lanes.store(gradient + i, snap(snap(snap(unit - v(i, lanes)) - d * unit) * factor));
    });
  }
}

template <class T>
void unit_row(const T* x, std::size_t n, T* unit, T* norm) {
  *norm = norm_of(x, n).size;
  const Lanes<T> size = splat(*norm);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(unit + i, snap(lanes.load(x + i) / size)); });
}

template <class T>
void unit_backward(const T* unit, const T* norm, const T* du, std::size_t n, T* dx) {
  const Lanes<T> size = splat(*norm);
  const Lanes<T> along =
      splat(snap(lanes16<T>(n, [&](std::size_t i, auto lanes) { return lanes.load(du + i) * lanes.load(unit + i); })));
  for_lanes(n, [&](std::size_t i, auto lanes) {
    lanes.store(dx + i, snap(snap(lanes.load(du + i) - along * lanes.load(unit + i)) / size));
  });
}

template <class T>
constexpr DirectionLossKernels<T> kDirectionLossKernels = {
    .cosine_row = cosine_row<T>, .unit_row = unit_row<T>, .unit_backward = unit_backward<T>};

}  // namespace

extern const PerElement<DirectionLossKernels> direction_loss_kernels;
const PerElement<DirectionLossKernels> direction_loss_kernels = {kDirectionLossKernels<float>,
                                                                 kDirectionLossKernels<double>};

}  // namespace loom::inline LOOM_TARGET
