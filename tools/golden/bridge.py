#!/usr/bin/env python3
"""Writes tests/golden/bridge/PLANET.json: streams as planetbridging 0.7.3 sends them, with the framework's own outputs.

    pip install planetbridging==0.7.3 torch     (or tensorflow-cpu, or jax flax optax, or scikit-learn)
    PLANETBRIDGING_LOOM_STREAM=build/bin/loom-stream python3 tools/golden/bridge.py pytorch

planetbridging makes and trains its models, reads their live weights and runs them; this script keeps what it sends to the program, the first samples of
its fixtures, and what the framework gave for them. Kinds that planetbridging lacks are taken from PyTorch by the functions below. Numbers are written as
the shortest text of a float32 or, for outputs, as they came.
"""
import argparse
import contextlib
import io
import json
import pathlib

import numpy as np

from planetbridging import bedrocks, engines, stream
from planetbridging._binary import repo_root
from planetbridging._fixtures import load_fixture_arrays

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/bridge"
SAMPLES = 3
# Small models, the square ones among them; the names are those of the manifests.
MODELS = [
    ("dense", "mlp_16_16_16_16_4_relu"), ("dense", "mlp_32_16_4_tanh"), ("dense", "mlp_32_16_4_sigmoid"), ("dense", "linear_16_4"),
    ("cnn1", "conv1_32_8_4_2layer"), ("cnn2", "conv2_8_4_2layer"), ("cnn3", "conv3_4_4_2layer"), ("mha", "mha_8_2_4"), ("lstm", "lstm_4_8_4"),
    ("rnn", "rnn_8_4_8"), ("layernorm", "layernorm_8"), ("embedding", "embedding_16_4_4"), ("rmsnorm", "rmsnorm_8"), ("swiglu", "swiglu_4_8_4"),
    ("residual", "residual_8"), ("mixer", "mixer_all_v1"), ("mixer", "mixer_all_v2"),
]


def shortest(value):
    """Lists of numbers with as few digits as float32 needs."""
    if isinstance(value, list):
        return [shortest(v) for v in value]
    if isinstance(value, float):
        return float(str(np.float32(value)))
    if isinstance(value, dict):
        return {k: shortest(v) for k, v in value.items()}
    return value


def samples_of(bedrock, payload):
    """The first samples of a fixture, cut as the payload's first layer reads them."""
    data = load_fixture_arrays(bedrock, repo_root(), payload["fixture_version"])
    first = payload["layers"][0]
    steps = payload.get("seq_len")
    if bedrock == "dense":
        cut = (first["input_dim"],)
    elif bedrock.startswith("cnn") or bedrock == "mixer":
        cut = (first["in_channels"],) + tuple(first[k] for k in ("input_length", "input_depth", "input_height", "input_width") if k in first)
    elif bedrock == "embedding":
        cut = (steps,)
    else:
        cut = (steps, first.get("d_model") or first.get("input_size") or first.get("input_dim") or first["dim"])
    take = lambda name: data[name][(slice(0, SAMPLES),) + tuple(slice(0, n) for n in cut)].tolist()
    if bedrock == "residual":
        return {"inputs": take("x_main_test"), "skip_inputs": take("x_skip_test")}
    out = {"inputs": take("x_test")}
    if any(layer.get("kind") == "embedding" for layer in payload["layers"][1:]):
        out["token_inputs"] = data["token_ids_test"][:SAMPLES].tolist()
    return out


def planet_case(bedrock, planet, model):
    """Returns the payload that planetbridging sends for a model, and the framework's results."""
    sent = []
    real = stream.run_loom_stream

    def keep(**arguments):
        sent.append(arguments["payload"])
        return real(**arguments)

    stream.run_loom_stream = keep
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            result = engines.stream(bedrock, planet, model_id=model)
    finally:
        stream.run_loom_stream = real
    payload = shortest(sent[-1])
    return {"payload": payload, **samples_of(bedrock, payload), "native_outputs": result.native[:SAMPLES].tolist()}


def flat(tensor):
    return [float(v) for v in tensor.detach().numpy().astype(np.float32).reshape(-1)]


def torch_case(bedrock, layers, module, x, root=None):
    import torch
    module.eval()
    with torch.no_grad():
        y = module(x)
        y = (y[0] if isinstance(y, tuple) else y).reshape(x.shape[0], -1)
    payload = {"bedrock": bedrock, "planet": "pytorch", "model_id": bedrock + "_torch", "layers": layers, **(root or {})}
    return {"payload": shortest(payload), "inputs": shortest(x.tolist()), "native_outputs": y.double().tolist()}


