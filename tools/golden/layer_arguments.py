#!/usr/bin/env python3
"""The arguments that the constructors of layers and estimators take, by framework: tests/golden/planets/arguments.json.

usage: layer_arguments.py [FILE]      needs torch, keras, flax, equinox and scikit-learn (those that are missing keep
the entry that the file has)

A test compares the tables of python/welvet/bridge/settings.py with it. Classes are those that the tables name.
"""

import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("KERAS_BACKEND", "torch")
# Where the classes of each table are, and the package whose version counts.
PLACES = {
    "TORCH": ("torch", ["torch.nn", "torch.nn.modules.linear"]),
    "KERAS": ("keras", ["keras.layers"]),
    "FLAX": ("flax", ["flax.linen", "flax.nnx"]),
    "EQUINOX": ("equinox", ["equinox.nn"]),
    "SKLEARN": ("sklearn", ["sklearn.linear_model", "sklearn.svm", "sklearn.decomposition", "sklearn.preprocessing",
                            "sklearn.neural_network", "sklearn.pipeline"]),
}


def arguments(cls):
    """Names of the arguments, without those that stand for any number of others."""
    cls = next((c for c in cls.__mro__ if "args" not in inspect.signature(c.__init__).parameters), cls)
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    found = inspect.signature(cls.__init__).parameters.items()
    return [name for name, p in found if name != "self" and p.kind not in kinds]


# torch.nn's recurrent classes hand any arguments on: those of their documentation.
RECURRENT = ["input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "device", "dtype"]
MORE = {"RNN": [*RECURRENT, "nonlinearity"], "LSTM": [*RECURRENT, "proj_size"], "GRU": RECURRENT}


def read(table, names):
    package, modules = PLACES[table]
    found = {"version": importlib.import_module(package).__version__, "classes": {}}
    for module in map(importlib.import_module, modules):
        for name in names:
            cls = getattr(module, name, None)
            if cls is not None:
                more = MORE[name] if table == "TORCH" and name in MORE else arguments(cls)
                found["classes"].setdefault(name, [])
                found["classes"][name] = sorted({*found["classes"][name], *more})
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    from welvet.bridge import settings

    file = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "tests/golden/planets/arguments.json")
    known = json.loads(file.read_text()) if file.exists() else {}
    for table in PLACES:
        if importlib.util.find_spec(PLACES[table][0]):
            known[table] = read(table, getattr(settings, table))
    file.write_text(json.dumps(known, indent=1) + "\n")
