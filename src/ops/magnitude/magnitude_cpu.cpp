#include "ops/magnitude/magnitude.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Looks at sign-free upper halves as 16-bit integers, of which compilers compare eight at once on any machine.
template <class T>
void bound_of(const T* x, std::size_t n, T* bound) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int kBelow = sizeof(T) * 8 - 16;
  constexpr std::int16_t kInfinite = sizeof(T) == 8 ? 0x7ff0 : 0x7f80;
  std::int16_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto half = static_cast<std::int16_t>(__builtin_bit_cast(Bits, x[i]) >> kBelow & 0x7fff);
    largest = half > largest ? half : largest;
  }
  if (largest >= kInfinite)
    *bound = std::numeric_limits<T>::infinity();
  else if (largest + 1 == kInfinite)
    *bound = std::numeric_limits<T>::max();
  else
    *bound = __builtin_bit_cast(T, static_cast<Bits>(largest + 1) << kBelow);
}

template <class T>
void largest_of(const T* bounds, std::size_t n, T* bound) {
  T largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = bounds[i] > largest ? bounds[i] : largest;
  *bound = largest;
}

template <class T>
void check(const T* x, std::size_t n, float* failed) {
  std::uint32_t found = 0;  // no early exit, so that compilers look at many at once
  for (std::size_t i = 0; i < n; ++i) found |= !is_finite(x[i]);
  if (found != 0) *failed = 1;
}

template <class T>
constexpr MagnitudeKernels<T> kMagnitudeKernels = {.bound = bound_of<T>, .largest = largest_of<T>, .check = check<T>};

}  // namespace

extern const PerElement<MagnitudeKernels> magnitude_kernels;
const PerElement<MagnitudeKernels> magnitude_kernels = {kMagnitudeKernels<float>, kMagnitudeKernels<double>};

}  // namespace loom::inline LOOM_TARGET
