#include "ops/l2_norm/l2_norm.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

template <class T>
void block(const T* x, T factor, const T* known, std::size_t n, T* lanes) {
  Lanes<T> sum = zeros<T>();
  if (known == nullptr) {
    for_lanes(n, [&](std::size_t i, auto part) {
      const Lanes<T> v = snap(part.load(x + i));
      sum = sum + v * v;
    });
  } else if (!is_finite(known[kNorm])) {
    const Lanes<T> factors = splat(factor);
    for_lanes(n, [&](std::size_t i, auto part) {
      const Lanes<T> v = snap(part.load(x + i) * factors);
      sum = sum + v * v;
    });
  }
  store(lanes, sum);
}

template <class T>
void root(const T* sum, T* norm) {
  norm[kNorm] = snap(square_root(*sum)), norm[kNormScale] = 1;
}

template <class T>
void shrunk(const T* sum, T* norm) {
  if (is_finite(norm[kNorm])) return;
  norm[kNorm] = snap(square_root(*sum)), norm[kNormScale] = static_cast<T>(kNormShrink);
}

// The norm over all, each brought to `scale`.
template <class T>
T norm_of_all(const T* norms, std::size_t n, T scale) {
  return snap(square_root(chain64<T>(0, n, [&](std::size_t i) {
    const T* const norm = norms + i * kNormEntries;
    const T own = norm[kNormScale] == scale ? norm[kNorm] : norm[kNorm] * scale;
    return own * own;
  })));
}

template <class T>
void clip_of(const T* norms, std::size_t n, T limit, T* clip) {
  constexpr T kShrink = static_cast<T>(kNormShrink);
  T scale = 1;
  for (std::size_t i = 0; i < n; ++i)
    if (norms[i * kNormEntries + kNormScale] != 1) scale = kShrink;
  T norm = norm_of_all(norms, n, scale);
  if (sizeof(T) == 4 && scale == 1 && !is_finite(norm)) scale = kShrink, norm = norm_of_all(norms, n, scale);
  clip[kNorm] = norm, clip[kNormScale] = scale;
  clip[kFirstFactor] = clip[kSecondFactor] = 1;
  const T most = limit * scale;
  if (limit == 0 || !(norm > most) || !is_finite(norm)) return;
  const T below = norm + static_cast<T>(kClipOffZero) * scale, factor = limit / below;
  if (scale == 1 && factor >= static_cast<T>(kClipTiny)) {
    clip[kSecondFactor] = factor;
  } else {
    clip[kFirstFactor] = static_cast<T>(kClipFirst);
    clip[kSecondFactor] = limit * (scale / static_cast<T>(kClipFirst)) / below;
  }
}

template <class T>
void scale_row(const T* clip, std::size_t n, T* x) {
  const T first = clip[kFirstFactor], second = clip[kSecondFactor];
  if (first == 1 && second == 1) return;
  const Lanes<T> by_first = splat(first), by_second = splat(second);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const Lanes<T> v = lanes.load(x + i);
    lanes.store(x + i, snap((first == 1 ? v : snap(v * by_first)) * by_second));
  });
}

template <class T>
constexpr L2NormKernels<T> kL2NormKernels = {
    .block = block<T>, .root = root<T>, .shrunk = shrunk<T>, .clip = clip_of<T>, .scale = scale_row<T>};

}  // namespace

extern const PerElement<L2NormKernels> l2_norm_kernels;
const PerElement<L2NormKernels> l2_norm_kernels = {kL2NormKernels<float>, kL2NormKernels<double>};

}  // namespace loom::inline LOOM_TARGET
