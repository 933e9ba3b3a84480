"""Sequential and parallel containers (engine 1.4); the weights of a child carry its index as prefix, those of the filter gate "gate"."""
import torch

from layers_case import Draw, case, forward_of, kind, shapes_of


def named_children(layer):
    children = layer.get("sequential_layers", layer.get("parallel_branches", []))
    gate = [("gate", layer["filter_gate"])] if "filter_gate" in layer else []
    return [(str(i), c) for i, c in enumerate(children)] + gate


def shapes(layer):
    return {f"{prefix}.{name}": shape for prefix, c in named_children(layer) for name, shape in shapes_of(c).items()}


def run(prefix, layer, w, call, x):
    inner = type(call)(**{**vars(call), "x": x, "after": {}, "y_state": {}})
    y = forward_of(layer, {name[len(prefix) + 1:]: value for name, value in w.items() if name.startswith(prefix + ".")}, inner)
    call.after.update({f"{prefix}.{name}": value for name, value in inner.after.items()})
    return y


@kind("residual")
def residual(layer, w, call):
    raise ValueError("a residual child is run by its container")


@kind("sequential", shapes)
def sequential(layer, w, call):
    x, inputs = call.x, []
    for prefix, c in named_children(layer):
        inputs.append(x)
        if c.get("is_disabled", False):
            continue
        if c["type"] != "residual":
            x = run(prefix, c, w, call, x)
            continue
        skip = c.get("skip_from", "previous")
        if skip != "none":
            x = x + inputs[len(inputs) - 2 if skip == "previous" else skip]
    return call.x + x if layer.get("residual", False) else x


def ends_in_softmax(layer):
    return layer["type"] == "softmax" or (layer["type"] == "sequential" and ends_in_softmax(layer["sequential_layers"][-1]))


def gate_weights(layer, w, call, enabled):
    gate, z = layer["filter_gate"], run("gate", layer["filter_gate"], w, call, call.x)
    if layer.get("gate_scope", "row") == "sample" and z.dim() > 2:
        z = z.mean(list(range(1, z.dim() - 1)), keepdim=True)
    ranked = z.masked_fill(~enabled, -torch.inf)
    kept = torch.zeros_like(z, dtype=torch.bool).scatter(-1, ranked.topk(layer.get("top_k", len(enabled)), dim=-1).indices, True) & enabled
    if ends_in_softmax(gate):
        p = torch.where(kept, z, 0)
        return p / p.sum(-1, keepdim=True) if "top_k" in layer else p
    return (z / layer.get("gate_temperature", 1)).masked_fill(~kept, -torch.inf).softmax(-1)


def scattered(layer, outputs):
    grid = layer.get("scatter_grid", {"depth": 1, "rows": 1, "cols": len(outputs)})
    depth, rows, cols = grid["depth"], grid["rows"], grid["cols"]
    cells = [torch.zeros_like(outputs[0]) for _ in range(depth * rows * cols)]
    for i, (branch, y) in enumerate(zip(layer["parallel_branches"], outputs)):
        if "scatter_to" in branch:
            z, row, col = branch["scatter_to"]
            i = (z * rows + row) * cols + col
        cells[i] = cells[i] + y
    flat = torch.cat(cells, -1)
    layout = layer.get("scatter_layout", "flat")
    if layout == "flat":
        return flat
    volume = flat.unflatten(-1, (depth, rows, cols, -1))
    return volume if layout == "grid" else volume.movedim(-1, -4)


@kind("parallel", shapes)
def parallel(layer, w, call):
    branches = layer["parallel_branches"]
    if not branches:
        return call.x
    mode = layer.get("combine_mode", "concat")
    enabled = [not branch.get("is_disabled", False) for branch in branches]
    outputs = [run(str(i), branch, w, call, call.x) for i, branch in enumerate(branches)]
    outputs = [y if on else torch.zeros_like(y) for on, y in zip(enabled, outputs)]
    if mode == "concat":
        if layer.get("flatten", False):
            outputs = [y.flatten(1) for y in outputs]
        return torch.cat(outputs, layer.get("concat_axis", -1))
    if mode == "grid_scatter":
        return scattered(layer, outputs)
    if mode == "filter":
        p = gate_weights(layer, w, call, torch.tensor(enabled))
        outputs = [p[..., i, None] * y for i, y in enumerate(outputs)]
    total = sum(outputs)
    return total / sum(enabled) if mode == "avg" else total


