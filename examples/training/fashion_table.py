#!/usr/bin/env python3
"""The tables of docs/guide/training.md and docs/guide/tween.md: Fashion-MNIST and MNIST by backprop and by targets, in several types.

    tools/fetch_data.sh data digits10k
    examples/training/fashion_table.py qat|cnn|mnist|tween|kinds|inverse [--loom build/bin/loom] [--jobs 1] [--threads 2] [--only TEXT]

Writes a config per row below build/fashion, trains it with `loom train` and prints: name, percent right of the test images (MNIST: of the
fifth that was held out), seconds of processor time, peak memory of the program with its data, first digits of the weight hash. The hash
is the same on every machine and for any number of threads; the seconds are not.
"""

import argparse
import json
import os
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import digits_to_idx

DATA = pathlib.Path(os.environ.get("LOOM_DATA", pathlib.Path.home() / ".cache/loom/data")) / "data/fashion-mnist"


def data(limit=0, normalise=(0, 0.00392156862), shape=None):
    def files(part):
        return {**({"shape": shape} if shape else {}), "inputs": str(DATA / f"{part}-images-idx3-ubyte.gz"), "targets": str(DATA / f"{part}-labels-idx1-ubyte.gz")}

    config = {"format": "idx", **files("train"), "validation": {"format": "idx", **files("t10k")}}
    config["normalise"] = {"by": "whole", "offset": [normalise[0]], "scale": [normalise[1]]}
    return {**config, "limit": limit} if limit else config


def dense(sizes, activation="relu", dropout=0.0):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        last = i == len(sizes) - 2
        layers.append({"type": "dense", "input_height": a, "output_height": b, "bias": True, **({} if last else {"activation": activation})})
        if dropout and not last:
            layers.append({"type": "dropout", "rate": dropout})
    return layers


def convolutions():
    conv = {"type": "cnn2", "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"}
    return [{**conv, "input_channels": 1, "filters": 32, "input_height": 28}, {"type": "maxpool", "kernel_size": 2},
            {**conv, "input_channels": 32, "filters": 64, "input_height": 14}, {"type": "maxpool", "kernel_size": 2},
            {"type": "reshape", "shape": [3136]}, {"type": "dropout", "rate": 0.2}, *dense([3136, 128, 10], dropout=0.2)]


def qat(network, dtype, epochs):
    config = {"network": network, "data": data(normalise=(72.9404, 0.0111)), "loss": "softmax_crossentropy",
              "optimizer": {"name": "adam", "learning_rate": 0.001}, "schedule": {"name": "cosine"}, "epochs": epochs,
              "batch_size": 64, "shuffle": True, "seed": 7}
    return config if dtype == "float32" else {**config, "dtype": dtype}


def by_targets(sizes, activation, dtype, optimizer, tween, seed):
    config = {"network": {"seed": seed, "input_shape": [784], "layers": dense(sizes, activation)}, "data": data(20000),
              "loss": "softmax_crossentropy", "optimizer": optimizer, "epochs": 4, "batch_size": 64, "shuffle": True, "seed": seed}
    if dtype != "float32":
        config["dtype"] = dtype
    return config if tween is None else {**config, "tween": tween}


def digits():
    """The two packages of MNIST digits: name and data of each, four fifths to train."""
    split = {"validation_split": 0.2, "split": "shuffled"}
    scale = {"by": "whole", "offset": [0], "scale": [0.00392156862745098]}
    yield "5k", {"format": "csv", "path": str(DATA.parent / "mnist_5k.csv.gz"), "header": False, "class_ids": True, "normalise": scale, **split}
    idx = digits_to_idx.convert(DATA.parent / "mnist10k-json", DATA.parent / "mnist10k")
    yield "10k", {"format": "idx", "inputs": str(idx[0]), "targets": str(idx[1]), "normalise": scale, **split}


# Networks that read a picture as rows one after another, or as a plane: name, shape of a sample, layers.
def small_networks():
    def flat(size):
        return [{"type": "reshape", "shape": [size]}, *dense([size, 10])]

    def beside(*layers):
        return {"type": "sequential", "residual": True, "sequential_layers": [{"type": "rmsnorm", "input_height": 32}, *layers]}

    conv = {"type": "cnn2", "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"}
    yield "cnn", [1, 28, 28], [{**conv, "input_channels": 1, "filters": 8, "input_height": 28}, {"type": "maxpool", "kernel_size": 2},
                               {**conv, "input_channels": 8, "filters": 16, "input_height": 14}, {"type": "maxpool", "kernel_size": 2}, *flat(784)]
    yield "lstm", [28, 28], [{"type": "lstm", "input_height": 28, "output_height": 64}, *flat(28 * 64)]
    yield "transformer", [28, 28], [{"type": "dense", "input_height": 28, "output_height": 32, "bias": True, "activation": "linear"},
                                    beside({"type": "mha", "d_model": 32, "num_heads": 4, "max_seq_len": 28}),
                                    beside({"type": "swiglu", "input_height": 32, "output_height": 64}), *flat(28 * 32)]


