"""PyTorch models that the bridge is tested with: the twelve bedrocks, both mixers, and what only some models have.

cases() gives (name, model, sample). Everything is drawn from fixed seeds.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, prune
from welvet.bridge import settings


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


class OwnAttention(nn.Module):
    """As language models write it."""

    def __init__(self, width, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        batch, steps, width = x.shape
        q, k, v = (f(x).view(batch, steps, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, steps, width))


class GatedMlp(nn.Module):
    def __init__(self, width, inner, bias=True):
        super().__init__()
        self.gate, self.up = nn.Linear(width, inner, bias), nn.Linear(width, inner, bias)
        self.down = nn.Linear(inner, width, bias)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Recurrent(nn.Module):
    def __init__(self, kind, *sizes, **options):
        super().__init__()
        self.cell = kind(*sizes, batch_first=True, **options)

    def forward(self, x):
        return self.cell(x)[0]


class Last(nn.Module):
    """The last state of one layer and the last step of another."""

    def __init__(self):
        super().__init__()
        self.table, self.lstm = nn.Embedding(16, 8), nn.LSTM(8, 8, batch_first=True)
        self.position, self.head = nn.Parameter(torch.randn(1, 5, 8) * 0.1), nn.Linear(8, 16, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        steps, (state, _) = self.lstm(self.table(ids) + self.position)
        return self.head(steps[:, -1] + state[-1])


class Twice(nn.Module):
    """One layer in two places, slices, and numbers."""

    def __init__(self):
        super().__init__()
        self.again, self.mix = nn.Linear(4, 4), nn.Conv1d(3, 6, 1)

    def forward(self, x):
        for _ in range(2):
            x = torch.relu(self.again(x))
        a, b = self.mix(x).transpose(1, 2).chunk(2, 2)
        return torch.cat([a.mean(1), b[:, 1:, 0] * 3 - 1], 1)


class Branches(Twice):
    """torch.fx cannot trace this one."""

    def forward(self, x):
        return x if x.shape[0] > 1000 else super().forward(x)


class MixerV1(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn3, self.d1 = nn.Conv3d(1, 2, 2), nn.Linear(2, 8)
        self.cnn2, self.d2 = nn.Conv2d(1, 2, 2), nn.Linear(6, 8)
        self.cnn1, self.d3 = nn.Conv1d(1, 4, 8), nn.Linear(4, 8)
        self.mha, self.rnn, self.lstm = Attention(4, 2), Recurrent(nn.RNN, 4, 4), Recurrent(nn.LSTM, 4, 4)
        self.d4 = nn.Linear(8, 8)

    def start(self, x):
        x = self.d1(self.cnn3(x).flatten(1)).view(-1, 1, 2, 4)
        x = torch.relu(self.d2(self.cnn2(x).flatten(1))).view(-1, 1, 8)
        return self.d3(self.cnn1(x).flatten(1))

    def forward(self, x):
        x = self.lstm(self.rnn(self.mha(self.start(x).view(-1, 2, 4))))
        return self.d4(x.flatten(1))


class MixerV2(MixerV1):
    """Its tokens are the larger numbers of the volume's halves; the convolutions do not reach the output."""

    def __init__(self):
        super().__init__()
        self.table, self.norm1, self.norm2 = nn.Embedding(16, 4), nn.LayerNorm(4), nn.RMSNorm(4, 1e-6)
        self.mlp = GatedMlp(4, 8)

    def forward(self, x):
        self.start(x)
        ids = functional.max_pool3d(x, (1, 2, 2)).flatten(1).long()
        x = self.table(ids)
        x = self.mha(self.norm1(x)) + x
        x = self.mlp(self.norm2(x)) + x
        return self.d4(self.lstm(self.rnn(x)).flatten(1))