def extra_cases():
    """Kinds beyond planetbridging's, from PyTorch."""
    import torch
    from torch import nn
    torch.manual_seed(7)
    cases = []
    for axes, conv in ((1, nn.ConvTranspose1d), (2, nn.ConvTranspose2d), (3, nn.ConvTranspose3d)):
        module = conv(3, 4, 3, stride=2, padding=1, output_padding=1)
        keys = {1: ["input_length"], 2: ["input_height", "input_width"], 3: ["input_depth", "input_height", "input_width"]}[axes]
        extents = [3, 4, 2][:axes]
        layer = {"in_channels": 3, "filters": 4, "kernel_size": 3, "stride": 2, "padding": 1, "output_padding": 1, "layout": "in_out", "activation": "linear",
                 "weights": flat(module.weight), "bias": flat(module.bias), **dict(zip(keys, extents))}
        cases.append(torch_case(f"convtransposed{axes}", [layer], module, torch.randn(SAMPLES, 3, *extents)))
    cases.append(torch_case("softmax", [{"dim": 7}], nn.Softmax(-1), torch.randn(SAMPLES, 7)))
    gru = nn.GRU(3, 5, batch_first=True)
    w_ih, w_hh, b_ih, b_hh = gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0
    gate = lambda g: (w_ih[5 * g:5 * g + 5], w_hh[5 * g:5 * g + 5], b_ih[5 * g:5 * g + 5], b_hh[5 * g:5 * g + 5])
    packed = {}
    for g, name in enumerate("rzn"):
        i, h, bi, bh = gate(g)
        packed[name + "_weights"] = flat(i) + flat(h) + (flat(bi) + flat(bh) if name == "n" else flat(bi + bh))
    cases.append(torch_case("gru", [{"input_size": 3, "hidden_size": 5, "seq_len": 4, **packed}], gru, torch.randn(SAMPLES, 4, 3)))
    window = {"in_channels": 2, "input_height": 6, "input_width": 5, "kernel_size": 2}
    cases.append(torch_case("pooling", [{"mode": "max", "axes": 2, **window}], nn.MaxPool2d(2), torch.randn(SAMPLES, 2, 6, 5)))
    cases.append(torch_case("pooling", [{"mode": "avg", "axes": 2, "stride": 1, "padding": 1, **window}], nn.AvgPool2d(2, 1, 1), torch.randn(SAMPLES, 2, 6, 5)))
    norm = nn.BatchNorm2d(3)
    norm(torch.randn(16, 3, 4, 4) * 2 + 1)  # moves the running statistics
    nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
    cases.append(torch_case("batchnorm", [{"channels": 3, "weights": flat(norm.weight) + flat(norm.bias) + flat(norm.running_mean) + flat(norm.running_var)}],
                            norm, torch.randn(SAMPLES, 3, 4, 4), {"input_shape": [3, 4, 4]}))
    group = nn.GroupNorm(2, 4)
    nn.init.normal_(group.weight), nn.init.normal_(group.bias)
    cases.append(torch_case("groupnorm", [{"channels": 4, "num_groups": 2, "weights": flat(group.weight) + flat(group.bias)}], group,
                            torch.randn(SAMPLES, 4, 3, 3), {"input_shape": [4, 3, 3]}))
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 5))
    spec = {"input_shape": [1, 6, 6], "layers": [
        {"type": "cnn2", "filters": 3, "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"}, {"type": "maxpool", "kernel_size": 2},
        {"type": "flatten"}, {"type": "dense", "input_height": 27, "output_height": 5, "bias": True}]}
    weights = {"layers.0.weight": flat(net[0].weight), "layers.0.bias": flat(net[0].bias), "layers.3.weight": flat(net[4].weight), "layers.3.bias": flat(net[4].bias)}
    case = torch_case("network", [], net, torch.randn(SAMPLES, 1, 6, 6), {"network": spec, "weights": weights})
    del case["payload"]["layers"]
    return cases + [case]


def versions(planet):
    import importlib.metadata
    names = {"pytorch": ["torch"], "tensorflow": ["tensorflow-cpu", "keras"], "jax": ["jax", "flax"], "sklearn": ["scikit-learn"]}[planet]
    return {name: importlib.metadata.version(name) for name in ["planetbridging", "numpy"] + names}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("planet", choices=["pytorch", "tensorflow", "jax", "sklearn"])
    planet = parser.parse_args().planet
    cases = [planet_case(b, planet, m) for b, m in MODELS if planet in bedrocks.BEDROCK_PLANETS[b]]
    if planet == "pytorch":
        cases += extra_cases()
    GOLDEN.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / f"{planet}.json").write_text('{"versions":%s,"cases":[\n%s\n]}\n' % (json.dumps(versions(planet)), lines))
    print(planet, len(cases), "streams")


main()
