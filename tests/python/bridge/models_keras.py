"""Keras models that the bridge is tested with: the bedrocks that Keras has, both mixers, and what only some models
have.

cases() gives (name, model, sample), with weights from fixed seeds.
"""

import keras
import numpy
from keras import layers
from welvet.bridge import settings

_draws = numpy.random.RandomState(42)


def _normal(*shape):
    return _draws.randn(*shape).astype("float32")


def _drawn(model, sample):
    """Gives all weights and statistics values that matter."""
    model(sample)
    for weight in model.weights:
        if "seed" in weight.path:
            continue
        values = _draws.randn(*weight.shape) * 0.3
        weight.assign(numpy.abs(values) + 0.5 if "variance" in weight.path else values)
    return model


def _swiglu(x, width, inner):
    gate, up = layers.Dense(inner, activation="silu")(x), layers.Dense(inner)(x)
    return layers.Dense(width)(gate * up)


def _model(shape, function, dtype=None):
    start = keras.Input(shape, dtype=dtype)
    return keras.Model(start, function(start))


def _start(x):
    """The convolutions of both mixers, channels behind."""
    x = layers.Dense(8)(layers.Flatten()(layers.Conv3D(2, 2)(x)))
    x = layers.Conv2D(2, 2)(layers.Reshape((2, 4, 1))(x))
    x = layers.Dense(8, activation="relu")(layers.Flatten()(x))
    x = layers.Conv1D(4, 8)(layers.Reshape((8, 1))(x))
    return layers.Dense(8)(layers.Flatten()(x))


def _attend(x):
    return layers.MultiHeadAttention(2, 2)(x, x, use_causal_mask=True)


def _end(x):
    x = layers.LSTM(4, return_sequences=True)(layers.SimpleRNN(4, return_sequences=True)(x))
    return layers.Dense(8)(layers.Flatten()(x))


def _mixer_v1(x):
    return _end(_attend(layers.Reshape((2, 4))(_start(x))))


def _mixer_v2(x):
    ids = layers.Flatten()(layers.MaxPooling3D((1, 2, 2))(x))
    x = layers.Embedding(16, 4)(ids)
    x = layers.Add()([_attend(layers.LayerNormalization()(x)), x])
    x = layers.Add()([_swiglu(layers.RMSNormalization()(x), 4, 8), x])
    return _end(x)


