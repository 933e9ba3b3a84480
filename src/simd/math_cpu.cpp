#include "simd/math.h"

#include "simd/math_kernels.h"

#define LOOM_TEXT_(x) #x
#define LOOM_TEXT(x) LOOM_TEXT_(x)

namespace loom::inline LOOM_TARGET {
namespace {

template <F32x16 (*f)(const F32x16&)>
void map(const float* x, float* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(x + i)));
  if (i == n) return;
  float rest[kLanes] = {};
  for (std::size_t j = i; j < n; ++j) rest[j - i] = x[j];
  store(rest, f(load(rest)));
  for (std::size_t j = i; j < n; ++j) y[j] = rest[j - i];
}

template <F32x16 (*f)(const F32x16&, const F32x16&)>
void map2(const float* a, const float* b, float* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(a + i), load(b + i)));
  if (i == n) return;
  float rest_a[kLanes] = {}, rest_b[kLanes] = {};
  for (std::size_t j = i; j < n; ++j) rest_a[j - i] = a[j], rest_b[j - i] = b[j];
  store(rest_a, f(load(rest_a), load(rest_b)));
  for (std::size_t j = i; j < n; ++j) y[j] = rest_a[j - i];
}

}  // namespace

extern const MathKernels math_kernels;
const MathKernels math_kernels = {
    .target = LOOM_TEXT(LOOM_TARGET),
    .exp = map<exp>,
    .expm1 = map<expm1>,
    .log = map<log>,
    .log1p = map<log1p>,
    .tanh = map<tanh>,
    .sigmoid = map<sigmoid>,
    .erf = map<erf>,
    .sin = map<sin>,
    .cos = map<cos>,
    .rsqrt = map<rsqrt>,
    .pow = map2<pow>,
};

}  // namespace loom::inline LOOM_TARGET
