#!/usr/bin/env python3
"""Loss curves of PyTorch's optimisers: tests/golden/learning/curves.json.

usage: training_curves.py OUT_DIR      (torch 2.15.0, numpy 2.4.6; the file states the versions)

A model is a spec of Loom; the families of layers.py run it with torch's functions. Weights, inputs and targets are made by one rule on both
sides (`unit` below and src/training/curves_test.cpp), so that the file holds curves alone: 50 losses per run, in f32 and in f64. Everything on the
way is torch's: losses, autograd, torch.optim, clip_grad_norm_, lr_scheduler. `mixed_in_f32` says how far torch's own f32 curve is from its f64 one.
"""
import json
import math
import pathlib
import sys
from types import SimpleNamespace

import numpy as np
import torch
from torch.nn import functional
from torch.optim import lr_scheduler

import layers_containers
import layers_dense
import layers_feed
import layers_mha
import layers_recurrent
import layers_spatial
from layers_case import GAINS, forward_of, shapes_of

del layers_containers, layers_dense, layers_feed, layers_mha, layers_recurrent, layers_spatial  # each has registered its kinds
STEPS, BATCHES = 50, 4
torch.set_num_threads(1)


# ---- the rule ----

def hashes(stream, count):
    """The 32-bit finaliser of MurmurHash3 over stream * 2^20 + i."""
    h = (np.uint64(stream << 20) + np.arange(count, dtype=np.uint64)).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ (h >> np.uint32(shift))) * np.uint32(factor)
    return h


def unit(stream, count):
    """[-1, 1) in steps of 2^-23: exact in f32."""
    return ((hashes(stream, count) >> np.uint32(8)).astype(np.float64) * 2.0**-23 - 1).astype(np.float32)


def drawn(stream, shape, scale=1.0, offset=0.0):
    values = np.float32(offset) + np.float32(scale) * unit(stream, math.prod(shape))
    return torch.from_numpy(values.reshape(shape))


# ---- models ----

def dense(inputs, outputs, activation="linear"):
    return {"type": "dense", "input_height": inputs, "output_height": outputs, "bias": True, "activation": activation}


def chain(*layers, **options):
    return {"type": "sequential", **options, "sequential_layers": list(layers)}


def norm(width):
    return {"type": "rmsnorm", "input_height": width}


MODELS = [
    {"name": "mlp", "input": [24, 20], "classes": 5, "loss": "softmax_crossentropy",
     "layer": chain(dense(20, 33, "relu"), dense(33, 17, "tanh"), dense(17, 5))},
    {"name": "cnn", "input": [20, 3, 9, 8], "classes": 4, "loss": "softmax_crossentropy",
     "layer": chain({"type": "cnn2", "input_channels": 3, "filters": 7, "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"},
                    {"type": "maxpool", "kernel_size": 2, "stride": 2},
                    {"type": "cnn2", "input_channels": 7, "filters": 10, "kernel_size": 3, "padding": 1, "stride": 2, "bias": True, "activation": "silu"},
                    {"type": "reshape", "shape": [40]}, dense(40, 4))},
    {"name": "lstm", "input": [18, 9, 6], "values": [3], "loss": "mse",
     "layer": chain({"type": "lstm", "input_height": 6, "output_height": 19, "return_sequence": False}, dense(19, 3))},
    {"name": "transformer", "input": [17, 11], "ids": 23, "classes": 23, "labels": 11, "loss": "softmax_crossentropy",
     "layer": chain({"type": "embedding", "vocab_size": 23, "embedding_dim": 20},
                    chain(norm(20), {"type": "mha", "d_model": 20, "num_heads": 4, "num_kv_heads": 2, "head_dim": 6}, residual=True),
                    chain(norm(20), {"type": "swiglu", "input_height": 20, "output_height": 34}, residual=True),
                    norm(20), dense(20, 23))},
]


def reshape(layer, w, call):
    return call.x.reshape(call.x.shape[0], *layer["shape"])


def weights_of(model, dtype):
    """By the names of the layer, in its order; the stream is the position."""
    rules, values = [], {}
    for index, (name, shape) in enumerate(shapes_of(model["layer"]).items()):
        gain = name.split(".")[-1] in GAINS
        scale = 0.25 if gain or len(shape) == 1 else 1.0 if name.endswith("table") else float(np.float32(1.7 / math.sqrt(math.prod(shape[1:]))))
        rules.append({"name": name, "scale": scale, "offset": 1.0 if gain else 0.0})
        values[name] = drawn(index, shape, scale, rules[-1]["offset"]).to(dtype).requires_grad_()
    return rules, values