def _all():
    chain = keras.Sequential
    yield (
        "dense",
        chain(
            [
                layers.Dense(64, "relu"),
                layers.Dense(32, "tanh"),
                layers.Dense(32, "sigmoid", use_bias=False),
                layers.Dense(8, "softmax"),
            ]
        ),
        _normal(7, 32),
    )
    yield "cnn1", chain([layers.Conv1D(8, 16, 2, activation="relu"), layers.Conv1D(4, 8)]), _normal(4, 32, 1)
    yield (
        "cnn2",
        chain([layers.Conv2D(4, 4, 2, activation="relu", use_bias=False), layers.Conv2D(4, 3)]),
        _normal(4, 10, 10, 1),
    )
    yield "cnn3", chain([layers.Conv3D(4, 2, 2, activation="relu"), layers.Conv3D(4, 2)]), _normal(4, 4, 4, 4, 1)
    yield "mha", _model((4, 8), lambda x: layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)), _normal(4, 4, 8)
    yield "lstm", chain([layers.LSTM(4, return_sequences=True)]), _normal(4, 8, 8)
    yield "rnn", chain([layers.SimpleRNN(4, return_sequences=True)]), _normal(4, 8, 8)
    yield "layernorm", chain([layers.LayerNormalization()]), _normal(4, 4, 16)
    yield "embedding", chain([layers.Embedding(32, 4)]), _draws.randint(0, 32, (4, 8))
    yield "rmsnorm", chain([layers.RMSNormalization()]), _normal(4, 4, 16)
    yield "swiglu", _model((4, 8), lambda x: _swiglu(x, 8, 16)), _normal(4, 4, 8)
    yield "residual", _model((4, 8), lambda x: layers.Add()([layers.Dense(8)(x), x])), _normal(4, 4, 8)
    yield "mixer_v1", _model((2, 2, 2, 1), _mixer_v1), _normal(4, 2, 2, 2, 1)
    yield "mixer_v2", _model((2, 2, 2, 1), _mixer_v2), _draws.randint(0, 16, (4, 2, 2, 2, 1)).astype("float32")
    yield "gru", chain([layers.Bidirectional(layers.LSTM(5, return_sequences=True)), layers.GRU(3)]), _normal(3, 6, 4)
    for axes, kind in enumerate((layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose), 1):
        yield f"convtransposed{axes}", chain([kind(3, 3, 2, padding="same"), kind(2, 4, 2)]), _normal(2, *[4] * axes, 2)
    yield (
        "picture",
        chain(
            [
                layers.Conv2D(4, 3, padding="same", activation="relu"),
                layers.BatchNormalization(),
                layers.MaxPooling2D(2),
                layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same"),
                layers.SeparableConv2D(6, 3, 2, padding="same"),
                layers.GroupNormalization(2),
                layers.LeakyReLU(),
                layers.AveragePooling2D(2, padding="same"),
                layers.Flatten(),
                layers.Dropout(0.3),
                layers.Dense(3),
            ]
        ),
        _normal(2, 9, 8, 3),
    )
    yield (
        "causal",
        chain([layers.Conv1D(4, 3, padding="causal", dilation_rate=2), layers.GlobalAveragePooling1D()]),
        _normal(2, 16, 3),
    )
    inner = chain([layers.Dense(4, "relu")])
    yield "twice", _model((4,), lambda x: inner(inner(x))), _normal(3, 4)

    def joined(x):
        y = layers.Concatenate()([layers.Dense(3)(x), x])
        return layers.Rescaling(2.0, 1.0)(y[:, -1]) * 0.5 - 1

    yield "joined", _model((5, 8), joined), _normal(3, 5, 8)


class Block(layers.Layer):
    """A layer whose call() is code, around layers."""

    def __init__(self, width, **more):
        super().__init__(**more)
        self.inner, self.norm = layers.Dense(width, "relu"), layers.LayerNormalization()

    def call(self, x, training=False):
        return self.norm(keras.ops.add(x, self.inner(x)))


class Own(keras.Model):
    """A model whose call() is code: a loop, a layer of its own, operations."""

    def __init__(self):
        super().__init__()
        self.blocks, self.head = [Block(6, name="one"), Block(6, name="two")], layers.Dense(3)

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x)
        return keras.ops.tanh(self.head(x[:, -1])) * 0.5


class TwoTowers(keras.Model):
    """A model whose call() takes two tensors."""

    def __init__(self):
        super().__init__()
        self.picture, self.numbers = layers.Conv2D(3, 3, activation="relu"), layers.Dense(5, "tanh")
        self.flat, self.head = layers.Flatten(), layers.Dense(2)

    def call(self, picture, numbers):
        return self.head(keras.ops.concatenate([self.flat(self.picture(picture)), self.numbers(numbers)], axis=-1))


class Branching(keras.Model):
    """A model whose call() looks at values, which nothing but the values can follow."""

    def __init__(self):
        super().__init__()
        self.head = layers.Dense(2)

    def call(self, x):
        return self.head(x) if float(keras.ops.sum(x)) > 0 else x


def _joined_towers():
    left, right = keras.Input((4, 8)), keras.Input((8,))
    steps = layers.LSTM(5)(left)
    return keras.Model([left, right], layers.Dense(3)(layers.Concatenate()([steps, layers.Dense(4, "relu")(right)])))


