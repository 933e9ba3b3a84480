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

}  // namespace

extern const MathKernels math_kernels;
const MathKernels math_kernels = {
    .target = LOOM_TEXT(LOOM_TARGET),
    .exp = map<exp>,
    .log = map<log>,
    .tanh = map<tanh>,
    .sigmoid = map<sigmoid>,
    .rsqrt = map<rsqrt>,
};

}  // namespace loom::inline LOOM_TARGET
