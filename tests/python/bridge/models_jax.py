"""JAX models that the bridge is tested with: flax.linen, flax.nnx, equinox and functions of a pytree.

cases() gives (name, model, sample): linen models are pairs of a module and its variables.
"""

import equinox
import jax
import numpy
from flax import linen, nnx
from jax import numpy as jnp

_draws = numpy.random.RandomState(42)
_key = jax.random.PRNGKey(42)


def _normal(*shape):
    return _draws.randn(*shape).astype("float32")


def _with_variables(module, sample):
    variables = module.init(_key, jnp.asarray(sample))

    def drawn(value):
        return value + jnp.asarray(_draws.randn(*value.shape) * 0.1, value.dtype)

    return module, jax.tree_util.tree_map(drawn, variables)


class GatedMlp(linen.Module):
    inner: int

    @linen.compact
    def __call__(self, x):
        gate, up = linen.silu(linen.Dense(self.inner)(x)), linen.Dense(self.inner)(x)
        return linen.Dense(x.shape[-1])(gate * up)


class Attention(linen.Module):
    heads: int

    @linen.compact
    def __call__(self, x):
        return linen.MultiHeadDotProductAttention(self.heads)(x, mask=linen.make_causal_mask(x[..., 0]))


class Residual(linen.Module):
    @linen.compact
    def __call__(self, x):
        return x + linen.Dense(x.shape[-1])(x)


class MixerV1(linen.Module):
    def setup(self):
        self.cnn3, self.d1 = linen.Conv(2, (2, 2, 2), padding="VALID"), linen.Dense(8)
        self.cnn2, self.d2 = linen.Conv(2, (2, 2), padding="VALID"), linen.Dense(8)
        self.cnn1, self.d3 = linen.Conv(4, (8,), padding="VALID"), linen.Dense(8)
        self.mha, self.rnn, self.lstm = Attention(2), linen.RNN(linen.SimpleCell(4)), linen.RNN(linen.LSTMCell(4))
        self.d4 = linen.Dense(8)

    def __call__(self, x):
        x = self.d1(self.cnn3(x).reshape(x.shape[0], -1)).reshape(-1, 2, 4, 1)
        x = linen.relu(self.d2(self.cnn2(x).reshape(x.shape[0], -1))).reshape(-1, 8, 1)
        x = self.d3(self.cnn1(x).reshape(x.shape[0], -1)).reshape(-1, 2, 4)
        return self.d4(self.lstm(self.rnn(self.mha(x))).reshape(x.shape[0], -1))


class MixerV2(linen.Module):
    @linen.compact
    def __call__(self, x):
        ids = linen.max_pool(x, (1, 2, 2), (1, 2, 2)).reshape(x.shape[0], -1).astype(jnp.int32)
        x = linen.Embed(16, 4)(ids)
        x = Attention(2)(linen.LayerNorm()(x)) + x
        x = GatedMlp(8)(linen.RMSNorm()(x)) + x
        x = linen.RNN(linen.LSTMCell(4))(linen.RNN(linen.SimpleCell(4))(x))
        return linen.Dense(8)(x.reshape(x.shape[0], -1))


class Picture(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.BatchNorm(use_running_average=True)(linen.Conv(4, (3, 3))(x)))
        x = linen.Conv(6, (3, 3), strides=2)(linen.max_pool(x, (2, 2), (2, 2)))
        x = linen.avg_pool(linen.ConvTranspose(3, (3, 3), strides=(2, 2))(x), (2, 2))
        return linen.softmax(linen.Dense(3)(linen.gelu(x.reshape(x.shape[0], -1))))


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.table, self.conv = nnx.Embed(11, 8, rngs=rngs), nnx.Conv(8, 8, (3,), rngs=rngs)
        self.batch, self.rnn = nnx.BatchNorm(8, rngs=rngs), nnx.RNN(nnx.LSTMCell(8, 6, rngs=rngs))
        self.gru, self.norm = nnx.RNN(nnx.GRUCell(6, 6, rngs=rngs)), nnx.LayerNorm(6, rngs=rngs)
        self.attend = nnx.MultiHeadAttention(2, 6, rngs=rngs, decode=False)
        self.drop, self.head = nnx.Dropout(0.5, rngs=rngs), nnx.Linear(6, 3, rngs=rngs)

    def __call__(self, ids):
        x = self.gru(self.rnn(jax.nn.relu(self.batch(self.conv(self.table(ids))))))
        x = x + self.attend(self.norm(x))
        return self.head(self.drop(x)[:, 0])