def further():
    """What has no golden files: call() as code, several inputs (tuples)."""
    sample = _normal(3, 5, 6)
    yield "own", _drawn(Own(), sample), sample
    nested = keras.Sequential([layers.Dense(6), Block(6), layers.Dense(2)])
    yield "own_layer", _drawn(nested, sample), sample
    pair = _normal(3, 4, 8), _normal(3, 8)
    yield "towers", _drawn(_joined_towers(), list(pair)), pair
    pair, model = (_normal(2, 6, 6, 1), _normal(2, 4)), TwoTowers()
    model(*pair)
    yield "own_towers", model, pair


def refused():
    """(model, sample, what is said)."""
    sample = _normal(2, 3)
    model = Branching()
    model.head.build((None, 3))
    yield (
        model,
        sample,
        r"^Unsupported: 1 part of the model cannot be streamed: branching[_0-9]*: Branching: its call\(\) cannot be traced: .+",
    )
    left, right = _normal(3, 4, 8), _normal(3, 8)
    yield _joined_towers(), left, "2 inputs, 1 given: several inputs are a tuple"
    yield keras.Sequential([layers.Dense(3)]), (left, right), "2 inputs are given; it takes one"

    dense = keras.Sequential([layers.Dense(3)])
    dense(_normal(2, 4))
    yield dense, _normal(2, 5), r"it does not take the sample \(\[2, 5\] float32\): ValueError"
    adapted = keras.Sequential([layers.Dense(3, lora_rank=2)])
    adapted(_normal(2, 4))
    yield adapted, _normal(2, 4), "Dense: lora_rank=2"
    later = keras.Sequential([layers.Dense(3)])
    later(_normal(2, 4))
    later.layers[0].enable_lora(2)
    yield later, _normal(2, 4), r"Dense: (lora_rank=2|an adapter)"
    yield (
        _model((4, 4), lambda x: layers.MultiHeadAttention(2, 2, use_gate=True)(x, x)),
        _normal(2, 4, 4),
        "use_gate=True",
    )


def outputs():
    """(model, sample, output=, the same output of what the model gives)."""
    x = keras.Input((4,))
    first, second = layers.Dense(3, name="first")(x), layers.Dense(2, name="second")(x)
    yield keras.Model(x, [first, second]), _normal(3, 4), 1, lambda y: y[1]
    yield keras.Model(x, {"a": first, "b": second}), _normal(3, 4), "b", lambda y: y["b"]
    yield TwoHeads(), _normal(3, 4), "1", lambda y: y[1]


class TwoHeads(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), layers.Dense(2)

    def call(self, x):
        return self.first(x), self.second(x)


_ROWS, _STEPS, _PICTURE = (3, 4), (2, 5, 4), (2, 6, 6, 4)
# For each layer what it is made with, and the shape of its sample.
_MADE = {
    "Dense": ((3,), _ROWS),
    "Conv1D": ((4, 2), _STEPS),
    "Conv2D": ((4, 2), _PICTURE),
    "DepthwiseConv2D": ((2,), _PICTURE),
    "SeparableConv2D": ((4, 2), _PICTURE),
    "Conv2DTranspose": ((4, 2), _PICTURE),
    "MaxPooling2D": ((2,), _PICTURE),
    "AveragePooling2D": ((2,), _PICTURE),
    "GlobalAveragePooling2D": ((), _PICTURE),
    "GlobalMaxPooling2D": ((), _PICTURE),
    "BatchNormalization": ((), _PICTURE),
    "LayerNormalization": ((), _STEPS),
    "GroupNormalization": ((2,), _PICTURE),
    "Embedding": ((9, 4), None),
    "SimpleRNN": ((3,), _STEPS),
    "LSTM": ((3,), _STEPS),
    "GRU": ((3,), _STEPS),
    "ReLU": ((), _ROWS),
    "LeakyReLU": ((), _ROWS),
    "ELU": ((), _ROWS),
    "Softmax": ((), _STEPS),
    "Dropout": ((0.5,), _ROWS),
    "SpatialDropout1D": ((0.5,), _STEPS),
    "GaussianNoise": ((0.5,), _ROWS),
    "ActivityRegularization": ((), _ROWS),
    "Flatten": ((), _PICTURE),
    "Rescaling": ((2.0,), _ROWS),
}
# Another value than the default of each argument.
_OTHER = {
    "activation": "relu", "use_bias": False, "kernel_regularizer": "l2", "bias_regularizer": "l2",
    "activity_regularizer": "l2", "kernel_constraint": "non_neg", "lora_rank": 2, "strides": 2, "padding": "same",
    "dilation_rate": 2, "groups": 2, "depth_multiplier": 2, "output_padding": 0, "keepdims": True, "axis": 1,
    "momentum": 0.5, "epsilon": 0.1, "center": False, "scale": False, "renorm": True, "mask_zero": True,
    "dropout": 0.5, "recurrent_dropout": 0.5, "return_sequences": True, "return_state": True, "go_backwards": True,
    "stateful": True, "unroll": True, "recurrent_activation": "tanh", "reset_after": False, "unit_forget_bias": False,
    "max_value": 6.0, "negative_slope": 0.3, "threshold": 0.5, "alpha": 0.5, "seed": 3, "noise_shape": (3, 1),
    "l1": 0.1, "l2": 0.1, "offset": 1.0, "trainable": False, "synchronized": True,
}  # fmt: skip


