#!/usr/bin/env python3
"""Networks of every kind as ONNX files, judged by onnx.checker and onnxruntime.

usage: onnx_export.py LOOM [--write]

Each case is a network spec. `loom export` writes it, onnx.checker checks the file (with its shapes), and onnxruntime's output is
compared with that of `loom run` on the same input of two samples. --write keeps the specs in tests/golden/export/cases.json and
the judgement of each in tests/golden/export/record.tsv: case, SHA-256 of the file, largest difference, largest number. A test
writes each file again and compares its hash, so that it needs neither package. Versions: the first line of the record.
"""
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/export"
TOLERANCE = 1e-5  # relative to the largest number of the output, or to 1


def numbers(count, seed, least=-0.5, most=0.5):
    """Numbers with four digits, so that the specs stay short."""
    drawn = np.random.default_rng(seed).uniform(least, most, count)
    return [round(float(v), 4) for v in drawn]


def net(shape, *layers, **keys):
    return {"input_shape": list(shape), "seed": 7, **keys, "layers": list(layers)}


def dense(i, o, **keys):
    return {"type": "dense", "input_height": i, "output_height": o, "bias": True, "weights": {"bias": numbers(o, i + o)}, **keys}


def activations():
    names = ("relu silu gelu tanh sigmoid leakyrelu relu2 gelu_exact softplus mish hard_sigmoid hard_swish hard_tanh elu selu relu6 "
             "softsign quick_gelu sign step").split()
    for name in names:
        yield f"activation_{name}", net([9], dense(9, 16), {"type": "activation", "activation": name})
    yield "activation_leaky_slope", net([5], dense(5, 8, activation="leakyrelu", leaky_slope=0.2))
    yield "activation_elu_alpha", net([5], dense(5, 8, activation="elu", elu_alpha=0.7))


def rows():
    yield "dense_rows", net([3, 5], dense(5, 4, activation="tanh"), dense(4, 2))
    yield "dense_float16", net([6], dense(6, 4, dtype="float16"), dense(4, 3, dtype="bfloat16"))
    yield "dense_fp8", net([6], dense(6, 4, dtype="fp8e4m3"))
    yield "dense_int16", net([6], dense(6, 4, dtype="int16"))
    yield "dense_int8_without_rounding", net([6], dense(6, 4, dtype="int8", activation_quant="none"))
    yield "dense_adapters", net([6], dense(6, 4, adapters=[{"name": "a", "rank": 2, "alpha": 3}],
                                          weights={"bias": numbers(4, 1), "weight.a.b": numbers(8, 2)}))
    yield "swiglu", net([3, 6], {"type": "swiglu", "input_height": 6, "output_height": 10})
    yield "swiglu_bias_norm", net([3, 6], {"type": "swiglu", "input_height": 6, "output_height": 10, "bias": True, "inner_norm": True,
                                          "activation": "gelu", "weights": {"gate.bias": numbers(10, 1), "up.bias": numbers(10, 2),
                                                                           "down.bias": numbers(6, 3), "inner_norm": numbers(10, 4)}})
    yield "rmsnorm", net([3, 6], {"type": "rmsnorm", "input_height": 6, "weight_offset": 1, "weights": {"gamma": numbers(6, 1)}})
    yield "layernorm", net([3, 6], {"type": "layernorm", "input_height": 6, "weights": {"gamma": numbers(6, 1), "beta": numbers(6, 2)}})
    yield "layernorm_without_bias", net([3, 6], {"type": "layernorm", "input_height": 6, "bias": False})
    norm = {"gamma": numbers(6, 1), "beta": numbers(6, 2), "running_mean": numbers(6, 3), "running_var": numbers(6, 4, 0.3, 2)}
    yield "batchnorm", net([6, 5], {"type": "batchnorm", "input_height": 6, "weights": norm})
    yield "batchnorm_rows", net([6], {"type": "batchnorm", "input_height": 6, "weights": norm})
    gains = {"gamma": numbers(6, 1), "beta": numbers(6, 2)}
    yield "groupnorm", net([6, 4, 3], {"type": "groupnorm", "input_height": 6, "num_groups": 3, "weights": gains})
    yield "groupnorm_rows", net([6], {"type": "groupnorm", "input_height": 6, "num_groups": 2, "weights": gains})
    yield "instancenorm", net([6, 7], {"type": "instancenorm", "input_height": 6})
    yield "instancenorm_affine", net([6, 4, 3], {"type": "instancenorm", "input_height": 6, "affine": True, "weights": gains})
    yield "kmeans", net([3, 6], {"type": "kmeans", "input_height": 6, "num_clusters": 4, "kmeans_temperature": 0.7})
    yield "kmeans_features", net([3, 6], {"type": "kmeans", "input_height": 6, "num_clusters": 4, "output_mode": "features"})
    yield "dropout_reshape_permute", net([4, 6], {"type": "dropout", "rate": 0.3}, {"type": "permute", "axes": [0, 2, 1]},
                                         {"type": "reshape", "shape": [2, 3, -1]}, {"type": "reshape"})