def batch_of(model, index, dtype):
    stream = 1000 + 2 * index
    count = math.prod(model["input"])
    if "ids" in model:
        x = torch.from_numpy((hashes(stream, count) % model["ids"]).astype(np.int64).reshape(model["input"]))
    else:
        x = drawn(stream, model["input"])
    samples = model["input"][0]
    if "classes" in model:
        labels = (hashes(stream + 1, samples * model.get("labels", 1)) % model["classes"]).astype(np.int64)
        return (x if "ids" in model else x.to(dtype)), torch.from_numpy(labels)
    return x.to(dtype), drawn(stream + 1, [samples, *model["values"]]).to(dtype)


# ---- runs ----

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad}
NAMES = {"momentum": "momentum", "dampening": "dampening", "nesterov": "nesterov", "alpha": "alpha", "eps": "eps", "amsgrad": "amsgrad", "centered": "centered"}


def optimizer_of(config, rate, values):
    decay = config.get("weight_decay", 0.01 if config["name"] == "adamw" else 0.0)
    vectors = decay if config.get("decay_vectors", False) else 0.0
    groups = [{"params": [w for w in values.values() if w.dim() > 1], "weight_decay": decay},
              {"params": [w for w in values.values() if w.dim() == 1], "weight_decay": vectors}]
    more = {NAMES[k]: v for k, v in config.items() if k in NAMES}
    if "beta1" in config:
        more["betas"] = (config["beta1"], config["beta2"])
    return OPTIMIZERS[config["name"]](groups, lr=rate, **more)


def schedule_of(schedule, optimizer):
    if schedule is None:
        return None
    s = dict(schedule)
    kind, warmup = s.pop("name"), s.pop("warmup_steps", 0)
    made = {
        "step": lambda: lr_scheduler.StepLR(optimizer, s["size"], s["gamma"]),
        "multi_step": lambda: lr_scheduler.MultiStepLR(optimizer, s["milestones"], s["gamma"]),
        "exponential": lambda: lr_scheduler.ExponentialLR(optimizer, s["gamma"]),
        "linear": lambda: lr_scheduler.LinearLR(optimizer, s["start_factor"], s["end_factor"], s["total"]),
        "polynomial": lambda: lr_scheduler.PolynomialLR(optimizer, s["total"], s["power"]),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, s["total"], s["min"]),
        "cosine_restarts": lambda: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, s["first_cycle"], s["cycle_mult"], s["min"]),
        "one_cycle": lambda: lr_scheduler.OneCycleLR(optimizer, s["max"], s["total"], s["pct"], div_factor=s["div"], final_div_factor=s["final_div"],
                                                     cycle_momentum=False),
        "cyclic": lambda: lr_scheduler.CyclicLR(optimizer, s["base"], s["max"], s["up"], s["down"], s["cyclic_mode"], cycle_momentum=False),
    }[kind]
    if warmup == 0:
        return made()
    after = made()
    start = s["warmup_factor"]
    return lr_scheduler.SequentialLR(optimizer, [lr_scheduler.LinearLR(optimizer, start, 1.0, warmup), after], [warmup])


def loss_of(model, run, y, target):
    if model["loss"] == "mse":
        return functional.mse_loss(y, target)
    return functional.cross_entropy(y.flatten(0, -2), target, label_smoothing=run.get("label_smoothing", 0.0))


def curve(model, run, dtype):
    _, values = weights_of(model, dtype)
    optimizer = optimizer_of(run["optimizer"], run["learning_rate"], values)
    schedule = schedule_of(run.get("schedule"), optimizer)
    losses, parts = [], run.get("accumulate", 1)
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for part in range(parts):
            x, target = batch_of(model, (step * parts + part) % BATCHES, dtype)
            call = SimpleNamespace(x=x, external=None, lengths=None, state=None, mask=None, training=True, y_state={}, after={})
            loss = loss_of(model, run, forward_of(model["layer"], values, call), target) / parts
            loss.backward()
            total += loss.item()
        if "clip_norm" in run:
            torch.nn.utils.clip_grad_norm_(values.values(), run["clip_norm"])
        if "clip_value" in run:
            torch.nn.utils.clip_grad_value_(values.values(), run["clip_value"])
        optimizer.step()
        if schedule is not None:
            schedule.step()
        losses.append(total)
    return losses