class Equinox(equinox.Module):
    conv: equinox.nn.Conv2d
    pool: equinox.nn.MaxPool2d
    norm: equinox.nn.LayerNorm
    mlp: equinox.nn.MLP

    def __init__(self):
        one, two = jax.random.split(_key)
        self.conv, self.pool = equinox.nn.Conv2d(3, 4, 3, key=one), equinox.nn.MaxPool2d(2, 2)
        self.norm, self.mlp = equinox.nn.LayerNorm(36), equinox.nn.MLP(36, 3, 16, 2, key=two)

    def __call__(self, x):
        return jax.nn.softmax(self.mlp(self.norm(self.pool(self.conv(x)).reshape(-1))))


class EquinoxSteps(equinox.Module):
    table: equinox.nn.Embedding
    lstm: equinox.nn.LSTMCell
    gru: equinox.nn.GRUCell
    attend: equinox.nn.MultiheadAttention
    norm: equinox.nn.LayerNorm

    def __init__(self):
        keys = jax.random.split(_key, 4)
        self.table, self.lstm = equinox.nn.Embedding(11, 8, key=keys[0]), equinox.nn.LSTMCell(8, 6, key=keys[1])
        self.gru, self.norm = equinox.nn.GRUCell(6, 6, key=keys[2]), equinox.nn.LayerNorm(6)
        self.attend = equinox.nn.MultiheadAttention(2, 6, use_output_bias=True, key=keys[3])

    def __call__(self, ids):
        def step(state, x):
            state = self.lstm(x, state)
            return state, state[0]

        _, x = jax.lax.scan(step, (jnp.zeros(6), jnp.zeros(6)), jax.vmap(self.table)(ids))
        x = jax.vmap(self.norm)(x)
        x = x + self.attend(x, x, x, mask=jnp.tril(jnp.ones((5, 5), bool)))
        return jax.lax.scan(lambda h, u: (self.gru(u, h), None), jnp.zeros(6), x)[0]


