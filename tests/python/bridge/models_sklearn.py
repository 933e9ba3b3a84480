"""scikit-learn models that the bridge is tested with: cases() gives (name, model, sample)."""

import warnings

import numpy
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

warnings.filterwarnings("ignore", message=".*converge.*")


def _data():
    draws = numpy.random.RandomState(42)
    x = draws.randn(200, 6) * 3 + 1
    three = (x[:, 0] + x[:, 1] > 1).astype(int) + (x[:, 2] > 3)
    return x, three, three > 0, x @ draws.randn(6, 2) + draws.randn(200, 2) * 0.1


def cases():
    x, three, two, numbers = _data()
    some, seed = x[:20], {"random_state": 0, "max_iter": 30}
    square = MLPRegressor(hidden_layer_sizes=(6, 6), activation="relu", **seed)
    yield "dense", MLPRegressor(hidden_layer_sizes=(16, 8), activation="logistic", **seed).fit(x, numbers), some
    yield "square", square.fit(x, numbers), some
    yield "classes", MLPClassifier((8, 5), **seed).fit(x, three), some
    yield "two_classes", MLPClassifier((8,), activation="tanh", **seed).fit(x, two), some
    yield "labels", MLPClassifier((8,), **seed).fit(x, numpy.stack([two, ~two, three > 1], 1).astype(int)), some
    yield "linear", LinearRegression().fit(x, numbers), some
    yield "one_number", LinearRegression().fit(x, numbers[:, 0]), some
    yield "ridge", Ridge(fit_intercept=False).fit(x, numbers), some
    yield "logistic", LogisticRegression().fit(x, three), some
    yield "logistic_two", LogisticRegression().fit(x, two), some
    yield "pca", PCA(3).fit(x), some
    yield "whitened", PCA(3, whiten=True).fit(x), some
    yield "far_from_zero", StandardScaler().fit(x * 100 + 5000), some * 100 + 5000
    yield "scaled", MinMaxScaler((-1, 1)).fit(x), some
    yield "pipeline", make_pipeline(StandardScaler(), PCA(4), MLPClassifier((7,), **seed)).fit(x, three), some


def further():
    """What has no golden files."""
    x, three, two, numbers = _data()
    some = x[:20]
    for model in (Lasso(0.01), ElasticNet(0.01), Ridge(), LinearRegression(fit_intercept=False)):
        yield type(model).__name__, model.fit(x, numbers), some
    yield "large", LinearRegression().fit(x, numbers * 1e4 + 5e5), some
    yield "sgd", SGDRegressor(random_state=0).fit(x, numbers[:, 0]), some
    for labels in (two, three):
        for model in (RidgeClassifier(), LinearSVC(random_state=0), SGDClassifier(random_state=0)):
            yield type(model).__name__, model.fit(x, labels), some
    yield "sgd_log", SGDClassifier(loss="log_loss", random_state=0).fit(x, two), some
    yield "robust", RobustScaler().fit(x), some
    yield "robust_only_scale", RobustScaler(with_centering=False).fit(x), some
    yield "largest", MaxAbsScaler().fit(x), some
    yield "clipped", MinMaxScaler((-2, 1), clip=True).fit(x), some * 3
    yield "svd", TruncatedSVD(3, random_state=0).fit(x), some


def refused():
    """(model, sample, what is said)."""
    x, three, two, numbers = _data()
    some, seed = x[:5], {"random_state": 0, "max_iter": 30}
    counts = numpy.abs(numbers[:, 0])
    yield (
        MLPRegressor(loss="poisson", hidden_layer_sizes=(4,), **seed).fit(x, counts),
        some,
        r"MLPRegressor: out_activation_='exp' \(loss='poisson'\)",
    )
    yield SVC().fit(x, two), some, "^Unsupported: 1 part of the model cannot be streamed: the model: SVC: Loom reads "
    yield SGDClassifier(loss="log_loss").fit(x, three), some, 'output="decision_function" reads the scores'
    yield SGDClassifier(loss="modified_huber").fit(x, two), some, "probabilities of loss='modified_huber'"
    yield SGDClassifier().fit(x, two).sparsify(), some, "sparse coefficients"
    yield (
        TransformedTargetRegressor(Ridge(), func=numpy.cbrt, inverse_func=lambda y: y**3).fit(x, numbers),
        some,
        "Loom reads",
    )
    yield Ridge().fit(x, numbers), some[:, :4], r"it does not take the sample \(\[5, 4\] float64\): ValueError"
    yield Ridge(), some, "Ridge: it is not fitted yet"


def answer(model, sample):
    for name in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, name):
            found = numpy.asarray(getattr(model, name)(sample))
            return found.reshape(len(sample), -1)
    raise AssertionError(model)


def state(model):
    if hasattr(model, "steps"):
        return [state(step) for _, step in model.steps]
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return [
        repr(numpy.asarray(v).tobytes())
        for k, v in sorted(fitted.items())
        if k in ("coef_", "intercept_", "mean_", "scale_", "min_", "center_", "components_")
    ] + [a.tobytes() for k in ("coefs_", "intercepts_") for a in fitted.get(k, [])]


def unsupported():
    x, three, _, _ = _data()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(2), memory=None).fit(x, three)
    return model, x[:5], {"randomforestclassifier"}


def trained():
    return ()