def sequences():
    yield "embedding", net([7], {"type": "embedding", "vocab_size": 11, "embedding_dim": 6, "embed_scale": 2.5})
    yield "embedding_zero", net([7], {"type": "embedding", "vocab_size": 5, "embedding_dim": 6, "oob": "zero", "activation": "tanh"})
    yield "embedding_of_floats", net([7], {"type": "parallel", "combine_mode": "concat", "parallel_branches": [
        {"type": "embedding", "vocab_size": 11, "embedding_dim": 6}, {"type": "embedding", "vocab_size": 11, "embedding_dim": 3}]})
    yield "fractions_are_no_ids", net([6], {"type": "parallel", "parallel_branches": [
        {"type": "activation", "activation": "step"}, {"type": "activation", "activation": "relu"}]},
        {"type": "embedding", "vocab_size": 2, "embedding_dim": 3, "oob": "zero"})
    yield "position_embedding", net([5, 6], {"type": "position_embedding", "max_seq_len": 9, "embedding_dim": 6})
    mha = {"type": "mha", "d_model": 12, "num_heads": 3}
    biases = {"q.bias": numbers(12, 1), "k.bias": numbers(12, 2), "v.bias": numbers(12, 3), "o.bias": numbers(12, 4)}
    yield "mha", net([5, 12], mha)
    yield "mha_all_see_all", net([5, 12], {**mha, "causal": False, "rope": False, "bias": True, "weights": biases})
    yield "mha_groups", net([5, 12], {**mha, "num_heads": 6, "num_kv_heads": 2, "head_dim": 4, "rope_style": "interleaved"})
    yield "mha_window", net([9, 12], {**mha, "sliding_window": 3, "logit_softcap": 2, "attn_scale": 0.9})
    yield "mha_window_both_ways", net([9, 12], {**mha, "sliding_window": 3, "causal": False})
    yield "mha_norms", net([5, 12], {**mha, "qk_norm": "head", "inner_norm": True, "partial_rotary_factor": 0.5, "weights": {
        "q_norm": numbers(4, 1, 0.5, 2), "k_norm": numbers(4, 2, 0.5, 2), "inner_norm": numbers(12, 3, 0.5, 2)}})
    yield "mha_norm_of_all", net([5, 12], {**mha, "qk_norm": "full", "weights": {"q_norm": numbers(12, 1, 0.5, 2)}, "rope_scaling": {
        "type": "yarn", "factor": 4, "original_max_position_embeddings": 8}})
    for kind in ("rnn", "lstm", "gru"):
        gates = {"rnn": [""], "lstm": ["i.", "f.", "g.", "o."], "gru": ["r.", "z.", "n."]}[kind]
        own = {g + "bias": numbers(4, i) for i, g in enumerate(gates)}
        back = {"reverse." + g: v for g, v in own.items()}
        if kind == "gru":
            own["n.bias_hh"], back["reverse.n.bias_hh"] = numbers(4, 9), numbers(4, 10)
        layer = {"type": kind, "input_height": 5, "output_height": 4, "weights": own}
        yield kind, net([6, 5], layer)
        yield f"{kind}_both_ways", net([6, 5], {**layer, "bidirectional": True, "weights": {**own, **back}})
        yield f"{kind}_last", net([6, 5], {**layer, "return_sequence": False})
        yield f"{kind}_both_ways_last", net([6, 5], {**layer, "bidirectional": True, "return_sequence": False, "weights": {**own, **back}})
        yield f"{kind}_without_bias", net([6, 5], {**layer, "bias": False, "weights": {}})
    yield "rnn_relu", net([6, 5], {"type": "rnn", "input_height": 5, "output_height": 4, "activation": "relu", "bidirectional": True})
    yield "s6", net([6, 8], {"type": "s6", "input_height": 8, "state_size": 3})
    yield "s6_twice", net([6, 8], {"type": "s6", "input_height": 8, "state_size": 3}, {"type": "s6", "input_height": 8, "bias": False, "dt_rank": 2})


