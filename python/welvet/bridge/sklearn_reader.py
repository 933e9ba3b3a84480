"""scikit-learn: linear models, multi-layer perceptrons, PCA, scalers, and pipelines of them.

A network answers what predict_proba (classifiers), decision_function (those without it), predict (regressors) or
transform (the others) answers, always with two axes.
"""

import numpy

from . import settings
from .graph import Graph, to_model
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
    def __init__(self, model, sample, output):
        self.graph = Graph("scikit-learn", sample)
        self.graph.element = "float64"
        self.sample, self.output = sample, output
        self.root = self.graph.model = model

    def read(self):
        kind = type(self.root).__name__
        x = self.graph.input
        self.graph.output = to_model(self.graph, kind, [self.sample], lambda: self._step(self.root, x, ""))
        if self.output is not None and self.graph.chosen is None and not self.graph.unsupported:
            why = f"it has no output {self.output!r}; it has one, which output= need not name"
            self.graph.refuse("", kind, why, [x])
        if not self.graph.unsupported:
            found = to_model(self.graph, kind, [self.sample], lambda: answer(self.root, self.sample, self.output))
            self.graph.output.value = found
        return self.graph

    def _step(self, model, x, path):
        kind = type(model).__name__
        reader = getattr(self, "_" + kind, None)
        if reader is None or not is_model(model):
            return self.graph.refuse(path, kind, "Loom reads " + ", ".join(sorted(_names())), [x])
        if kind != "Pipeline" and not _is_fitted(model):
            return self.graph.refuse(path, kind, "it is not fitted yet", [x])
        refused, _ = settings.changed(settings.SKLEARN[kind], type(model), lambda name: getattr(model, name))
        for name, value in refused:
            self.graph.refuse(path, kind, f"{name}={value!r}", [x])
        return reader(model, x, path or kind)

    def _refused(self, model, x, path, why):
        kind = type(model).__name__
        return self.graph.refuse("" if path == kind else path, kind, why, [x])

    def _answers(self, model, x, path):
        """The output of a classifier that is read, "predict_proba" or "decision_function"; or None."""
        known = [name for name in ("predict_proba", "decision_function") if hasattr(model, name)]
        name = self.output or known[0]
        if name not in known:
            self._refused(model, x, path, f"it has no output {name!r}; it has {', '.join(known)}")
            return None
        if self.output:
            self.graph.chosen = self.output
        return name

    def _Pipeline(self, model, x, path):
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

    def _StandardScaler(self, model, x, path):
        if model.with_mean:
            x = self._shifted(x, _attribute(model, "mean_", path), path, -1)
        if model.with_std:
            x = self._scaled(x, _attribute(model, "scale_", path), path, True)
        return x

    def _clipped(self, x, low, high, path):
        middle, half = (low + high) / 2, (high - low) / 2
        x = self.graph.scale(x, 1 / half, -middle / half, path)
        return self.graph.scale(self.graph.activation(x, "hard_tanh", path), half, middle, path)

    def _MinMaxScaler(self, model, x, path):
        x = self._scaled(x, _attribute(model, "scale_", path), path, False)
        x = self._shifted(x, _attribute(model, "min_", path), path, 1)
        return self._clipped(x, *model.feature_range, path) if model.clip else x

    def _MaxAbsScaler(self, model, x, path):
        return self._scaled(x, _attribute(model, "scale_", path), path, True)

    def _RobustScaler(self, model, x, path):
        if model.with_centering:
            x = self._shifted(x, _attribute(model, "center_", path), path, -1)
        return self._scaled(x, _attribute(model, "scale_", path), path, True) if model.with_scaling else x

    def _TruncatedSVD(self, model, x, path):
        components = View(_attribute(model, "components_", path))
        return self.graph.dense(x, components, None, model.components_.shape[0], path, frozen=True)

    def _PCA(self, model, x, path):
        x = self._shifted(x, _attribute(model, "mean_", path), path, -1)
        components = View(_attribute(model, "components_", path))
        x = self.graph.dense(x, components, None, model.components_.shape[0], path, frozen=True)
        if model.whiten:
            spread = Constant(1 / numpy.sqrt(model.explained_variance_).reshape(-1, 1, 1))
            x = self.graph.features(x, spread, None, path)
        return x

    # Linear models.

    def _affine(self, model, x, path):
        if hasattr(model.coef_, "tocsr"):
            return self._refused(model, x, path, "sparse coefficients; densify() makes them plain ones")
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

    # Their fit() differs, their predict() is the same.
    _LinearRegression = _Ridge = _Lasso = _ElasticNet = _SGDRegressor = _affine

    def _LogisticRegression(self, model, x, path):
        count, scores = len(model.classes_), self._affine(model, x, path)
        if self._answers(model, x, path) == "decision_function":
            return scores
        rule = getattr(model, "multi_class", None)  # of versions before 1.8
        if count > 2 and (model.solver == "liblinear" or rule == "ovr") or count == 2 and rule == "multinomial":
            why = 'probabilities of one class against the rest; output="decision_function" reads the scores'
            return self._refused(model, x, path, why)
        return self._classes(scores, count, path)

    def _SGDClassifier(self, model, x, path):
        scores, name = self._affine(model, x, path), self._answers(model, x, path)
        if name == "decision_function" or name is None:
            return scores
        if model.loss != "log_loss" or len(model.classes_) > 2:
            what = f"probabilities of loss={model.loss!r} with {len(model.classes_)} classes"
            return self._refused(model, x, path, f'{what}; output="decision_function" reads the scores')
        return self._classes(scores, 2, path)

    def _RidgeClassifier(self, model, x, path):
        self._answers(model, x, path)
        return self._affine(model, x, path)

    _LinearSVC = _RidgeClassifier

    def _classes(self, x, count, path):
        """Probabilities from scores. A binary classifier has one score z: both classes are the softmax of -z / 2 and z
        / 2."""
        if count == 2 and x.shape[-1] == 1:
            x = self.graph.dense(x, Constant(numpy.array([[-0.5], [0.5]], numpy.float32)), None, 2, path, frozen=True)
        return self.graph.activation(x, "softmax", path)

    # Perceptrons.

    def _perceptron(self, model, x, path):
        last = len(model.coefs_) - 1
        if model.activation not in _ACTIVATIONS:
            return self._refused(model, x, path, f"activation={model.activation!r}")
        for i in range(last + 1):
            weight, bias = transposed(_entry(model, "coefs_", i, path)), View(_entry(model, "intercepts_", i, path))
            x = self.graph.dense(x, weight, bias, model.coefs_[i].shape[1], f"{path}.{i}")
            if i < last and _ACTIVATIONS[model.activation]:
                x = self.graph.activation(x, _ACTIVATIONS[model.activation], f"{path}.{i}")
        return x

    def _activated(self, model, x, path, known):
        """The output's function, which has to be one of those that are known."""
        name = model.out_activation_
        if name not in known:
            why = f"out_activation_={name!r} (loss={model.loss!r}): Loom has {', '.join(known)}"
            return self._refused(model, x, path, why)
        return self.graph.activation(x, _ACTIVATIONS[name], path) if _ACTIVATIONS[name] else x

    def _MLPRegressor(self, model, x, path):
        return self._activated(model, self._perceptron(model, x, path), path, ("identity", "logistic", "tanh", "relu"))

    def _MLPClassifier(self, model, x, path):
        x = self._perceptron(model, x, path)
        if model.out_activation_ == "logistic" and x.shape[-1] == 1:
            return self._classes(x, 2, path)
        return self._activated(model, x, path, ("logistic", "softmax"))


def _names():
    return [name[1:] for name in vars(_Reader) if name[1:2].isupper()]


def _is_fitted(model):
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


_METHODS = ("predict_proba", "decision_function", "predict", "transform")


def answer(model, sample, output=None):
    """The answer of the model itself, with two axes."""
    for name in [output] if output else _METHODS:
        if hasattr(model, name):
            found = numpy.asarray(getattr(model, name)(sample))
            return found.reshape(-1, 1) if found.ndim == 1 else found
    raise TypeError(f"{type(model).__name__} neither predicts nor transforms")


def read(model, sample, output=None):
    """output: "decision_function" reads the scores of a classifier in place of its probabilities."""
    return _Reader(model, numpy.asarray(sample), output).read()