def dense(inputs, outputs, **options):
    return {"type": "dense", "input_height": inputs, "output_height": outputs, **options}


def chain(*children, **options):
    return {"type": "sequential", **options, "sequential_layers": list(children)}


def sequential_cases():
    norm, act = {"type": "rmsnorm", "input_height": 6}, {"type": "activation", "activation": "gelu"}
    skip = {"type": "residual"}
    for label, options in (("", {}), ("residual ", {"residual": True})):
        yield case(f"sequential {label}rmsnorm dense", chain(norm, dense(6, 6, bias=True), **options), [3, 6])
        yield case(f"sequential {label}dense activation layernorm", chain(dense(6, 6), act, {"type": "layernorm", "input_height": 6}, **options), [2, 3, 6])
        yield case(f"sequential {label}rank 1", chain(norm, dense(6, 6), **options), [6])
        yield case(f"sequential {label}no children", chain(**options), [2, 3])
        yield case(f"sequential {label}disabled child", chain(norm, dense(6, 6, is_disabled=True), dense(6, 6, activation="tanh"), **options), [2, 6])
    inner = chain(dense(6, 17, activation="silu"), chain(norm | {"input_height": 17}, dense(17, 6), residual=False))
    yield case("sequential nested", chain(norm, inner, dense(6, 3)), [3, 6])
    mha = {"type": "mha", "d_model": 6, "num_heads": 2, "head_dim": 4, "num_kv_heads": 1}
    swiglu = {"type": "swiglu", "input_height": 6, "output_height": 10}
    yield case("sequential decoder block", chain(chain(norm, mha, residual=True), chain(norm, swiglu, residual=True)), [2, 5, 6])
    for name, options in (("lstm", {}), ("gru", {"bidirectional": True}), ("rnn", {"bidirectional": True})):
        second = {"type": name, "input_height": 6 if options else 3, "output_height": 2, "return_sequence": False}
        yield case(f"sequential two {name}", chain({"type": name, "input_height": 2, "output_height": 3, **options}, second), [2, 4, 2])
    conv = {"type": "cnn2", "input_channels": 2, "filters": 4, "input_height": 5, "input_width": 4, "kernel_size": 3, "padding": 1}
    yield case("sequential cnn2 groupnorm activation maxpool",
               chain(conv, {"type": "groupnorm", "input_height": 4, "num_groups": 2}, act, {"type": "maxpool", "kernel_size": 2}), [2, 2, 5, 4])
    for training in (False, True):
        yield case(f"sequential cnn2 batchnorm training {training}", chain(conv, {"type": "batchnorm", "input_height": 4}), [2, 2, 5, 4], training=training)
    table = {"type": "embedding", "vocab_size": 5, "embedding_dim": 6}
    positions = {"type": "position_embedding", "max_seq_len": 4, "embedding_dim": 6}
    yield case("sequential embedding position_embedding dense", chain(table, positions, dense(6, 5)), Draw("ids").integers(5, 2, 4), ids=True)
    yield case("sequential dense softmax", chain(dense(6, 4), {"type": "softmax", "input_height": 4}), [3, 6])
    yield case("sequential residual child previous", chain(norm, dense(6, 6, activation="tanh"), skip, dense(6, 3)), [3, 6])
    yield case("sequential residual child from 0", chain(norm, dense(6, 6, activation="tanh"), dense(6, 6), {**skip, "skip_from": 0}), [3, 6])
    yield case("sequential residual child from 2", chain(dense(6, 4), dense(4, 5), norm | {"input_height": 5}, dense(5, 5), {**skip, "skip_from": 2}), [3, 6])
    yield case("sequential residual child none", chain(dense(6, 6), {**skip, "skip_from": "none"}), [3, 6])
    yield case("sequential residual of residual children", chain(norm, dense(6, 6), skip, act, skip, residual=True), [3, 6])


def branch_set(inputs=5, outputs=4):
    return [dense(inputs, outputs, bias=True), dense(inputs, outputs, activation="tanh"), chain(dense(inputs, 7, activation="silu"), dense(7, outputs))]


def one(label, branches, shape, **options):
    return case(f"parallel {label}", {"type": "parallel", **options, "parallel_branches": branches}, shape)