def rows(table):
    if table == "qat":
        mlp = {"seed": 1, "input_shape": [784], "layers": dense([784, 512, 256, 10], dropout=0.2)}
        for dtype in ("float32", "int8", "int4", "ternary", "binary"):
            yield f"mlp_{dtype}", qat(mlp, dtype, 15)
    if table == "cnn":
        cnn = {"seed": 1, "input_shape": [1, 28, 28], "layers": convolutions()}
        for dtype in ("float32", "int8", "int4", "ternary", "binary"):
            yield f"cnn_{dtype}", qat(cnn, dtype, 6)
    if table == "mnist":
        mlp = {"seed": 1, "input_shape": [784], "layers": dense([784, 512, 256, 10], dropout=0.2)}
        for size, source in digits():
            for dtype in ("float32", "int8", "int4", "ternary", "binary"):
                for name, network, shape in (("mlp", mlp, [784]), ("cnn", {"seed": 1, "input_shape": [1, 28, 28], "layers": convolutions()}, [1, 28, 28])):
                    yield f"mnist{size}_{name}_{dtype}", {**qat(network, dtype, 15 if name == "mlp" else 8), "data": {**source, "shape": shape}}
    if table == "kinds":
        for name, shape, layers in small_networks():
            for rate in (0.03, 0.1, 0.3):
                sgd = {"name": "sgd", "learning_rate": rate}
                momentum = {**sgd, "momentum": 0.9, "dampening": 0.9}
                for how, optimizer, tween in (("backprop", momentum, None), ("secant", sgd, {"mode": "layerwise"}), ("chain", sgd, {"mode": "chain"}),
                                              ("mirror", momentum, {"mode": "mirror"})):
                    config = {"network": {"seed": 1, "input_shape": shape, "layers": layers}, "data": data(10000, shape=shape),
                              "loss": "softmax_crossentropy", "optimizer": optimizer, "epochs": 3, "batch_size": 64, "shuffle": True, "seed": 1}
                    yield f"{name}_{how}_{rate}", config if tween is None else {**config, "tween": tween}
    if table == "inverse":
        source = {**dict(digits())["10k"], "shape": [784]}
        for activation in ("tanh", "relu"):
            for seed in (1, 2, 3):
                network = {"seed": seed, "input_shape": [784], "layers": dense([784, 256, 128, 10], activation)}
                for learner in ("backprop", "chain", "mirror", "dtp"):
                    optimizers = [{"name": "sgd", "learning_rate": rate} for rate in (0.1, 0.3, 1.0, 3.0)]
                    if learner != "chain":
                        optimizers = [{**sgd, "momentum": 0.9, "dampening": 0.9} for sgd in optimizers]
                        optimizers += [{"name": "adam", "learning_rate": rate} for rate in (0.0003, 0.001, 0.003, 0.01)]
                    for optimizer in optimizers:
                        config = {"network": network, "data": source, "loss": "softmax_crossentropy", "optimizer": optimizer,
                                  "epochs": 10, "batch_size": 64, "shuffle": True, "seed": seed}
                        yield (f"inverse_{activation}_{learner}_{optimizer['name']}_{optimizer['learning_rate']}_{seed}",
                               config if learner == "backprop" else {**config, "tween": {"mode": learner}})
    if table == "tween":
        small, deep = [784, 256, 128, 10], [784, *[256] * 7, 10]
        for seed in (1, 2, 3, 4, 5):
            for rate in (0.03, 0.1, 0.3):
                sgd = {"name": "sgd", "learning_rate": rate}
                momentum = {**sgd, "momentum": 0.9, "dampening": 0.9}
                plain = {"mode": "layerwise", "slope": "sign", "target_scale": "weight_sum"}
                learners = {"mirror": (momentum, {"mode": "mirror"})} if rate < 0.3 else {}
                if rate > 0.03:
                    learners.update(backprop=(momentum, None), secant=(sgd, {"mode": "layerwise"}), chain=(sgd, {"mode": "chain"}))
                if seed == 1 and rate == 0.3:
                    learners.update(plain=(sgd, plain))
                for name, sizes, activation, dtypes in (("relu", small, "relu", ("float32", "bfloat16", "int8", "ternary", "binary")),
                                                        ("sign", small, "sign", ("float32", "ternary", "binary")), ("deep", deep, "relu", ("float32",))):
                    for dtype in dtypes:
                        for learner, (optimizer, tween) in learners.items():
                            yield f"{name}_{dtype}_{learner}_{rate}_{seed}", by_targets(sizes, activation, dtype, optimizer, tween, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=("qat", "cnn", "mnist", "tween", "kinds", "inverse"))
    parser.add_argument("--loom", default="build/bin/loom")
    parser.add_argument("--out", default="build/fashion")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)

    def run(item):
        name, config = item
        (out / f"{name}.json").write_text(json.dumps(config, indent=1))
        with open(out / f"{name}.out", "w+", encoding="utf-8") as output, open(out / f"{name}.err", "w+", encoding="utf-8") as error:
            child = subprocess.Popen([options.loom, "train", out / f"{name}.json", "--overwrite", "-q", "--json", "-t", str(options.threads)],
                                     stdout=output, stderr=error)
            _, _, used = os.wait4(child.pid, 0)
            output.seek(0), error.seek(0)
            printed, complaint = output.read(), error.read()
        if not printed:
            return f"{name}  {complaint.strip()}"
        result = json.loads(printed)
        right, seconds, megabytes = 100 * result["validation"]["accuracy"], used.ru_utime + used.ru_stime, used.ru_maxrss / 1000
        return f"{name:32} {right:6.2f} %  {seconds:7.1f} s  {megabytes:6.0f} MB  {result['stop_reason']:9} {result['hash'][:16]}"

    wanted = [row for row in rows(options.table) if options.only in row[0]]
    with ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(run, wanted):
            print(line, flush=True)


if __name__ == "__main__":
    main()