def arguments():
    """(class, argument, its kind, model, sample): every layer with another value of each of its arguments."""
    for name, (given, shape) in _MADE.items():
        for argument, kind in settings.KERAS[name].items():
            if argument not in _OTHER:
                continue
            is_scale = (name, argument) == ("Rescaling", "scale")
            options = {argument: 2.0 if is_scale else _OTHER[argument]}
            try:
                layer = getattr(layers, name)(*(() if is_scale else given), **options)
                sample = numpy.random.RandomState(3).randint(0, 9, (2, 4)) if shape is None else _normal(*shape)
                keras.Sequential([layer])(sample)
            except (TypeError, ValueError, RuntimeError):  # which this layer or backend does not take
                continue
            if argument == "trainable" and not layer.weights:
                continue
            if argument == "activity_regularizer" and layer.activity_regularizer is None:
                continue  # Keras' recurrent layers drop it
            yield name, argument, kind, keras.Sequential([layer]), sample


def answers(model, sample):
    """All outputs, as the model gives them."""
    return keras.tree.map_structure(keras.ops.convert_to_numpy, model(sample))


def cases():
    for name, model, sample in _all():
        yield name, _drawn(model, sample), sample


def answer(model, sample):
    if isinstance(model, TwoTowers):
        return numpy.asarray(keras.ops.convert_to_numpy(model(*sample)))
    given = list(sample) if isinstance(sample, tuple) else sample
    return numpy.asarray(keras.ops.convert_to_numpy(model(given, training=False)))


def state(model):
    return [numpy.asarray(keras.ops.convert_to_numpy(w)).tobytes() for w in model.weights]


def unsupported():
    model = keras.Sequential([layers.PReLU(name="first"), layers.Dense(3), layers.UpSampling1D(name="larger")])
    sample = _normal(2, 4, 3)
    return _drawn(model, sample), sample, {"first", "larger"}


def trained():
    mlp = keras.Sequential([layers.Dense(16, "tanh"), layers.Dense(3)])
    yield "mlp", _drawn(mlp, _normal(2, 8)), _normal(32, 8), _normal(32, 3)
    lstm = keras.Sequential([layers.LSTM(5), layers.Dense(3)])
    yield "lstm", _drawn(lstm, _normal(2, 6, 4)), _normal(16, 6, 4), _normal(16, 3)


def losses(model, inputs, targets, name, rate, steps):
    optimizer = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam}[name](
        rate, **({"epsilon": 1e-8} if name == "adam" else {})
    )
    model.compile(optimizer, "mse")
    for _ in range(steps):
        yield float(model.train_on_batch(inputs, targets))
