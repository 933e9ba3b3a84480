"""Functions of one number, recognised by what they compute."""

import math

import numpy


def _sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


_ERF = numpy.vectorize(math.erf, otypes=[numpy.float64])
_PLAIN = {
    "relu": lambda x: numpy.maximum(x, 0),
    "relu6": lambda x: numpy.clip(x, 0, 6),
    "relu2": lambda x: numpy.maximum(x, 0) ** 2,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_exact": lambda x: 0.5 * x * (1 + _ERF(x / math.sqrt(2))),
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "tanh": numpy.tanh,
    "sigmoid": _sigmoid,
    "softplus": lambda x: numpy.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + numpy.abs(x)),
    "mish": lambda x: x * numpy.tanh(numpy.logaddexp(x, 0)),
    "hard_sigmoid": lambda x: numpy.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x: x * numpy.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: numpy.clip(x, -1, 1),
    "selu": lambda x: 1.0507010 * numpy.where(x > 0, x, 1.6732632 * numpy.expm1(x)),
}


def recognise(function, shape):
    """(name, keys, axis) of a function of arrays of that shape: an activation of Loom, "affine", or "softmax" over an
    axis; None for any other."""
    size = math.prod(shape)
    if size == 0:
        return None
    draws = numpy.random.default_rng(
        1
    )  # what is drawn has no influence on what is found, but for functions made to mislead
    x = [draws.normal(0, 3, shape).astype(numpy.float32) for _ in range(max(2, -(-96 // size)))]
    y = [numpy.asarray(function(v), numpy.float64) for v in x]
    if any(v.shape != tuple(shape) for v in y):
        return None
    wide = [v.astype(numpy.float64) for v in x]

    def fits(candidate):
        return all(numpy.allclose(b, candidate(a), rtol=2e-5, atol=2e-6, equal_nan=True) for a, b in zip(wide, y))

    for name, candidate in _PLAIN.items():
        if fits(candidate):
            return name, {}, None
    a, b = numpy.concatenate([v.reshape(-1) for v in wide]), numpy.concatenate([v.reshape(-1) for v in y])
    below = a < 0
    if below.any() and not below.all() and numpy.allclose(b[~below], a[~below], rtol=1e-5):
        slope = float(numpy.mean(b[below] / a[below]))
        if fits(lambda v: numpy.where(v > 0, v, slope * v)):
            return "leakyrelu", {"leaky_slope": round(slope, 6)}, None
        alpha = float(numpy.mean(b[below] / numpy.expm1(a[below])))
        if fits(lambda v: numpy.where(v > 0, v, alpha * numpy.expm1(numpy.minimum(v, 0)))):
            return "elu", {"elu_alpha": round(alpha, 6)}, None
    for axis in range(len(shape)):

        def softmax(v, axis=axis):
            e = numpy.exp(v - v.max(axis, keepdims=True))
            return e / e.sum(axis, keepdims=True)

        if shape[axis] > 1 and fits(softmax):
            return "softmax", {}, axis
    return None
