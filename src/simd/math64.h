#pragma once
// Elementary functions in f64, for angles of rotary embeddings, sampling and statistics: libm differs between systems. Scalar,
// written sequences of + - * /, compares, integers and bit casts; at most 2 ulp (measured: docs/math_errors.md). The rules of
// math.h hold: a subnormal input counts as 0, a result below 2^-1022 in size is +0, no result is -0, NaN is 0x7ff8000000000000.
// For log, sin, cos and pow the intermediates of arguments above 2^-900 in size are normal or too small to matter.

namespace loom {

double exp64(double x);
double log64(double x);
double sin64(double x);  // any finite argument is reduced exactly; NaN for infinities
double cos64(double x);
double pow64(double x, double y);  // special cases of IEEE 754 pow, but no negative zero comes out

}  // namespace loom
