#!/usr/bin/env python3
"""Traces of models of PyTorch as torch.fx and torch.export give them: tests/golden/planets/graphs.json and .npz.

usage: torch_graphs.py [FOLDER]       needs torch, numpy and WELVET_LIBRARY

graphs.json is {"made_by", "version", "models"}: of each model its class, the options of the reading, whether torch.fx
could trace it, the nodes of the trace, and its modules with their settings. graphs.npz holds the tensors by number,
MODEL/x and MODEL/y. tests/python/bridge/recorded_torch.py plays them where there is no PyTorch.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "python" / "bridge"), str(ROOT / "python")]

import models_torch
import numpy
import torch
from welvet import bridge
from welvet.bridge import torch_reader

arrays = {}


def written(value):
    """A value as JSON: tensors by their numbers, nodes by their names."""
    if isinstance(value, torch.Tensor):
        key = (value.data_ptr(), tuple(value.shape), value.stride())
        number = next((n for n, (k, _, _) in arrays.items() if k == key), str(len(arrays)))
        arrays[number] = (key, value, numpy.array(value.detach().numpy()))
        return {"tensor": number, "learns": value.requires_grad}
    if isinstance(value, torch.fx.Node):
        return {"node": value.name}
    if isinstance(value, slice):
        return {"slice": [written(v) for v in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"dict": {name: written(v) for name, v in value.items()}}
    if isinstance(value, (tuple, list, torch.Size)):
        return {"tuple": [written(v) for v in value]}
    if value is Ellipsis:
        return {"ellipsis": True}
    return value if isinstance(value, (int, float, str, bool, type(None))) else {"other": str(value)}


def module(m):
    """A module: its class, settings, tensors and parts."""
    kept = {name: v for name, v in vars(m).items() if not name.startswith("_") or name == "_qkv_same_embed_dim"}
    kept = {name: v for name, v in kept.items() if isinstance(v, (int, float, str, bool, tuple, list, type(None)))}
    tensors = {**m._parameters, **m._buffers}
    return {
        "class": type(m).__name__,
        "module": type(m).__module__,
        "settings": {name: written(v) for name, v in kept.items()},
        "tensors": {name: written(t) for name, t in tensors.items()},
        "parts": {name: module(part) for name, part in m._modules.items()},
    }


def target_of(n):
    packet = getattr(n.target, "overloadpacket", None)
    if packet is not None:
        return {"packet": packet.__name__}
    return n.target if isinstance(n.target, str) else {"function": n.target.__name__}


def record(name, model, sample, options):
    """The trace that reading the model goes through."""
    met, run = [], torch_reader._run

    def noted(reader, traced, tensors):
        values = run(reader, traced, tensors)
        met.append((reader, traced, values))
        return values

    torch_reader._run = noted
    try:
        bridge.to_spec(model, sample, **options)
    finally:
        torch_reader._run = run
    reader, traced, values = met[0]
    nodes = [
        {"name": n.name, "op": n.op, "target": target_of(n), "args": written(n.args), "kwargs": written(dict(n.kwargs)),
         "value": written(reader.values.get(n))}
        for n in traced.graph.nodes if n.op != "output"
    ]
    answer = next(n for n in traced.graph.nodes if n.op == "output").args[0]
    held = {n.target: traced.tensors[n.target] if n.target in traced.tensors else torch_reader._attribute(traced, n.target)
            for n in traced.graph.nodes if n.op == "get_attr"}
    return {
        "options": options,
        "is_exported": traced.is_exported,
        "model": module(model),
        "nodes": nodes,
        "answer": written(traced.graph.process_outputs(answer)),
        "values": written(values),
        "held": {place: written(value) for place, value in held.items()},
    }


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "tests" / "golden" / "planets")
    models, samples = {}, {}
    for name, model, sample, options, pick in models_torch.recorded():
        model.eval()
        models[name] = record(name, model, sample, options)
        samples[f"{name}/x"], samples[f"{name}/y"] = sample, pick(models_torch.answers(model, sample)).numpy()
    about = {"made_by": "tools/golden/torch_graphs.py", "version": torch.__version__, "models": models}
    (folder / "graphs.json").write_text(json.dumps(about, separators=(",", ":")) + "\n")
    numpy.savez(folder / "graphs.npz", **samples, **{number: value for number, (_, _, value) in arrays.items()})
