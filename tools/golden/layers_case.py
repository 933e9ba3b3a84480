"""Every family of layer goldens shares this module: the table of kinds, seeded values, one case from a layer's spec, the file itself.

A kind is two functions of the spec (the JSON object of the layer): `shapes(layer)` names its weights, `forward(layer, w, call)` computes y with
torch in f64. `case` draws values that are exact in f32, runs the kind, and lets autograd make the gradients.
"""
import base64
import json
import math
import zlib
from types import SimpleNamespace

import numpy
import torch

KINDS = {}      # type -> (shapes, forward)
GAINS = ("gamma", "q_norm", "k_norm", "inner_norm")
OFFSETS = ("beta", "bias", "bias_hh", "running_mean")


def kind(name, shapes=lambda layer: {}):
    def register(forward):
        KINDS[name] = (shapes, forward)
        return forward
    return register


class Draw:
    """Values that depend on the case's name alone, so that a new case moves no other one."""

    def __init__(self, name):
        self.random = numpy.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, scale=1.0, mean=0.0):
        values = numpy.asarray(self.random.standard_normal(shape) * scale + mean)
        return torch.from_numpy(values.astype(numpy.float32).astype(numpy.float64))

    def integers(self, below, *shape):
        return torch.from_numpy(self.random.randint(0, below, shape).astype(numpy.float64))

    def weight(self, name, shape):
        last = name.split(".")[-1]
        if last in GAINS:
            return self.normal(*shape, scale=0.25, mean=1.0)
        if last in OFFSETS:
            return self.normal(*shape, scale=0.5)
        if last == "running_var":
            return (self.normal(*shape).abs() + 0.5).float().double()
        if last in ("table", "centers"):
            return self.normal(*shape)
        return self.normal(*shape, scale=1 / math.sqrt(math.prod(shape[1:])))


def shapes_of(layer):
    return KINDS[layer["type"]][0](layer)


def forward_of(layer, w, call):
    return KINDS[layer["type"]][1](layer, w, call)


def stored(value, dtype):
    values = value.detach().numpy()
    if dtype == "f32" and not numpy.array_equal(values, values.astype(numpy.float32).astype(numpy.float64)):
        raise ValueError("an input is not exact in f32")
    if not numpy.isfinite(values).all():
        raise ValueError("not finite")
    raw = numpy.ascontiguousarray(values, dtype="<f4" if dtype == "f32" else "<f8").tobytes()
    return {"shape": list(value.shape), dtype: base64.b64encode(raw).decode()}


def all_stored(values, dtype):
    return {name: stored(value, dtype) for name, value in values.items()}


def case(name, layer, x, *, weights=None, backward=True, ids=False, **given):
    """One case. x: a shape, or values. `weights` replaces drawn ones; `given`: external, lengths, state, mask, training."""
    draw = Draw(name)
    x = draw.normal(*x) if isinstance(x, (list, tuple)) else x.clone()
    w = {key: draw.weight(key, shape) for key, shape in shapes_of(layer).items()}
    w.update(weights or {})
    call = SimpleNamespace(**{"x": x, "external": None, "lengths": None, "state": None, "mask": None, "training": False, "y_state": {}, "after": {}, **given})
    leaves = {} if ids else {"dx": x}
    if call.external is not None:
        leaves["d_external"] = call.external
    trained = {key: value for key, value in w.items() if not key.split(".")[-1].startswith("running_")}
    for leaf in (*leaves.values(), *trained.values()):
        leaf.requires_grad_(backward)
    y = forward_of(layer, w, call)

    out = {"name": name, "layer": layer, "training": call.training, "x": stored(x, "f32")}
    if call.external is not None:
        out["external"] = stored(call.external, "f32")
    if call.lengths is not None:
        out["lengths"] = call.lengths
    if call.state is not None:
        out["state"] = all_stored(call.state, "f32")
    if call.mask is not None:
        out["mask"] = stored(call.mask, "f32")
    out.update({"weights": all_stored(w, "f32"), "y": stored(y, "f64")})
    if call.y_state:
        out["y_state"] = all_stored(call.y_state, "f64")
    if backward:
        dy = draw.normal(*y.shape)
        wanted = {**leaves, **trained}
        grads = torch.autograd.grad(y, list(wanted.values()), dy, allow_unused=True) if wanted else []
        grads = {key: torch.zeros_like(wanted[key]) if g is None else g for key, g in zip(wanted, grads)}
        out["dy"] = stored(dy, "f32")
        out.update({key: stored(grads[key], "f64") for key in leaves})
        out["grads"] = {key: stored(grads[key], "f64") for key in trained}
    if call.after:
        out["after"] = all_stored(call.after, "f64")
    return out


def write(path, cases):
    names = [c["name"] for c in cases]
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: two cases of one name")
    head = json.dumps({"made_by": "tools/golden/layers.py", "versions": {"torch": torch.__version__, "numpy": numpy.__version__}}, separators=(",", ":"))
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.write(f'{head[:-1]},"cases":[\n{lines}\n]}}\n')
