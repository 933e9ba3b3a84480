#pragma once
// Elementary functions in f64, for f64 tensors, angles of rotary embeddings, sampling and statistics: libm differs
// between systems. Scalar, written sequences of + - * /, compares, integers and bit casts; at most 2 ulp (measured:
// docs/internals/math_errors.md). The rules of math.h hold: a subnormal input counts as 0, a result below 2^-1022 in
// size is +0, no result is -0, NaN is 0x7ff8000000000000. No operation whose result would be subnormal can change a
// result bit (tested with FTZ+DAZ).

namespace loom {

double exp64(double x);
double expm1_64(double x);
double log64(double x);
double log1p64(double x);
double tanh64(double x);
double sigmoid64(double x);
double erf64(double x);
double sin64(double x);  // any finite argument is reduced exactly; NaN for infinities
double cos64(double x);
double pow64(double x, double y);  // special cases of IEEE 754 pow, but no negative zero comes out

}  // namespace loom