def images():
    extents = {1: [9], 2: [7, 9], 3: [5, 6, 4]}
    for axes, size in extents.items():
        bias = {"weights": {"bias": numbers(6, axes)}}
        conv = {"type": f"cnn{axes}", "input_channels": 4, "filters": 6, "kernel_size": 3, "bias": True, **bias}
        yield f"cnn{axes}", net([4, *size], conv)
        yield f"cnn{axes}_all", net([4, *size], {**conv, "stride": 2, "padding": 2, "dilation": 2, "groups": 2, "activation": "relu"})
        turned = {**conv, "type": f"convtransposed{axes}"}
        yield f"convtransposed{axes}", net([4, *size], turned)
        yield f"convtransposed{axes}_all", net([4, *size], {**turned, "stride": 2, "padding": 1, "groups": 2, "output_padding": 1})
    yield "cnn2_of_axes", net([2, 8, 9], {"type": "cnn2", "input_channels": 2, "filters": 3, "kernel_size": [3, 2], "stride": [1, 2],
                                         "padding": [0, 1]})
    yield "cnn2_cropped", net([2, 8, 8], {"type": "cnn2", "input_channels": 2, "filters": 3, "kernel_size": 3, "output_height": 4})
    yield "cnn2_float16", net([2, 8, 8], {"type": "cnn2", "input_channels": 2, "filters": 3, "kernel_size": 3, "dtype": "float16"})
    for kind in ("maxpool", "avgpool"):
        yield kind, net([3, 8, 9], {"type": kind, "kernel_size": 2})
        yield f"{kind}_padded", net([3, 8, 9], {"type": kind, "kernel_size": 3, "stride": 2, "padding": 1})
        yield f"{kind}_ceil", net([3, 8, 9], {"type": kind, "kernel_size": 2, "stride": 3, "ceil_mode": True})
        yield f"{kind}_ceil_long", net([3, 10], {"type": kind, "kernel_size": 3, "stride": 2, "ceil_mode": True})
        yield f"{kind}_global", net([3, 8, 9], {"type": kind, "global": True})
    yield "maxpool_ceil_padded", net([3, 8, 9], {"type": "maxpool", "kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "dilation": 2})
    yield "avgpool_own_count", net([3, 8, 9], {"type": "avgpool", "kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False,
                                              "ceil_mode": True})


def softmaxes():
    soft = lambda n, **keys: net([3, n], dense(n, n), {"type": "softmax", **keys})
    yield "softmax", soft(6)
    yield "softmax_temperature", soft(6, softmax_type="temperature", temperature=0.4)
    yield "softmax_grid", soft(12, softmax_type="grid", softmax_rows=3)
    yield "softmax_leaf", soft(12, softmax_type="hierarchical", hierarchy_levels=[3, 4])
    yield "softmax_tree", soft(15, softmax_type="hierarchical", hierarchy_levels=[3, 4], hierarchy_mode="tree", temperature=2)
    yield "softmax_gumbel_without_noise", soft(6, softmax_type="gumbel", gumbel_noise=False)
    yield "softmax_masked", soft(6, softmax_type="masked", mask=[True, False, True, False])
    yield "softmax_sparse", soft(6, softmax_type="sparse", temperature=0.5)
    yield "softmax_adaptive", soft(11, softmax_type="adaptive", adaptive_cutoffs=[3, 5, 9])
    yield "softmax_mixture", soft(12, softmax_type="mixture", mixture_count=2)
    yield "softmax_entmax_2", soft(6, softmax_type="entmax", entmax_alpha=2)
    yield "softmax_entmax_blend", soft(6, softmax_type="entmax", entmax_mode="blend", entmax_alpha=1.3)


def parallel(mode, n=3, **keys):
    return {"type": "parallel", "combine_mode": mode, "parallel_branches": [dense(6, 4, activation=a) for a in ("relu", "tanh", "silu")[:n]], **keys}


def containers():
    yield "sequential_residual", net([3, 6], {"type": "sequential", "residual": True, "sequential_layers": [
        {"type": "layernorm", "input_height": 6}, dense(6, 12, activation="gelu"), dense(12, 6)]})
    yield "residual_of_children", net([6], {"type": "sequential", "sequential_layers": [
        dense(6, 6), dense(6, 6, activation="relu"), {"type": "residual", "skip_from": 1}, dense(6, 6, is_disabled=True), {"type": "residual"}]})
    yield "residual_of_cell", net([6], dense(6, 6), dense(6, 6, activation="relu"), {"type": "residual", "skip_from": [0, 0, 0, 0]})
    for mode in ("concat", "add", "avg"):
        yield f"parallel_{mode}", net([3, 6], parallel(mode))
        layer = parallel(mode)
        layer["parallel_branches"][1]["is_disabled"] = True
        layer["parallel_branches"][1]["output_height"] = 4
        yield f"parallel_{mode}_without_one", net([3, 6], layer)
    yield "parallel_axis", net([3, 6], parallel("concat", concat_axis=1))
    yield "parallel_flat", net([3, 6], parallel("concat", flatten=True))
    gate = dense(6, 3)
    yield "parallel_filter", net([3, 6], parallel("filter", filter_gate=gate, gate_temperature=0.5))
    yield "parallel_filter_top", net([3, 6], parallel("filter", filter_gate=gate, top_k=2))
    yield "parallel_filter_samples", net([3, 6], parallel("filter", filter_gate=gate, gate_scope="sample"))
    given = {"type": "sequential", "sequential_layers": [gate, {"type": "softmax"}]}
    yield "parallel_filter_given", net([6], parallel("filter", filter_gate=given, top_k=1))
    one_less = parallel("filter", filter_gate=gate)
    one_less["parallel_branches"][0]["is_disabled"] = True
    yield "parallel_filter_without_one", net([6], one_less)
    grid = {"scatter_grid": {"depth": 1, "rows": 2, "cols": 2}}
    placed = parallel("grid_scatter", **grid)
    placed["parallel_branches"][2]["scatter_to"] = [0, 0, 1]
    placed["parallel_branches"][0]["scatter_to"] = [0, 1, 1]
    for layout in ("flat", "grid", "channels_first"):
        yield f"parallel_scatter_{layout}", net([3, 6], {**placed, "scatter_layout": layout})
    yield "lora", net([6], {"type": "lora", "rank": 2, "base_layer": dense(6, 4)})
    yield "metacognition_that_watches", net([6], {"type": "metacognition", "meta_observed_layer": dense(6, 4)})
    link = {"is_remote_link": True, "target_l": 0}
    yield "link_share", net([6], dense(6, 6, activation="tanh"), {**link, "link_mode": "share"})
    yield "link_share_lstm", net([4, 6], {"type": "lstm", "input_height": 6, "output_height": 6}, {**link, "link_mode": "share"})
    for merge in ("replace", "add", "concat"):
        width = 12 if merge == "concat" else 6
        yield f"link_feed_{merge}", net([6], dense(6, 6), dense(6, 6, activation="relu"),
                                       {**dense(width, 4), **link, "link_mode": "feed", "link_merge": merge})
    block = lambda inner: {"type": "sequential", "residual": True, "sequential_layers": [{"type": "rmsnorm", "input_height": 12}, inner]}
    yield "transformer_tied", net([5], {"type": "embedding", "vocab_size": 17, "embedding_dim": 12},
                                  block({"type": "mha", "d_model": 12, "num_heads": 2}),
                                  block({"type": "swiglu", "input_height": 12, "output_height": 24}),
                                  {"type": "rmsnorm", "input_height": 12},
                                  {"type": "dense", "input_height": 12, "output_height": 17, "tied_to": "layers.0"})
    yield "empty_cells", {"input_shape": [6], "depth": 2, "rows": 1, "cols": 2, "layers_per_cell": 1, "layers": [
        {"z": 1, "y": 0, "x": 1, "l": 0, **dense(6, 3)}]}


def cases():
    for family in (activations, rows, sequences, images, softmaxes, containers):
        yield from family()


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def judge(loom, folder, name, spec):
    """(SHA-256 of the file, largest difference, largest number of the output)."""
    (folder / "net.json").write_text(json.dumps(spec))
    path = folder / "net.onnx"
    run(loom, "export", folder / "net.json", path, "--quiet", "--overwrite")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.get_inputs()[0]
    shape = [2, *spec["input_shape"]]
    draw = np.random.default_rng(len(name))
    reads_ids = name.startswith(("embedding", "transformer"))
    x = draw.integers(0, 7 if name == "embedding_zero" else 11, shape) if reads_ids else draw.standard_normal(shape)
    np.save(folder / "x.npy", x.astype(np.float32))
    run(loom, "run", folder / "net.json", "--input", folder / "x.npy", "--output", folder / "y.npy", "--quiet", "--overwrite")
    y = np.load(folder / "y.npy")
    got = session.run(None, {wanted.name: x.astype(np.int64 if "int64" in wanted.type else np.float32)})[0]
    if got.shape != y.shape:
        raise RuntimeError(f"shape {got.shape}, Loom has {y.shape}")
    return hashlib.sha256(path.read_bytes()).hexdigest(), float(np.abs(got - y).max()), float(np.abs(y).max())


def main():
    loom = Path(sys.argv[1]).resolve()
    rows, specs, bad = [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, spec in cases():
            try:
                digest, difference, largest = judge(loom, Path(folder), name, spec)
            except Exception as e:  # one line a case
                print("FAIL", name, str(e).replace("\n", " ")[:400])
                bad += 1
                continue
            if not difference <= TOLERANCE * max(1, largest):
                print("FAIL", name, "difference", difference, "of", largest)
                bad += 1
                continue
            specs[name] = spec
            rows.append(f"{name}\t{digest}\t{difference:.2g}\t{largest:.3g}")
    print(len(rows), "cases agree,", bad, "do not")
    if "--write" in sys.argv and bad == 0:
        FOLDER.mkdir(exist_ok=True)
        text = ",\n".join(f"{json.dumps(n)}: {json.dumps(s)}" for n, s in specs.items())
        (FOLDER / "cases.json").write_text("{" + text + "}\n")
        head = f"# onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, numpy {np.__version__}; check_model(full_check=True) accepts all"
        (FOLDER / "record.tsv").write_text("\n".join([head, "# case\tsha256\tlargest difference\tlargest number", *rows]) + "\n")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