def cases():
    torch.manual_seed(42)
    chain = nn.Sequential

    def normal(*shape):
        return torch.randn(*shape).numpy()

    def ids(count, *shape):
        return torch.randint(0, count, shape).numpy()

    yield (
        "dense",
        chain(
            nn.Linear(32, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.Tanh(),
            nn.Linear(32, 32, bias=False),
            nn.Sigmoid(),
            nn.Linear(32, 8),
        ),
        normal(7, 32),
    )
    yield "cnn1", chain(nn.Conv1d(1, 8, 16, stride=2, bias=False), nn.ReLU(), nn.Conv1d(8, 4, 8)), normal(4, 1, 32)
    yield "cnn2", chain(nn.Conv2d(1, 4, 4, stride=2, bias=False), nn.ReLU(), nn.Conv2d(4, 4, 3)), normal(4, 1, 10, 10)
    yield "cnn3", chain(nn.Conv3d(1, 4, 2, stride=2), nn.ReLU(), nn.Conv3d(4, 4, 2)), normal(4, 1, 4, 4, 4)
    yield "mha", Attention(8, 2), normal(4, 4, 8)
    yield "lstm", Recurrent(nn.LSTM, 8, 4), normal(4, 8, 8)
    yield "rnn", Recurrent(nn.RNN, 8, 4), normal(4, 8, 8)
    yield "layernorm", nn.LayerNorm(16), normal(4, 4, 16)
    yield "embedding", nn.Embedding(32, 4), ids(32, 4, 8)
    yield "rmsnorm", nn.RMSNorm(16, 1e-6), normal(4, 4, 16)
    yield "swiglu", GatedMlp(8, 16), normal(4, 4, 8)
    yield "residual", Residual(nn.Identity()), normal(4, 4, 8)
    yield "mixer_v1", MixerV1(), normal(4, 1, 2, 2, 2)
    yield "mixer_v2", MixerV2(), ids(16, 4, 1, 2, 2, 2).astype("float32")
    yield "gru", Recurrent(nn.GRU, 4, 5, 2, bidirectional=True), normal(3, 6, 4)
    for axes, kind in enumerate((nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), 1):
        model = kind(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        yield f"convtransposed{axes}", model, normal(2, 4, *[4] * axes)
    yield (
        "pooling",
        chain(nn.AvgPool2d(3, 2, 1, ceil_mode=True), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d(1)),
        normal(2, 3, 17, 13),
    )
    picture = chain(
        nn.Conv2d(3, 8, 3, padding="same"),
        nn.BatchNorm2d(8),
        nn.SiLU(),
        nn.Conv2d(8, 6, 2, padding="same"),
        nn.GroupNorm(2, 6),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 3),
        nn.Softmax(-1),
    )
    picture[1].running_mean.normal_()
    picture[1].running_var.uniform_(0.5, 2)
    yield "picture", picture, normal(4, 3, 8, 8)
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu")
    yield "encoder", nn.TransformerEncoder(encoder, 2, nn.LayerNorm(8), enable_nested_tensor=False), normal(3, 5, 8)
    yield "own_attention", Residual(OwnAttention(8, 2)), normal(2, 5, 8)
    yield "last", Last(), ids(16, 3, 5)
    yield "twice", Twice(), normal(2, 3, 4)
    yield "branches", Branches(), normal(2, 3, 4)


def answer(model, sample):
    model.eval()
    with torch.no_grad():
        parts = sample if isinstance(sample, tuple) else (sample,)
        return model(*(torch.from_numpy(p.copy()) for p in parts)).numpy()


def answers(model, sample):
    """All outputs, as the model gives them."""
    with torch.no_grad():
        return model.eval()(torch.from_numpy(sample.copy()))


def state(model):
    """The bits of all that push() could change."""
    return [value.numpy().tobytes() for value in model.state_dict().values()]


class Beyond(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.dense = nn.PReLU(), nn.Linear(4, 4)
        self.steps, self.larger = nn.LSTM(4, 4), nn.Upsample(scale_factor=2)

    def forward(self, x):
        return self.larger(self.steps(self.dense(self.first(x)))[0]).cumsum(1)


class Towers(nn.Module):
    """Two inputs of different shapes."""

    def __init__(self):
        super().__init__()
        self.picture, self.numbers = nn.Conv2d(1, 3, 3), nn.Linear(4, 5)
        self.head = nn.Linear(53, 2)

    def forward(self, picture, numbers):
        both = torch.cat([torch.relu(self.picture(picture)).flatten(1), torch.tanh(self.numbers(numbers))], dim=1)
        return self.head(both)


class OneMore(nn.Module):
    """A sum of two inputs of one shape."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)

    def forward(self, x, y):
        return self.head(x + y)


class Asks(Twice):
    """torch.fx cannot trace this one, torch.export can: it asks for the class of its input."""

    def forward(self, x):
        if type(x) not in (torch.Tensor, torch.nn.Parameter) and "Fake" not in type(x).__name__:
            raise ValueError("a tensor is expected")
        return super().forward(x[:, : x.size(1)])


class Positions(nn.Module):
    """Sizes of the input in slices, ranges and masks, as models of sequences have them."""

    def __init__(self):
        super().__init__()
        self.table, self.learnt = nn.Embedding(9, 8), nn.Parameter(torch.randn(1, 9, 8))
        self.register_buffer("waves", torch.randn(9, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        assert isinstance(x, torch.Tensor)
        batch, steps, _ = x.shape
        x = x + self.learnt[:, : x.size(1)] + self.waves[:steps] + self.table(torch.arange(steps))
        for i in range(x.size(1)):
            x = x * (1 if i < len(x) else 2)
        mask = torch.triu(torch.full((steps, steps), float("-inf")), 1)
        return self.head(self.encoder(x, mask=mask) + torch.zeros(batch, 1, 8))


class States(nn.Module):
    """h_n by index, of both directions and of a layer below."""

    def __init__(self):
        super().__init__()
        self.both, self.two = nn.LSTM(4, 3, batch_first=True, bidirectional=True), nn.GRU(4, 6, 2, batch_first=True)

    def forward(self, x):
        h = self.both(x)[1][0]
        lower, upper = self.two(x)[1].unbind(0)
        return torch.cat([h[-2], h[1]], 1) + lower - upper


class Heads(nn.Module):
    """Several outputs; `kind` says in what."""

    def __init__(self, kind):
        super().__init__()
        self.a, self.b, self.kind = nn.Linear(4, 3), nn.Linear(4, 5), kind

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return {"tuple": (a, b), "dict": {"logits": a, "more": [b, x]}, "named": Pair(a, b)}[self.kind]


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


def outputs():
    """(model, sample, output=, the same output of what the model gives)."""
    torch.manual_seed(12)
    x = torch.randn(3, 4).numpy()
    yield Heads("tuple"), x, 1, lambda y: y[1]
    yield Heads("dict"), x, "logits", lambda y: y["logits"]
    yield Heads("dict"), x, "more.0", lambda y: y["more"][0]
    yield Heads("named"), x, "second", lambda y: y.second
    yield nn.LSTM(4, 3, batch_first=True), torch.randn(2, 5, 4).numpy(), 0, lambda y: y[0]


def recorded():
    """(name, model, sample, options, the output that is read): their traces are played where there is no PyTorch."""
    torch.manual_seed(13)
    whole = lambda y: y
    yield "asks", Asks(), torch.randn(2, 3, 4).numpy(), {}, whole
    yield "exported_states", AskingStates(), torch.randn(2, 5, 4).numpy(), {"output": "state"}, lambda y: y["state"]
    yield "chosen", Heads("tuple"), torch.randn(3, 4).numpy(), {"output": 1}, lambda y: y[1]
    yield "attention", Masked(), torch.randn(2, 5, 8).numpy(), {}, whole
    yield "states", States(), torch.randn(2, 5, 4).numpy(), {}, whole


class AskingStates(nn.Module):
    """A dict of outputs, which torch.export alone can trace."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        if type(x) not in (torch.Tensor, torch.nn.Parameter) and "Fake" not in type(x).__name__:
            raise ValueError("a tensor is expected")
        steps, (h, _) = self.lstm(x)
        return {"steps": torch.tanh(self.head(steps)), "state": self.head(h[-1])}


class Masked(nn.Module):
    """Learnt positions and a mask, both cut to the length of the input."""

    def __init__(self):
        super().__init__()
        self.table, self.attention = nn.Embedding(9, 8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        steps = x.size(1)
        x = x + self.table(torch.arange(steps))
        mask = torch.triu(torch.ones(steps, steps, dtype=torch.bool), 1)
        return self.head(self.norm(x + self.attention(x, x, x, attn_mask=mask)[0]))


def hooked(kind, function, layer=None):
    layer = layer or nn.Linear(4, 3)
    getattr(layer, f"register_{kind}")(function)
    return nn.Sequential(layer)


def patched():
    layer = nn.Linear(4, 3)
    layer.forward = lambda x: functional.linear(x, layer.weight) * 3
    return nn.Sequential(layer)


def further():
    """What has no golden files: several inputs (tuples), sizes, computed weights, hooks."""
    torch.manual_seed(11)
    x = torch.randn(3, 4).numpy()
    yield "towers", Towers(), (torch.randn(2, 1, 6, 6).numpy(), torch.randn(2, 4).numpy())
    yield "sum_of_two", OneMore(), (torch.randn(3, 5, 6).numpy(), torch.randn(3, 5, 6).numpy())
    yield "asks", Asks(), torch.randn(2, 3, 4).numpy()
    yield "positions", Positions(), torch.randn(2, 5, 8).numpy()
    yield "states", States(), torch.randn(2, 5, 4).numpy()
    yield "weight_norm", nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 3))), x
    yield "weight_norm_alone", parametrizations.weight_norm(nn.Conv1d(4, 3, 2)), torch.randn(2, 4, 6).numpy()
    yield "spectral_norm", nn.Sequential(parametrizations.spectral_norm(nn.Linear(4, 3))), x
    yield "orthogonal", nn.Sequential(parametrizations.orthogonal(nn.Linear(4, 3))), x
    yield "pruned", nn.Sequential(prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=0.5)), x
    yield "a_hook_that_looks", hooked("forward_hook", lambda module, given, answer: None), x
    yield "patched", patched(), x
    yield "a_layer_that_writes_into_its_input", nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 3)), x
    yield "data_parallel", nn.DataParallel(nn.Linear(4, 3)), x
    yield "double", nn.Linear(4, 3).double(), x.astype("float64")


