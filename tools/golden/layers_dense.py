"""Dense layers, activations and norms (engine 3.2, 3.3, 3.10)."""
import torch
from torch.nn import functional

from layers_case import Draw, case, kind

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": functional.relu,
    "silu": functional.silu,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "leakyrelu": functional.leaky_relu,
    "relu2": lambda x: functional.relu(x).square(),
    "gelu_exact": functional.gelu,
    "softplus": functional.softplus,
    "mish": functional.mish,
    "hard_sigmoid": lambda x: (x / 6 + 0.5).clamp(0, 1),  # torch's own backward has 1/6 in f32
    "hard_swish": functional.hardswish,
    "hard_tanh": functional.hardtanh,
    "elu": functional.elu,
    "selu": functional.selu,
    "relu6": functional.relu6,
    "softsign": functional.softsign,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}
KINKS = (-3.0, -1.0, 0.0, 1.0, 3.0, 6.0)


def act(layer, pre, default="linear"):
    name = layer.get("activation", default)
    if name == "leakyrelu":
        return functional.leaky_relu(pre, layer.get("leaky_slope", 0.01))
    if name == "elu":
        return functional.elu(pre, layer.get("elu_alpha", 1.0))
    return ACTIVATIONS[name](pre)


def dense_shapes(layer):
    rows, cols = layer["output_height"], layer["input_height"]
    return {"weight": [rows, cols], **({"bias": [rows]} if layer.get("bias", False) else {})}


@kind("dense", dense_shapes)
def dense(layer, w, call):
    return act(layer, functional.linear(call.x, w["weight"], w.get("bias")))


@kind("activation")
def activation(layer, w, call):
    return act(layer, call.x)


def norm_shapes(layer):
    return {"gamma": [layer["input_height"]], "beta": [layer["input_height"]]}


@kind("rmsnorm", lambda layer: {"gamma": [layer["input_height"]]})
def rmsnorm(layer, w, call):
    gamma = w["gamma"] + layer.get("weight_offset", 0)
    return functional.rms_norm(call.x, gamma.shape, gamma, layer.get("rms_norm_eps", 1e-6))


@kind("layernorm", norm_shapes)
def layernorm(layer, w, call):
    return functional.layer_norm(call.x, w["gamma"].shape, w["gamma"], w["beta"], layer.get("eps", 1e-5))


@kind("groupnorm", norm_shapes)
def groupnorm(layer, w, call):
    return functional.group_norm(call.x, layer["num_groups"], w["gamma"], w["beta"], layer.get("eps", 1e-5))


@kind("instancenorm", lambda layer: norm_shapes(layer) if layer.get("affine", False) else {})
def instancenorm(layer, w, call):
    return functional.instance_norm(call.x, weight=w.get("gamma"), bias=w.get("beta"), eps=layer.get("eps", 1e-5))


@kind("batchnorm", lambda layer: {**norm_shapes(layer), "running_mean": [layer["input_height"]], "running_var": [layer["input_height"]]})
def batchnorm(layer, w, call):
    after = {name: w[name].clone() for name in ("running_mean", "running_var")}
    y = functional.batch_norm(call.x, after["running_mean"], after["running_var"], w["gamma"], w["beta"], call.training,
                              layer.get("momentum", 0.1), layer.get("eps", 1e-5))
    if call.training:
        call.after.update(after)
    return y


def dense_cases():
    for rows, cols, lead in ((1, 1, [3]), (17, 1, [2]), (1, 17, [5]), (17, 33, [2]), (2, 130, [3]), (130, 2, [3]), (33, 5, [2]), (3, 67, [2]),
                             (4, 3, [33]), (6, 7, []), (6, 7, [1]), (5, 4, [2, 3]), (4, 5, [2, 3, 2])):
        for bias in (True, False) if rows * cols < 200 else (True,):
            layer = {"type": "dense", "input_height": cols, "output_height": rows, "bias": bias}
            yield case(f"dense {cols} to {rows} lead {lead} bias {bias}", layer, [*lead, cols])
    for name in ACTIVATIONS:
        layer = {"type": "dense", "input_height": 5, "output_height": 17, "bias": True, "activation": name}
        yield case(f"dense {name}", layer, Draw(f"dense x {name}").normal(2, 5, scale=2.0))
    extra = ({"activation": "leakyrelu", "leaky_slope": 0.25}, {"activation": "elu", "elu_alpha": 0.5})
    for options in (*({"activation": name} for name in ACTIVATIONS), *extra):
        yield case(" ".join(["activation", *map(str, options.values())]), {"type": "activation", **options}, spread())
    yield case("activation silu rank 1", {"type": "activation", "activation": "silu"}, [33])
    yield case("activation tanh rank 4", {"type": "activation", "activation": "tanh"}, [2, 1, 3, 5])