def runs_of(model):
    fast = {"mlp": 1.0, "cnn": 1.0, "lstm": 1.0, "transformer": 1.0}[model]
    yield {"optimizer": {"name": "sgd"}, "learning_rate": 0.1 * fast}
    yield {"optimizer": {"name": "sgd", "momentum": 0.9}, "learning_rate": 0.05 * fast}
    yield {"optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, "learning_rate": 0.05 * fast}
    yield {"optimizer": {"name": "sgd", "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.02, "decay_vectors": True}, "learning_rate": 0.1 * fast}
    yield {"optimizer": {"name": "adam"}, "learning_rate": 0.01}
    yield {"optimizer": {"name": "adam", "beta1": 0.8, "beta2": 0.99, "weight_decay": 0.01}, "learning_rate": 0.005}
    yield {"optimizer": {"name": "adamw"}, "learning_rate": 0.01}
    yield {"optimizer": {"name": "adam", "amsgrad": True}, "learning_rate": 0.01}
    yield {"optimizer": {"name": "adamw", "amsgrad": True, "weight_decay": 0.1}, "learning_rate": 0.005}
    yield {"optimizer": {"name": "rmsprop"}, "learning_rate": 0.002}
    yield {"optimizer": {"name": "rmsprop", "centered": True}, "learning_rate": 0.002}
    yield {"optimizer": {"name": "rmsprop", "momentum": 0.9}, "learning_rate": 0.0005}
    yield {"optimizer": {"name": "adagrad"}, "learning_rate": 0.03}
    if model != "mlp":
        return
    momentum = {"name": "sgd", "momentum": 0.9}
    # Loom holds the last rate after `total`, where torch goes on (cosine rises again), so totals are the 50 steps.
    schedules = (
        {"name": "step", "size": 7, "gamma": 0.5}, {"name": "multi_step", "milestones": [5, 11, 30], "gamma": 0.3}, {"name": "exponential", "gamma": 0.93},
        {"name": "linear", "start_factor": 0.25, "end_factor": 1.0, "total": 20}, {"name": "polynomial", "power": 2.0, "total": 40},
        {"name": "cosine", "total": 50, "min": 0.001}, {"name": "cosine_restarts", "first_cycle": 7, "cycle_mult": 2, "min": 0.001},
        {"name": "one_cycle", "max": 0.1, "total": 50, "pct": 0.3, "div": 25.0, "final_div": 1e4},
        {"name": "cyclic", "base": 0.001, "max": 0.1, "up": 6, "down": 9, "cyclic_mode": "triangular2"},
    )
    for schedule in schedules:
        yield {"optimizer": momentum, "learning_rate": 0.05, "schedule": schedule}
    yield {"optimizer": momentum, "learning_rate": 0.05, "clip_norm": 0.3}
    yield {"optimizer": momentum, "learning_rate": 0.05, "clip_value": 0.01}
    yield {"optimizer": momentum, "learning_rate": 0.05, "label_smoothing": 0.2}
    yield {"optimizer": {"name": "adam"}, "learning_rate": 0.01, "accumulate": 2}
    yield {"optimizer": {"name": "adamw", "weight_decay": 0.05}, "learning_rate": 0.02, "accumulate": 2, "clip_norm": 0.4, "clip_value": 0.05,
           "label_smoothing": 0.1, "schedule": {"name": "cosine", "total": 42, "min": 0.001, "warmup_steps": 8, "warmup_factor": 0.125}}


def name_of(run):
    def words(options):
        return [f"{k} {v}" for k, v in options.items() if k != "name"]
    parts = [run["optimizer"]["name"], *words(run["optimizer"])]
    parts += [f"{k} {v}" for k, v in run.items() if k not in ("optimizer", "learning_rate", "schedule")]
    if "schedule" in run:
        parts.append("schedule " + run["schedule"]["name"])
    return ", ".join(parts)


def numbers(values, digits):
    return [float(f"{v:.{digits}g}") for v in values]


def main(out):
    from layers_case import KINDS
    KINDS.setdefault("reshape", (lambda layer: {}, reshape))
    models = []
    for model in MODELS:
        runs = []
        for run in runs_of(model["name"]):
            single, double = curve(model, run, torch.float32), curve(model, run, torch.float64)
            off = max(abs(a - b) / abs(b) for a, b in zip(single, double))
            print(f"{model['name']:12} {name_of(run):100} {double[0]:9.4f} {double[-1]:9.4f}  f32 beside f64 {off:.1e}", flush=True)
            runs.append({"name": name_of(run), **run, "f32": numbers(single, 8), "f64": numbers(double, 13)})
        models.append({**model, "weights": weights_of(model, torch.float32)[0], "runs": runs})
    head = {"made_by": "tools/golden/training_curves.py", "versions": {"torch": torch.__version__, "numpy": np.__version__}, "batches": BATCHES}
    lines = []
    for model in models:
        runs = ",\n".join(json.dumps(r, separators=(",", ":")) for r in model.pop("runs"))
        lines.append(f'{json.dumps(model, separators=(",", ":"))[:-1]},"runs":[\n{runs}\n]}}')
    text = ",\n".join(lines)
    (pathlib.Path(out) / "curves.json").write_text(f'{json.dumps(head)[:-1]},"models":[\n{text}\n]}}\n', encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1])