def rounded():
    """(model, sample, the coarsest type that it computes in, who rounds)."""
    x = torch.randn(3, 4).numpy()
    yield nn.Linear(4, 3).half(), x, "float16", "model"
    yield nn.Linear(4, 3).bfloat16(), x, "bfloat16", "model"
    yield nn.Linear(4, 3).double(), x, "float64", "network"


def refused():
    """(model, sample, what is said)."""
    x = torch.randn(3, 4).numpy()
    yield OneMore(), torch.randn(3, 5, 6).numpy(), r"it takes 2 inputs \(x, y\), 1 is given: several are a tuple"
    yield hooked("forward_hook", lambda module, given, answer: answer * 2), x, "0: Linear: a forward hook changes"
    yield hooked("forward_pre_hook", lambda module, given: (given[0] * 2,)), x, "0: Linear: a pre-hook changes"
    yield hooked("forward_hook", lambda module, given, answer: answer * 2)[0], x, "Linear: a forward hook changes"
    yield torch.jit.script(nn.Linear(4, 3)), x, "a scripted module has no code"
    yield nn.Linear(5, 3), x, r"it does not take the sample \(\[3, 4\] float32\): RuntimeError"
    yield nn.Linear(2, 3), [[1, 2], [3, 4]], r"it does not take the sample \(\[2, 2\] int64\): RuntimeError"
    yield Does(lambda x: functional.dropout(x)), x, "it drops numbers in eval mode too"
    yield Does(lambda x: x.int().float()), x, "conversion to whole numbers"
    yield Does(lambda x: x + torch.rand(4)), x, "another answer than the model"
    yield Does(lambda x: torch.div(x, 2, rounding_mode="floor")), x, "div: rounding_mode='floor'"
    yield Does(lambda x: x.view(torch.int32)), x, "the bits of another type"
    statistics = torch.zeros(4), torch.ones(4), torch.ones(4), torch.zeros(4)
    yield Does(lambda x: functional.batch_norm(x, *statistics, training=True)), x, "statistics of the batch"
    yield Cell(), torch.randn(2, 5, 4).numpy(), "it reads the cell state c_n"
    yield nn.Softmax(), torch.randn(2, 5, 4).numpy(), "over the batch"


