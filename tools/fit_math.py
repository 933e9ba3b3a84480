#!/usr/bin/env python3
"""Minimax polynomials for src/simd/math.h and math64.h (mpmath 1.3): tools/fit_math.py [name...] prints coefficients, lowest first.

Each row of FITS approximates `target` by a polynomial in `var`; the error is measured after multiplying by `weight`, so that it
reads as the relative error of the whole function. Coefficients are rounded one by one, lowest first, and the rest is refitted.
"""
import sys
from mpmath import mp, mpf

mp.dps = 60


def solve(points, target, weight, var, fixed, degree):
    """One Remez step: coefficients of the free powers with an equal, alternating weighted error at the points."""
    free = range(len(fixed), degree + 1)
    a = mp.matrix(len(points), len(points))
    b = mp.matrix(len(points), 1)
    for i, x in enumerate(points):
        v, w = var(x), weight(x)
        for j, k in enumerate(free):
            a[i, j] = w * v**k
        a[i, len(points) - 1] = (-1) ** i
        b[i] = w * (target(x) - sum(c * v**k for k, c in enumerate(fixed)))
    s = mp.lu_solve(a, b)
    return list(fixed) + [s[j] for j in range(len(free))]


def remez(target, weight, var, lo, hi, fixed, degree, rounds=8, grid=400):
    count = degree + 1 - len(fixed) + 1
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    points = [mid - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    xs = [mid - half * mp.cos(mp.pi * (i + mpf(1) / 2) / grid) for i in range(grid)]
    exact = [target(x) for x in xs]
    weights = [weight(x) for x in xs]
    powers = [var(x) for x in xs]
    for _ in range(rounds):
        coefficients = solve(points, target, weight, var, fixed, degree)
        errors = [w * (mp.polyval(coefficients[::-1], v) - t) for w, v, t in zip(weights, powers, exact)]
        peaks = []  # the largest error of every run of one sign
        for x, e in zip(xs, errors):
            if peaks and (e > 0) == (peaks[-1][1] > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        worst = max(abs(e) for e in errors)
        while len(peaks) > count:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < count:
            break
        points = [p[0] for p in peaks]
    return coefficients, worst


def round_to(x, bits):
    if x == 0:
        return mpf(0)
    e = mp.floor(mp.log(abs(x), 2))
    scale = mpf(2) ** (bits - 1 - e)
    return mp.nint(x * scale) / scale


def fit(target, weight, var, lo, hi, degree, bits):
    xs = [lo + (hi - lo) * i / 997 for i in range(998)]
    table = [(var(x), weight(x), target(x)) for x in xs]

    def error(c):
        return max(abs(w * (mp.polyval(c[::-1], v) - t)) for v, w, t in table)

    best, _ = remez(target, weight, var, lo, hi, [], degree)
    for k in range(degree + 1):
        best[k] = round_to(best[k], bits)
        if k < degree:  # a weight with a zero inside the interval can make the exchange fail: keep what is better
            other, _ = remez(target, weight, var, lo, hi, best[: k + 1], degree)
            best = min(best, other, key=error)
    return best, error(best)


def small(x):  # a removable singularity at 0
    return mpf(2) ** -20 if x == 0 else x


ident = lambda x: x
square = lambda x: x * x


def wrap(f):
    return lambda x: f(small(mpf(x)))


def log_tail(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3


H = mp.log(2) / 2 + mpf(2) ** -20
FITS = {
    # name: target, weight, var, lo, hi, degree, bits
    "exp": (lambda r: (mp.expm1(r) - r) / r**2, lambda r: r * r / mp.exp(r), ident, -H, H, 4, 24),
    "tanh": (lambda x: (mp.tanh(x) - x) / x**3, lambda x: x**3 / mp.tanh(x), square, mpf(0), mpf("0.5625"), 4, 24),
    "log": (log_tail, lambda f: f**3 / mp.log1p(f), ident, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8, 24),
    "sin": (lambda x: (mp.sin(x) - x) / x**3, lambda x: x**3 / mp.sin(x), square, mpf(0), mp.pi / 4, 3, 24),
    "cos": (lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, lambda x: x**4 / mp.cos(x), square, mpf(0), mp.pi / 4, 2, 24),
    "erf_small": (lambda x: mp.erf(x) / x - 1, lambda x: x / mp.erf(x), square, mpf(0), mpf(1), 6, 24),
    "erf_large": (lambda x: mp.log(mp.erfc(x)), lambda x: mp.erfc(x) / mp.erf(x), ident, mpf(1), mpf("3.9"), 7, 24),
    "log2": (lambda s: (2 * mp.atanh(s) / mp.log(2) / s - (2 + s * s * 2 / 3) / mp.log(2)) / s**4, lambda s: s**4 / 3, square,
             mpf(0), mpf("0.172"), 2, 24),
    "exp64": (lambda r: (mp.expm1(r) - r) / r**2, lambda r: r * r / mp.exp(r), ident, -H, H, 10, 53),
    "log64": (lambda s: (2 * mp.atanh(s) / s - 2 - s * s * 2 / 3) / s**4, lambda s: s**4 / 2, square, mpf(0), mpf("0.172"), 7, 53),
    "sin64": (lambda x: (mp.sin(x) - x) / x**3, lambda x: x**3 / mp.sin(x), square, mpf(0), mp.pi / 4, 6, 53),
    "cos64": (lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, lambda x: x**4 / mp.cos(x), square, mpf(0), mp.pi / 4, 5, 53),
    "erf64_small": (lambda x: mp.erf(x) / x - 1, lambda x: x / mp.erf(x), square, mpf(0), mpf(1), 12, 53),
    "erf64_large": (lambda x: mp.log(mp.erfc(x)), lambda x: mp.erfc(x) / mp.erf(x), lambda x: x - 1, mpf(1), mpf(6), 18, 53),
}


def main():
    for name in sys.argv[1:] or FITS:
        target, weight, var, lo, hi, degree, bits = FITS[name]
        c, worst = fit(wrap(target), wrap(weight), wrap(var), lo, hi, degree, bits)
        print(f"{name}: degree {degree}, error 2^{mp.nstr(mp.log(worst, 2), 5)}")
        for x in c:
            print(f"  {float(x).hex()}")


if __name__ == "__main__":
    main()
