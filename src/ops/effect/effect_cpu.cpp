#include "ops/effect/effect.h"

#include "simd/philox.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Returns whether the group's m_0 asks for anything; a NaN does not.
template <class T>
LOOM_INLINE bool acts(const EffectGroup<T>& g) {
  return g.m[0] > (g.effect == Effect::Noise ? T{0} : T{0.5});
}

// f(i, lanes, lanes of 2 u - 1, which is exact) for the elements of the group.
template <class T, class F>
LOOM_INLINE void for_noise(const EffectGroup<T>& g, F&& f) {
  const Lanes<T> one = splat(T{1});
  for_uniforms<T>(*g.stream, g.first, g.n, [&](std::size_t at, std::size_t count, const T* u) {
    for_lanes(count, [&](std::size_t i, auto lanes) {
      const Lanes<T> v = load(u + i);
      f(at + i, lanes, v + v - one);
    });
  });
}

template <class T>
LOOM_INLINE void copy_group(const T* from, std::size_t n, T* to) {
  if (to != from) __builtin_memcpy(to, from, n * sizeof(T));
}

template <class T>
LOOM_INLINE void scale_group(const T* x, T factor, std::size_t n, T* y) {
  const Lanes<T> by = splat(factor);
  for_lanes(n, [&](std::size_t i, auto lanes) { lanes.store(y + i, snap(lanes.load(x + i) * by)); });
}

template <class T>
void apply(const EffectGroup<T>& g, const T* y0, T* y) {
  if (g.effect == Effect::Gate) return scale_group(y0, *g.gate, g.n, y);
  if (!acts(g)) return copy_group(y0, g.n, y);
  if (g.effect == Effect::Noise) {
    const Lanes<T> size = splat(g.m[0]);
    return for_noise(g, [&](std::size_t i, auto lanes, const Lanes<T>& u) {
      lanes.store(y + i, snap(lanes.load(y0 + i) + size * u));
    });
  }
  const std::size_t period = g.columns - 1;
  for (std::size_t i = 0; i < g.n; i += period)
    __builtin_memcpy(y + i, g.m + 1, (g.n - i < period ? g.n - i : period) * sizeof(T));
}

template <class T>
T noise_slope(const EffectGroup<T>& g, const T* dy) {
  Chain64<T> sum;
  for_noise(g, [&](std::size_t at, auto lanes, const Lanes<T>& u) {
    alignas(64) T terms[kLanes];
    store(terms, lanes.load(dy + at) * u);
    for (std::size_t i = 0; i < kLanes && at + i < g.n; ++i) sum.add(at + i, terms[i]);
  });
  return snap(sum.total());
}

template <class T>
void backward(const EffectGroup<T>& g, const T* dy, const T* y0, T* dy0, T* dm) {
  for (std::size_t j = 0; j < g.columns; ++j) dm[j] = 0;
  if (g.effect == Effect::Gate) {
    dm[0] = snap(chain64<T>(0, g.n, [&](std::size_t i) { return dy[i] * y0[i]; }));
    return scale_group(dy, *g.gate, g.n, dy0);
  }
  if (acts(g) && g.effect == Effect::Noise) dm[0] = noise_slope(g, dy);
  if (!acts(g) || g.effect == Effect::Noise) return copy_group(dy, g.n, dy0);
  const std::size_t period = g.columns - 1;
  for (std::size_t j = 0; j < period && j < g.n; ++j)
    dm[1 + j] = snap(chain64<T>(0, (g.n - j + period - 1) / period, [&](std::size_t i) { return dy[j + i * period]; }));
  __builtin_memset(dy0, 0, g.n * sizeof(T));
}

template <class T>
constexpr EffectKernels<T> kKernels = {.apply = apply<T>, .backward = backward<T>};

}  // namespace

extern const PerElement<EffectKernels> effect_kernels;
const PerElement<EffectKernels> effect_kernels = {kKernels<float>, kKernels<double>};

}  // namespace loom::inline LOOM_TARGET
