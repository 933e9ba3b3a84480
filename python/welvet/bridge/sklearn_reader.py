"""scikit-learn: linear models, multi-layer perceptrons, PCA, scalers, and pipelines of them.

A network answers what predict_proba (classifiers), predict (regressors) or transform (the others) answers, always with
two axes.
"""

import numpy

from .graph import Graph
from .weights import Constant, Derived, Parameter, View, transposed

_ACTIVATIONS = {"identity": None, "logistic": "sigmoid", "tanh": "tanh", "relu": "relu", "softmax": "softmax"}


def is_model(model):
    return type(model).__module__.split(".")[0] == "sklearn" and hasattr(model, "get_params")


def _attribute(owner, name, path):
    """A fitted array that is an attribute."""
    return Parameter(
        (id(owner), name),
        lambda: numpy.asarray(getattr(owner, name)),
        lambda array: setattr(owner, name, array.astype(getattr(owner, name).dtype)),
        f"{path}.{name}",
    )


def _entry(owner, name, index, path):
    """One array of a list of arrays."""

    def write(array):
        getattr(owner, name)[index] = array.astype(getattr(owner, name)[index].dtype)

    return Parameter((id(owner), name, index), lambda: getattr(owner, name)[index], write, f"{path}.{name}[{index}]")


class _Reader:
    def __init__(self, model, sample):
        self.graph = Graph("scikit-learn", sample)
        self.sample = sample
        self.root = self.graph.model = model

    def read(self):
        x = self.graph.input
        self.graph.output = self._step(self.root, x, "")
        if not self.graph.unsupported:
            self.graph.output.value = answer(self.root, self.sample)
        return self.graph

    def _step(self, model, x, path):
        kind = type(model).__name__
        reader = getattr(self, "_" + kind, None)
        if reader is None:
            return self.graph.refuse(path or kind, kind, "Loom reads " + ", ".join(sorted(_names())), [x])
        if kind != "Pipeline" and not _is_fitted(model):
            return self.graph.refuse(path or kind, kind, "it is not fitted yet", [x])
        return reader(model, x, path or kind)

    def _Pipeline(self, model, x, path):  # noqa: N802, the name of the class that is read
        value = self.sample if x is self.graph.input else x.value
        for name, step in model.steps:
            if step is None or step == "passthrough":
                continue
            x = self._step(step, x, f"{path}.{name}" if path != "Pipeline" else name)
            if value is not None and hasattr(step, "transform") and not self.graph.unsupported:
                value = x.value = step.transform(value)
        return x

    # Scalers: two layers, since x - mean is exact where the mean is large, and then small numbers are scaled.

    def _shifted(self, x, parameter, path, sign):
        bias = Derived(lambda: sign * parameter.get(), lambda values: parameter.set(sign * values), parameter.name)
        return self.graph.features(x, None, bias, path)

    def _scaled(self, x, parameter, path, inverse):
        def read():
            scale = parameter.get()
            return (1 / scale if inverse else scale).reshape(-1, 1, 1)

        def write(values):
            parameter.set((1 / values if inverse else values).reshape(-1))

        return self.graph.features(x, Derived(read, write, parameter.name), None, path)

    def _StandardScaler(self, model, x, path):  # noqa: N802
        if model.with_mean:
            x = self._shifted(x, _attribute(model, "mean_", path), path, -1)
        if model.with_std:
            x = self._scaled(x, _attribute(model, "scale_", path), path, True)
        return x

    def _MinMaxScaler(self, model, x, path):  # noqa: N802
        if model.clip:
            return self.graph.refuse(path, "MinMaxScaler", "clip=True", [x])
        x = self._scaled(x, _attribute(model, "scale_", path), path, False)
        return self._shifted(x, _attribute(model, "min_", path), path, 1)

    def _PCA(self, model, x, path):  # noqa: N802
        x = self._shifted(x, _attribute(model, "mean_", path), path, -1)
        components = View(_attribute(model, "components_", path))
        x = self.graph.dense(x, components, None, model.components_.shape[0], path, frozen=True)
        if model.whiten:
            spread = Constant(1 / numpy.sqrt(model.explained_variance_).reshape(-1, 1, 1))
            x = self.graph.features(x, spread, None, path)
        return x

    # Linear models.

    def _affine(self, model, x, path):
        coefficients = numpy.atleast_2d(model.coef_)
        weight = View(
            _attribute(model, "coef_", path), "matrix", lambda a: a if a.ndim == 2 else a[None], coefficients.shape
        )
        bias = None
        if model.fit_intercept:
            intercept = _attribute(model, "intercept_", path)

            def write(values):
                if numpy.ndim(model.intercept_) == 0:
                    model.intercept_ = type(model.intercept_)(values[0])
                else:
                    intercept.set(values)

            bias = Derived(lambda: numpy.broadcast_to(intercept.get(), coefficients.shape[:1]), write, intercept.name)
        return self.graph.dense(x, weight, bias, coefficients.shape[0], path)

    def _LinearRegression(self, model, x, path):  # noqa: N802
        return self._affine(model, x, path)

    def _Ridge(self, model, x, path):  # noqa: N802
        return self._affine(model, x, path)

    def _LogisticRegression(self, model, x, path):  # noqa: N802
        if len(model.classes_) > 2 and (model.solver == "liblinear" or getattr(model, "multi_class", None) == "ovr"):
            return self.graph.refuse(path, "LogisticRegression", "one against the rest with several classes", [x])
        return self._classes(self._affine(model, x, path), len(model.classes_), path)

    def _classes(self, x, count, path):
        """Probabilities from scores. A binary classifier has one score z: both classes are the softmax of -z / 2 and z
        / 2."""
        if count == 2 and x.shape[-1] == 1:
            x = self.graph.dense(x, Constant(numpy.array([[-0.5], [0.5]], numpy.float32)), None, 2, path, frozen=True)
        return self.graph.activation(x, "softmax", path)

    # Perceptrons.

    def _perceptron(self, model, x, path):
        last = len(model.coefs_) - 1
        for i in range(last + 1):
            weight, bias = transposed(_entry(model, "coefs_", i, path)), View(_entry(model, "intercepts_", i, path))
            x = self.graph.dense(x, weight, bias, model.coefs_[i].shape[1], f"{path}.{i}")
            if i < last and _ACTIVATIONS[model.activation]:
                x = self.graph.activation(x, _ACTIVATIONS[model.activation], f"{path}.{i}")
        return x

    def _MLPRegressor(self, model, x, path):  # noqa: N802
        x = self._perceptron(model, x, path)
        name = _ACTIVATIONS.get(model.out_activation_)
        return self.graph.activation(x, name, path) if name else x

    def _MLPClassifier(self, model, x, path):  # noqa: N802
        x = self._perceptron(model, x, path)
        if model.out_activation_ == "logistic" and x.shape[-1] == 1:
            return self._classes(x, 2, path)
        return self.graph.activation(x, _ACTIVATIONS[model.out_activation_], path)


def _names():
    return [name[1:] for name in vars(_Reader) if name[1:2].isupper()]


def _is_fitted(model):
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def answer(model, sample):
    """What the model itself says, with two axes."""
    for name in ("predict_proba", "predict", "transform"):
        if hasattr(model, name):
            found = numpy.asarray(getattr(model, name)(sample))
            return found.reshape(-1, 1) if found.ndim == 1 else found
    raise TypeError(f"{type(model).__name__} neither predicts nor transforms")


def read(model, sample):
    return _Reader(model, numpy.asarray(sample)).read()