class Does(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.head = function, nn.Linear(4, 4)

    def forward(self, x):
        return self.function(self.head(x))


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        _, (h, c) = self.lstm(x)
        return h[-1] + c[-1]


_ROWS, _STEPS, _PICTURE = (3, 4), (2, 4, 6), (2, 4, 6, 6)
# For each layer what it is made with, and the shape of its sample.
_MADE = {
    "Linear": ((4, 6), _ROWS),
    "Conv1d": ((4, 4, 3), _STEPS),
    "Conv2d": ((4, 4, 3), _PICTURE),
    "ConvTranspose1d": ((4, 4, 3), _STEPS),
    "MaxPool1d": ((2,), _STEPS),
    "MaxPool2d": ((2,), _PICTURE),
    "AvgPool1d": ((2,), _STEPS),
    "AvgPool2d": ((2,), _PICTURE),
    "AdaptiveAvgPool1d": ((1,), _STEPS),
    "AdaptiveMaxPool1d": ((1,), _STEPS),
    "BatchNorm1d": ((4,), _STEPS),
    "LayerNorm": ((6,), _STEPS),
    "RMSNorm": ((6,), _STEPS),
    "GroupNorm": ((2, 4), _STEPS),
    "InstanceNorm1d": ((4,), _STEPS),
    "Embedding": ((9, 4), None),
    "RNN": ((6, 4), _STEPS),
    "LSTM": ((6, 4), _STEPS),
    "GRU": ((6, 4), _STEPS),
    "TransformerEncoderLayer": ((6, 2, 8), _STEPS),
    "Dropout": ((), _ROWS),
    "Dropout1d": ((0.0,), _STEPS),
    "AlphaDropout": ((0.0,), _ROWS),
    "ReLU": ((), _ROWS),
    "GELU": ((), _ROWS),
    "LeakyReLU": ((), _ROWS),
    "ELU": ((), _ROWS),
    "Softplus": ((), _ROWS),
    "Hardtanh": ((), _ROWS),
    "Softmax": ((1,), _STEPS),
    "Flatten": ((), _PICTURE),
    "ZeroPad1d": ((1,), _STEPS),
}
# Another value than the default of each argument.
_OTHER = {
    "stride": 2, "padding": 1, "dilation": 2, "groups": 2, "bias": False, "padding_mode": "circular", "device": "cpu",
    "dtype": torch.float64, "output_padding": 0, "return_indices": True, "ceil_mode": True, "count_include_pad": False,
    "divisor_override": 3, "output_size": 2, "eps": 0.1, "momentum": None, "affine": False, "track_running_stats": None,
    "elementwise_affine": False, "padding_idx": 1, "max_norm": 0.1, "norm_type": 1.0, "scale_grad_by_freq": True,
    "sparse": True, "_freeze": True, "num_layers": 2, "batch_first": False, "dropout": 0.5, "bidirectional": True,
    "proj_size": 2, "nonlinearity": "relu", "activation": "gelu", "layer_norm_eps": 0.1, "norm_first": True, "p": 0.2,
    "inplace": True, "approximate": "tanh", "negative_slope": 0.3, "alpha": 0.5, "beta": 2.0, "threshold": 0.1,
    "min_val": -0.5, "max_val": 0.5, "dim": 2, "start_dim": 2, "end_dim": 2,
}  # fmt: skip


def arguments():
    """(class, argument, its kind, model, sample): every layer with another value of each of its arguments."""
    for name, (given, shape) in _MADE.items():
        cls = getattr(nn, name)
        table = settings.TORCH[name]
        for argument in [a for a in table if a in _OTHER]:
            torch.manual_seed(3)
            value = _OTHER[argument]
            if argument == "track_running_stats":
                value = name.startswith("Instance")
            options = {"batch_first": True} if "batch_first" in table else {}
            try:
                model = cls(*(() if argument == "p" else given), **{**options, argument: value})
            except (TypeError, ValueError):  # which this layer does not take, as padding_mode of ConvTranspose1d
                continue
            sample = torch.randint(0, 9, (2, 4)) if shape is None else torch.randn(shape)
            yield name, argument, table[argument], First(model), sample.numpy()


class First(nn.Module):
    """The first output of a layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        y = self.layer(x)
        return y[0] if isinstance(self.layer, nn.RNNBase) else y


def unsupported():
    """A model and what of it has to be named."""
    return Beyond(), torch.randn(2, 3, 4).numpy(), {"first", "steps", "larger", "cumsum"}


def trained():
    """(name, model, inputs, targets): mean squared errors."""
    torch.manual_seed(7)
    yield "mlp", nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)), torch.randn(32, 8), torch.randn(32, 3)
    cnn = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3))
    yield "cnn", cnn, torch.randn(16, 1, 8, 8), torch.randn(16, 3)
    # The sum of two biases would move twice as fast there; with one of them kept it moves as in the network.
    lstm = nn.Sequential(Recurrent(nn.LSTM, 4, 5), nn.Linear(5, 3))
    for name, parameter in lstm.named_parameters():
        parameter.requires_grad_("bias_hh" not in name)
    yield "lstm", lstm, torch.randn(16, 6, 4), torch.randn(16, 6, 3)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    yield "encoder", nn.Sequential(layer), torch.randn(8, 5, 8), torch.randn(8, 5, 8)


def losses(model, inputs, targets, name, rate, steps):
    """What the framework's own training says before each step."""
    model.train()
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[name](model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        yield loss.item()