def spread():
    """67 values over [-12, 12], none at a kink of any activation."""
    x = torch.linspace(-12, 12, 67) + Draw("spread").normal(67, scale=0.02).float()
    for kink in KINKS:
        x = torch.where((x - kink).abs() < 0.01, x + 0.03125, x)
    return x.double().reshape(1, 67)


def norm_cases():
    for n, lead in ((1, [3]), (17, [2]), (33, [2]), (130, [1]), (67, []), (5, [2, 3]), (4, [2, 1, 3])):
        yield case(f"rmsnorm {n} lead {lead}", {"type": "rmsnorm", "input_height": n}, [*lead, n])
        yield case(f"layernorm {n} lead {lead}", {"type": "layernorm", "input_height": n}, [*lead, n])
    yield case("rmsnorm 17 rows", {"type": "rmsnorm", "input_height": 6}, [17, 6])
    yield case("layernorm 17 rows", {"type": "layernorm", "input_height": 6}, [17, 6])
    # Gains with ten bits after the point: their sum with the offset is exact in f32 too (L-90).
    gains = torch.round(Draw("gains").normal(17, scale=256)) / 1024
    yield case("rmsnorm weight_offset", {"type": "rmsnorm", "input_height": 17, "weight_offset": 1}, [3, 17], weights={"gamma": gains})
    yield case("rmsnorm eps", {"type": "rmsnorm", "input_height": 17, "rms_norm_eps": 0.125}, [3, 17])
    yield case("rmsnorm small values", {"type": "rmsnorm", "input_height": 17}, Draw("small").normal(3, 17, scale=2.0**-10))
    yield case("layernorm eps", {"type": "layernorm", "input_height": 17, "eps": 0.125}, [3, 17])
    yield case("layernorm far from zero", {"type": "layernorm", "input_height": 33}, Draw("far").normal(2, 33, mean=8.0))
    yield case("layernorm unit gamma, zero beta", {"type": "layernorm", "input_height": 17}, [3, 17],
               weights={"gamma": torch.ones(17).double(), "beta": torch.zeros(17).double()})
    for groups in (1, 2, 6):
        for sizes in ([5], [3, 4], [2, 3, 2]):
            layer = {"type": "groupnorm", "input_height": 6, "num_groups": groups}
            yield case(f"groupnorm {groups} of 6, sizes {sizes}", layer, [2, 6, *sizes])
    yield case("groupnorm 2 of 34, sizes [4]", {"type": "groupnorm", "input_height": 34, "num_groups": 2}, [1, 34, 4])
    yield case("groupnorm eps", {"type": "groupnorm", "input_height": 4, "num_groups": 2, "eps": 0.125}, [2, 4, 3])
    for training in (False, True):
        for shape in ([7, 17], [33, 5], [3, 5, 4], [2, 5, 3, 4]):
            layer = {"type": "batchnorm", "input_height": shape[1]}
            yield case(f"batchnorm {shape} training {training}", layer, shape, training=training)
        layer = {"type": "batchnorm", "input_height": 5, "momentum": 0.25, "eps": 0.125}
        yield case(f"batchnorm momentum eps training {training}", layer, [6, 5], training=training)


def instancenorm_cases():
    for affine in (False, True):
        for sizes in ([5], [3, 4], [2, 3, 2], [67]):
            layer = {"type": "instancenorm", "input_height": 6, "affine": affine}
            yield case(f"instancenorm affine {affine}, sizes {sizes}", layer, [2, 6, *sizes])
    yield case("instancenorm 17 samples", {"type": "instancenorm", "input_height": 3, "affine": True}, [17, 3, 5])
    yield case("instancenorm eps", {"type": "instancenorm", "input_height": 4, "eps": 0.125}, [2, 4, 3])