def combine_cases():
    yield one("no branches", [], [2, 3])
    yield one("concat of widths 2 3 17", [dense(5, n) for n in (2, 3, 17)], [3, 5], combine_mode="concat")
    yield one("concat by default, rank 3", branch_set(), [2, 3, 5])
    yield one("concat rank 1", branch_set(), [5], combine_mode="concat")
    yield one("concat_axis 1", branch_set(), [2, 3, 5], combine_mode="concat", concat_axis=1)
    conv = {"type": "cnn2", "input_channels": 2, "input_height": 4, "input_width": 3}
    convs = [{**conv, "filters": 3, "kernel_size": 1}, {**conv, "filters": 2, "kernel_size": 3, "padding": 1}]
    yield one("concat_axis 1 of convolutions", convs, [2, 2, 4, 3], combine_mode="concat", concat_axis=1)
    yield one("concat flatten", [dense(5, 2), dense(5, 4)], [2, 3, 5], combine_mode="concat", flatten=True)
    for mode in ("add", "avg"):
        yield one(mode, branch_set(), [3, 5], combine_mode=mode)
        yield one(f"{mode} rank 3", branch_set(), [2, 3, 5], combine_mode=mode)
        yield one(f"{mode} nested", [{"type": "parallel", "combine_mode": "add", "parallel_branches": branch_set()}, dense(5, 4)], [3, 5], combine_mode=mode)
    spread = branch_set()
    for branch, cell in zip(spread, ([1, 0, 2], [0, 1, 0], [1, 0, 2])):
        branch["scatter_to"] = cell
    grid = {"depth": 2, "rows": 2, "cols": 3}
    yield one("grid_scatter by default", branch_set(), [3, 5], combine_mode="grid_scatter")
    for layout in ("flat", "grid", "channels_first"):
        yield one(f"grid_scatter {layout}", spread, [2, 5], combine_mode="grid_scatter", scatter_grid=grid, scatter_layout=layout)
    square = {"depth": 1, "rows": 2, "cols": 2}
    yield one("grid_scatter default cells of a larger grid, rank 3", branch_set(), [2, 3, 5], combine_mode="grid_scatter", scatter_grid=square)
    disabled = branch_set()
    disabled[1]["is_disabled"] = True
    for mode in ("concat", "add", "avg", "grid_scatter"):
        yield one(f"{mode} with a disabled branch", disabled, [3, 5], combine_mode=mode)


def filter_cases():
    def routed(label, shape, branches=None, gate=None, **options):
        return one(f"filter {label}", branches or branch_set(), shape, combine_mode="filter", filter_gate=gate or dense(5, 3, bias=True), **options)

    shape = [2, 3, 5]
    yield routed("all", [4, 5])
    yield routed("all rank 1", [5])
    for k in (1, 2):
        for scope in ("row", "sample"):
            yield routed(f"top_k {k} {scope}", shape, top_k=k, gate_scope=scope)
            yield routed(f"top_k {k} {scope} gate_temperature 0.5", shape, top_k=k, gate_scope=scope, gate_temperature=0.5)
    for scope in ("row", "sample"):
        yield routed(f"{scope} gate_temperature 2", shape, gate_scope=scope, gate_temperature=2)
    yield routed("sample rank 2", [4, 5], gate_scope="sample", top_k=2)
    yield routed("17 rows", [17, 5], top_k=2)
    sequences = [{"type": "lstm", "input_height": 5, "output_height": 4}, {"type": "gru", "input_height": 5, "output_height": 4}]
    yield routed("sample of sequence kinds", shape, sequences, dense(5, 2), gate_scope="sample")
    yield routed("deep gate", shape, gate=chain(dense(5, 6, activation="tanh"), dense(6, 3)), top_k=2)
    soft = {"type": "softmax", "input_height": 3}
    for variant in ("standard", "sparse", "entmax"):
        yield routed(f"gate that ends in {variant} softmax", [4, 5], gate=chain(dense(5, 3), {**soft, "softmax_type": variant}))
    yield routed("gate that ends in softmax, top_k 2", [4, 5], gate=chain(dense(5, 3), soft), top_k=2)
    disabled = branch_set()
    disabled[1]["is_disabled"] = True
    yield routed("with a disabled branch", [4, 5], disabled)
    yield routed("with a disabled branch, top_k 1", [4, 5], disabled, top_k=1)


def parallel_cases():
    yield from combine_cases()
    yield from filter_cases()