def mlp(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def mlp_params(*sizes):
    return [
        {"w": jnp.asarray(_normal(a, b) * 0.5), "b": jnp.asarray(_normal(b) * 0.1)} for a, b in zip(sizes, sizes[1:])
    ]


def cases():
    chain = linen.Sequential
    ids = _draws.randint
    for name, module, sample in (
        (
            "dense",
            chain(
                [
                    linen.Dense(16),
                    linen.relu,
                    linen.Dense(16),
                    linen.tanh,
                    linen.Dense(16, use_bias=False),
                    linen.sigmoid,
                    linen.Dense(4),
                ]
            ),
            _normal(7, 16),
        ),
        (
            "cnn1",
            chain([linen.Conv(8, (16,), 2, padding="VALID"), linen.relu, linen.Conv(4, (8,), padding="VALID")]),
            _normal(4, 32, 1),
        ),
        (
            "cnn2",
            chain([linen.Conv(4, (4, 4), 2, padding="VALID"), linen.relu, linen.Conv(4, (3, 3))]),
            _normal(4, 10, 10, 1),
        ),
        (
            "cnn3",
            chain([linen.Conv(4, (2, 2, 2), 2, padding="VALID"), linen.relu, linen.Conv(4, (2, 2, 2))]),
            _normal(4, 4, 4, 4, 1),
        ),
        ("mha", Attention(2), _normal(4, 4, 8)),
        ("lstm", linen.RNN(linen.LSTMCell(4)), _normal(4, 8, 8)),
        ("rnn", linen.RNN(linen.SimpleCell(4)), _normal(4, 8, 8)),
        ("layernorm", linen.LayerNorm(), _normal(4, 4, 16)),
        ("embedding", linen.Embed(32, 4), ids(0, 32, (4, 8))),
        ("rmsnorm", linen.RMSNorm(), _normal(4, 4, 16)),
        ("swiglu", GatedMlp(16), _normal(4, 4, 8)),
        ("residual", Residual(), _normal(4, 4, 8)),
        ("mixer_v1", MixerV1(), _normal(4, 2, 2, 2, 1)),
        ("mixer_v2", MixerV2(), ids(0, 16, (4, 2, 2, 2, 1)).astype("float32")),
        ("gru", linen.Bidirectional(linen.RNN(linen.GRUCell(4)), linen.RNN(linen.GRUCell(4))), _normal(3, 6, 4)),
        ("picture", Picture(), _normal(2, 12, 12, 3)),
    ):
        yield name, _with_variables(module, sample), sample
    yield "nnx", Nnx(nnx.Rngs(0)), ids(0, 11, (3, 5))
    yield "equinox", Equinox(), _normal(2, 3, 8, 8)
    yield "equinox_steps", EquinoxSteps(), ids(0, 11, (3, 5))
    yield "function", (mlp, mlp_params(4, 8, 8, 3)), _normal(5, 4)
    yield "jitted", (jax.jit(mlp), mlp_params(4, 8, 3)), _normal(5, 4)


def answer(model, sample):
    x = jnp.asarray(sample)
    if isinstance(model, tuple):
        module, params = model
        return numpy.asarray(module.apply(params, x) if isinstance(module, linen.Module) else module(params, x))
    if isinstance(model, equinox.Module):
        return numpy.asarray(jax.vmap(model)(x))
    copy = nnx.clone(model)
    copy.eval()
    return numpy.asarray(copy(x))


def answers(model, sample):
    """All outputs, as the model gives them."""
    return model[0](model[1], jnp.asarray(sample))


def outputs():
    """(model, sample, output=, the same output of what the model gives)."""
    params, x = {"a": jnp.asarray(_normal(4, 3)), "b": jnp.asarray(_normal(4, 2))}, _normal(3, 4)
    yield (lambda p, x: (x @ p["a"], x @ p["b"]), params), x, 1, lambda y: y[1]
    yield (lambda p, x: {"first": x @ p["a"], "more": [x @ p["b"]]}, params), x, "more.0", lambda y: y["more"][0]


class Steps(linen.Module):
    cell: linen.Module
    options: tuple = ()

    @linen.compact
    def __call__(self, x):
        return linen.RNN(self.cell, **dict(self.options))(x)


def refused():
    """(model, sample, what is said)."""
    x, steps = _normal(2, 4), _normal(2, 5, 4)
    ones = linen.initializers.ones
    yield _with_variables(Steps(linen.LSTMCell(3, carry_init=ones)), steps), steps, "carry_init="
    yield _with_variables(linen.LayerNorm(feature_axes=(-2, -1)), steps), steps, r"feature_axes=\(-2, -1\)"
    attention = linen.MultiHeadDotProductAttention(2, normalize_qk=True)
    yield _with_variables(Attends(attention), steps), steps, "normalize_qk=True"
    yield (lambda p, x: x @ p, jnp.ones((5, 3))), x, r"it does not take the sample \(\[2, 4\] float32\): TypeError"
    yield (lambda p, x: (x @ p).astype(int).astype(float), jnp.ones((4, 3))), x, "conversion to whole numbers"
    yield (lambda p, x: p, jnp.ones((4, 3))), x, "it does not depend on the input"


class Attends(linen.Module):
    inner: linen.Module

    @linen.compact
    def __call__(self, x):
        return self.inner(x)


def rounded():
    """(model, sample, the coarsest type that it computes in, who rounds)."""
    x = _normal(3, 4)
    yield _with_variables(linen.Dense(3, dtype=jnp.bfloat16), x), x, "bfloat16", "model"
    yield _with_variables(linen.Dense(3, param_dtype=jnp.float16, dtype=jnp.float32), x), x, "float16", "model"


def state(model):
    if isinstance(model, tuple):
        model = model[1]
    if isinstance(model, nnx.Module):
        model = nnx.state(model, nnx.Param, nnx.BatchStat)
    return [numpy.asarray(v).tobytes() for v in jax.tree_util.tree_leaves(model) if hasattr(v, "dtype")]


def unsupported():
    model = linen.Sequential([linen.Dense(4), jnp.sin, lambda x: jnp.cumsum(x, 1)])
    sample = _normal(3, 4)
    return _with_variables(model, sample), sample, {"sin", "cumsum"}


def trained():
    yield "mlp", (mlp, mlp_params(8, 16, 3)), _normal(32, 8), _normal(32, 3)


def losses(model, inputs, targets, name, rate, steps):
    """Both rules written out, since optax is not one of the packages."""
    function, params = model

    @jax.jit
    def both(params):
        return jax.value_and_grad(lambda p: jnp.mean((function(p, inputs) - targets) ** 2))(params)

    first = second = jax.tree_util.tree_map(jnp.zeros_like, params)
    for step in range(1, steps + 1):
        loss, slope = both(params)
        if name == "sgd":
            move = slope
        else:
            first = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
            second = jax.tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slope)
            move = jax.tree_util.tree_map(
                lambda m, v: m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8), first, second
            )
        params = jax.tree_util.tree_map(lambda p, m: p - rate * m, params, move)
        yield float(loss)
