"""Layers of flax.linen, flax.nnx and equinox that are read as a whole, and how a model of each is called and put
together again."""

import contextlib
import sys

import numpy

from . import settings
from .jax_trace import Patched
from .rules import Rules
from .weights import Constant, Sum


class Refused(Exception):
    """A setting that Loom has not; the reader notes it."""

    def __init__(self, why, what="", path=""):
        super().__init__(why)
        self.what, self.path = what, path


def want(holds, why):
    if not holds:
        raise Refused(why)


# How models are called: (function of parameters and input, parameters, what makes a model of changed parameters).


def _rebuilt(params, updates):
    """The tree with some leaves replaced, by their numbers; the types stay."""
    import jax

    leaves, tree = jax.tree_util.tree_flatten(params)
    for index, value in updates.items():
        leaves[index] = jax.numpy.asarray(value, dtype=leaves[index].dtype)
    return jax.tree_util.tree_unflatten(tree, leaves)


def open_function(reader, model, call):
    function, params = model
    return lambda p, x: function(p, x, **call), params, lambda updates: (function, _rebuilt(params, updates))


def open_linen(reader, model, call):
    bound = not isinstance(model, tuple)
    module, variables = model.unbind() if bound else model

    def close(updates):
        after = _rebuilt(variables, updates)
        return module.bind(after) if bound else (module, after)

    return lambda v, x: module.apply(v, x, **call), variables, close


def open_nnx(reader, model, call):
    from flax import nnx

    graph, state = nnx.split(model)

    def function(s, x):
        merged = nnx.merge(graph, s)
        merged.eval()
        for place, module in nnx.iter_modules(merged):
            reader.layers.paths[id(module)] = ".".join(str(p) for p in place)
        return merged(x, **call)

    def close(updates):
        if updates:
            nnx.update(model, _rebuilt(state, updates))
        return model

    return function, state, close


def open_equinox(reader, model, call):
    import equinox
    import jax

    params, static = equinox.partition(model, equinox.is_array)
    quiet = equinox.nn.inference_mode(equinox.combine(params, static))
    static = equinox.partition(quiet, equinox.is_array)[1]

    def function(p, x):
        whole = equinox.combine(p, static)
        places = jax.tree_util.tree_flatten_with_path(
            whole, is_leaf=lambda m: m is not whole and type(m).__name__ in _EQUINOX
        )[0]
        for place, module in places:
            reader.layers.paths[id(module)] = jax.tree_util.keystr(place, simple=True, separator=".")
        return whole(x, **call)

    return function, params, lambda updates: equinox.combine(_rebuilt(params, updates), model)


@contextlib.contextmanager
def patched(layers, kind):
    """While this lasts, layers of these libraries mark what goes in and comes out."""
    layers.paths = {}
    with contextlib.ExitStack() as stack:
        if kind == "linen":
            stack.enter_context(_linen(layers))
        if kind == "nnx":
            from flax import nnx

            stack.enter_context(_nnx(layers, [getattr(nnx, name) for name in _NNX if hasattr(nnx, name)]))
        if "equinox" in sys.modules and kind in ("equinox", "function"):
            import equinox

            stack.enter_context(
                _equinox(layers, [getattr(equinox.nn, name) for name in _EQUINOX if hasattr(equinox.nn, name)])
            )
        yield


_LINEN = (
    "LayerNorm",
    "RMSNorm",
    "BatchNorm",
    "GroupNorm",
    "InstanceNorm",
    "RNN",
    "Bidirectional",
    "MultiHeadDotProductAttention",
    "MultiHeadAttention",
    "SelfAttention",
    "Dropout",
)
_NNX = (
    "LayerNorm",
    "RMSNorm",
    "BatchNorm",
    "GroupNorm",
    "InstanceNorm",
    "RNN",
    "Bidirectional",
    "MultiHeadAttention",
    "Dropout",
)
_EQUINOX = (
    "LayerNorm",
    "RMSNorm",
    "GroupNorm",
    "LSTMCell",
    "GRUCell",
    "MultiheadAttention",
    "Embedding",
    "BatchNorm",
    "Dropout",
)


def _flat(tree, prefix=""):
    """A nested mapping of arrays by dotted names."""
    found = {}
    for key, value in tree.items():
        if hasattr(value, "items"):
            found.update(_flat(value, f"{prefix}{key}."))
        else:
            found[prefix + str(key)] = getattr(value, "value", value)
    return found


def _linen(layers):
    from flax import linen

    def around(following, args, kwargs, context):
        module = context.module
        name = type(module).__name__
        if (
            context.method_name != "__call__"
            or type(module).__module__.split(".")[:2] != ["flax", "linen"]
            or name not in _LINEN
            or not args
        ):
            return following(*args, **kwargs)
        weights = {}
        for collection in ("params", "batch_stats"):
            weights.update(_flat(module.variables.get(collection, {})))
        for place, cell in _cells_of(module):
            weights.update(_flat(cell.variables.get("params", {}), place))
        settings = {"args": args[1:], "kwargs": kwargs}
        for place, value in (("mask", kwargs.get("mask")),):
            if value is not None:
                weights["argument." + place] = value
        return layers.around(
            name,
            (module, settings),
            ".".join(module.path),
            args[0],
            weights,
            lambda x: following(x, *[_again(a, args[0], x) for a in args[1:]], **kwargs),
        )

    return linen.intercept_methods(around)


def _cells_of(module):
    """The cells of a recurrent module, whose variables stand where the cell was made: inside of the module or beside
    it."""
    for place in ("cell", "forward_rnn", "backward_rnn"):
        inner = getattr(module, place, None)
        if inner is not None and getattr(inner, "scope", None) is not None:
            yield from (
                [(place + ".", inner)]
                if place == "cell"
                else [(f"{place}.{more}", cell) for more, cell in _cells_of(inner)]
            )


def _again(argument, x, marked):
    """The input that was given once more, as key or value."""
    return marked if argument is x else argument


def _nnx(layers, classes):
    from flax import nnx

    def wrap(module, original, x, *args, **kwargs):
        _, state = nnx.split(module)
        weights = {name: value for name, value in _flat(_pure(state)).items() if hasattr(value, "shape")}
        if kwargs.get("mask") is not None:
            weights["argument.mask"] = kwargs["mask"]
        settings = {"args": args, "kwargs": kwargs}
        return layers.around(
            type(module).__name__,
            (module, settings),
            layers.paths.get(id(module), ""),
            x,
            weights,
            lambda y: original(y, *[_again(a, x, y) for a in args], **kwargs),
        )

    return Patched(classes, wrap)


def _pure(state):
    from flax import nnx

    return nnx.to_pure_dict(state)


def _equinox(layers, classes):
    def wrap(module, original, x, *args, **kwargs):
        name = type(module).__name__
        weights = {}
        for field in ("weight", "bias", "weight_ih", "weight_hh", "bias_n"):
            value = getattr(module, field, None)
            if hasattr(value, "shape"):
                weights[field] = value
        if name == "MultiheadAttention":
            for field in ("query_proj", "key_proj", "value_proj", "output_proj"):
                linear = getattr(module, field)
                weights[field + ".weight"] = linear.weight
                if linear.bias is not None:
                    weights[field + ".bias"] = linear.bias
            mask = args[2] if len(args) > 2 else kwargs.get("mask")
            if mask is not None:
                weights["argument.mask"] = mask
        settings = {"args": args, "kwargs": kwargs, "same": [a is x for a in args]}
        if name in ("LSTMCell", "GRUCell"):
            hidden = args[0] if args else kwargs["hidden"]
            state = hidden if isinstance(hidden, tuple) else (hidden,)
            weights.update({f"state.{i}": h for i, h in enumerate(state)})
        return layers.around(
            name,
            (module, settings),
            layers.paths.get(id(module), ""),
            x,
            weights,
            lambda y: original(y, *[_again(a, x, y) for a in args], **kwargs),
        )

    return Patched(classes, wrap)


# Nodes that layers become.

rule = Rules()


class Call:
    """A call of a layer: Vars by their roles."""

    def __init__(self, reader, name, module, path, marks, op, var):
        self.reader, self.graph, self.name, self.path, self.marks, self.op, self.var = (
            reader,
            reader.graph,
            name,
            path,
            marks,
            op,
            var,
        )
        self.module, self.settings = module
        self.is_flax = type(self.module).__module__.startswith("flax")

    def weight(self, role, part=None, look=None, shape=None):
        return self.reader.weight(self.marks[role], part, look, shape) if role in self.marks else None

    def kernel(self, role, part, look):
        """A weight that must exist."""
        want(role in self.marks, f"it has no {role}, but {', '.join(self.marks)}")
        return self.weight(role, part, look)

    def or_constant(self, role, count, value):
        return self.weight(role) or Constant(numpy.full(count, value, numpy.float32))

    @property
    def x(self):
        return self.reader.node(self.marks["x"])

    @property
    def shape(self):
        return self.reader.shape(self.var)


def read(reader, name, module, path, marks, op, var):
    found = rule.of(name)
    want(found is not None, "Loom has no such layer")
    call = Call(reader, name, module, path, marks, op, var)
    check_settings(reader, call.module, path)
    return found(call)


def check_settings(reader, module, path):
    """Refuses settings that are not read and have another value than the default."""
    is_flax, name = type(module).__module__.startswith("flax"), type(module).__name__
    table = (settings.FLAX if is_flax else settings.EQUINOX).get(name)
    want(table is not None, "Loom has no such layer")
    refused, training = settings.changed(table, type(module), lambda key: getattr(module, key))
    want(not refused, ", ".join(f"{key}={value!r}" for key, value in refused))
    for key in training:
        note = f"{path}: {key} is left out; it counts in training alone"
        if note not in reader.graph.notes:
            reader.graph.notes.append(note)


def embedding(reader, ids, table, path):
    node = reader.node(ids)
    count, width = table.shape
    weight = reader.weight(table)
    return reader.graph.node(
        "embedding",
        [node],
        node.shape + (width,),
        {"vocab_size": count, "embedding_dim": width},
        {"table": weight},
        path,
    )


@rule("Dropout")
def _dropout(call):
    rate = getattr(call.module, "rate", getattr(call.module, "p", 0))
    x = call.x
    return call.graph.node("dropout", [x], x.shape, {"rate": float(rate)}, path=call.path) if rate else x


def _norm_axes(call, x):
    axes = getattr(call.module, "reduction_axes", -1)
    want(axes in (-1, (-1,), [-1], x.rank - 1), f"reduction_axes={axes}")


@rule("LayerNorm")
def _layer_norm(call):
    m, x = call.module, call.x
    if call.is_flax:
        _norm_axes(call, x)
        eps, gamma, beta = m.epsilon, "scale", "bias"
    else:
        want(len(m.shape) == 1, "several axes")
        eps, gamma, beta = m.eps, "weight", "bias"
    count = x.shape[-1]
    weights = {"gamma": call.or_constant(gamma, count, 1)}
    if beta in call.marks:
        weights["beta"] = call.weight(beta)
    keys = {"input_height": count, "eps": float(eps), "bias": "beta" in weights}
    return call.graph.node(
        "layernorm", [x], x.shape, keys, weights, call.path, gamma not in call.marks and beta not in call.marks
    )


@rule("RMSNorm")
def _rms_norm(call):
    m, x = call.module, call.x
    if call.is_flax:
        _norm_axes(call, x)
        eps, gamma = m.epsilon, "scale"
    else:
        want("bias" not in call.marks, "a bias")
        want(len(m.shape) == 1, "several axes")
        eps, gamma = m.eps, "weight"
    count = x.shape[-1]
    return call.graph.node(
        "rmsnorm",
        [x],
        x.shape,
        {"input_height": count, "eps": float(eps)},
        {"gamma": call.or_constant(gamma, count, 1)},
        call.path,
        gamma not in call.marks,
    )


def _behind(call, kind, keys, weights, frozen):
    """A norm of channels, which are the last axis in flax and the first one in Loom."""
    x = call.x
    order = [0, x.rank - 1, *range(1, x.rank - 1)]
    front = call.graph.permute(x, order, call.path)
    node = call.graph.node(kind, [front], front.shape, keys, weights, call.path, frozen)
    return call.graph.permute(node, [order.index(a) for a in range(x.rank)], call.path)


@rule("BatchNorm")
def _batch_norm(call):
    want(call.is_flax, "its statistics are a state of equinox, which a call hands on")
    m, count = call.module, call.x.shape[-1]
    given = call.settings["kwargs"].get("use_running_average")
    want(m.use_running_average or given, "statistics of the batch: give use_running_average=True (train=False)")
    want(getattr(m, "axis", -1) == -1, "another axis than the last")
    weights = {
        "gamma": call.or_constant("scale", count, 1),
        "beta": call.or_constant("bias", count, 0),
        "running_mean": call.weight("mean"),
        "running_var": call.weight("var"),
    }
    return _behind(
        call,
        "batchnorm",
        {"input_height": count, "momentum": 1 - m.momentum, "eps": m.epsilon},
        weights,
        "scale" not in call.marks and "bias" not in call.marks,
    )


@rule("GroupNorm")
def _group_norm(call):
    m, x = call.module, call.x
    if call.is_flax:
        count = x.shape[-1]
        groups = m.num_groups if m.num_groups else count // m.group_size
        weights = {"gamma": call.or_constant("scale", count, 1), "beta": call.or_constant("bias", count, 0)}
        return _behind(
            call,
            "groupnorm",
            {"input_height": count, "num_groups": groups, "eps": m.epsilon},
            weights,
            "scale" not in call.marks,
        )
    count = x.shape[1]
    weights = {"gamma": call.or_constant("weight", count, 1), "beta": call.or_constant("bias", count, 0)}
    return call.graph.node(
        "groupnorm",
        [x],
        x.shape,
        {"input_height": count, "num_groups": m.groups, "eps": m.eps},
        weights,
        call.path,
        "weight" not in call.marks,
    )


@rule("InstanceNorm")
def _instance_norm(call):
    m, count = call.module, call.x.shape[-1]
    affine = "scale" in call.marks
    weights = {"gamma": call.weight("scale"), "beta": call.or_constant("bias", count, 0)} if affine else {}
    return _behind(
        call, "instancenorm", {"input_height": count, "eps": m.epsilon, "affine": affine}, weights, not affine
    )


@rule("Embedding")
def _embedding(call):
    return embedding(call.reader, call.marks["x"], call.marks["weight"], call.path)


def causal(call, steps):
    """False for no mask, True for the one that hides later positions."""
    if "argument.mask" not in call.marks:
        return False
    var = call.marks["argument.mask"]
    want(not var.depends or var.op is not None, "a mask that depends on the input")
    # Masks are made of the input's shape, at most: its numbers do not matter.
    mask = numpy.asarray(
        call.reader.trace.evaluate(numpy.zeros(call.reader.trace.input.shape, call.reader.sample.dtype), [var])[0]
    ).astype(bool)
    mask = mask.reshape(-1, *mask.shape[-2:])
    if mask.all():
        return False
    want((mask == numpy.tril(numpy.ones((steps, steps), bool))).all(), "a mask that is not causal")
    return True


@rule("MultiHeadDotProductAttention", "MultiHeadAttention", "SelfAttention", "MultiheadAttention")
def _attention(call):
    m, x = call.module, call.x
    others = [a for a in call.settings["args"] if hasattr(a, "shape")]
    if call.is_flax:
        want(
            not others and not any(k in call.settings["kwargs"] for k in ("inputs_k", "inputs_v", "inputs_kv")),
            "query, key and value differ",
        )
        want(not getattr(m, "normalize_qk", False) and not m.decode, "normalize_qk or decode")
        want(getattr(m, "num_kv_heads", None) in (None, m.num_heads), "num_kv_heads")
        kernel = call.marks["query.kernel"].shape
        heads, size = kernel[1:]
        wide = call.marks["out.kernel"].shape[-1]
        weights = {}
        for short, name in (("q", "query"), ("k", "key"), ("v", "value")):
            weights[short + ".weight"] = call.weight(
                name + ".kernel", "heads", lambda a: a.transpose(1, 2, 0), (heads * size, kernel[0])
            )
            if name + ".bias" in call.marks:
                weights[short + ".bias"] = call.weight(name + ".bias", "flat", None, (heads * size,))
        weights["o.weight"] = call.weight("out.kernel", "heads", lambda a: a.transpose(2, 0, 1), (wide, heads * size))
        if "out.bias" in call.marks:
            weights["o.bias"] = call.weight("out.bias")
        if getattr(m, "dropout_rate", 0):
            call.graph.notes.append(
                f"{call.path}: dropout of attention weights is left out; it counts in training alone"
            )
    else:
        want(all(call.settings["same"][:2]), "query, key and value differ")
        want(m.qk_size == m.vo_size, "qk_size and vo_size differ")
        heads, size, wide = m.num_heads, m.qk_size, m.output_size
        weights = {}
        for short, name in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
            weights[short + ".weight"] = call.weight(name + "_proj.weight")
            if name + "_proj.bias" in call.marks:
                weights[short + ".bias"] = call.weight(name + "_proj.bias")
        want(len({f"{n}.bias" in weights for n in "qkv"}) == 1, "biases of some products alone")
    keys = {
        "d_model": x.shape[-1],
        "num_heads": int(heads),
        "head_dim": int(size),
        "output_dim": int(wide),
        "causal": causal(call, x.shape[1]),
        "rope": False,
        "qkv_bias": "q.bias" in weights,
        "out_bias": "o.bias" in weights,
        "max_seq_len": max(2048, x.shape[1]),
    }
    return call.graph.node("mha", [x], x.shape[:-1] + (int(wide),), keys, weights, call.path)


# Recurrent layers of flax: a cell inside of RNN. The kernels of its gates are arrays of their own, [in, units].

_CELLS = {
    "LSTMCell": ("lstm", {"i.": "i", "f.": "f", "g.": "g", "o.": "o"}),
    "OptimizedLSTMCell": ("lstm", {"i.": "i", "f.": "f", "g.": "g", "o.": "o"}),
    "GRUCell": ("gru", {"r.": "r", "z.": "z", "n.": "n"}),
    "SimpleCell": ("rnn", {"": ""}),
}


def _cell(call, cell, prefix, direction):
    """Kind, keys and weights of a cell whose variables stand below `prefix`."""
    name = type(cell).__name__
    want(name in _CELLS, f"of a {name}")
    check_settings(call.reader, cell, call.path)
    kind, gates = _CELLS[name]
    keys = {}
    for which, usual in (("gate_fn", "sigmoid"), ("activation_fn", "tanh")):
        function = getattr(cell, which, None)
        given = getattr(function, "__name__", usual)
        if name == "SimpleCell" and given == "relu":
            keys["activation"] = "relu"
        else:
            want(given == usual, f"{which}={given}")
    want(not getattr(cell, "residual", False), "residual=True")
    weights = {}
    stacked = prefix + "dense_i.kernel" in call.marks
    for g, (gate, letter) in enumerate(gates.items()):
        mine = direction + gate
        if stacked:  # flax.nnx keeps some cells as two products for all gates
            units = call.marks[prefix + "dense_h.kernel"].shape[0]
            begin, end = g * units, (g + 1) * units
            for short, of in (("weight_ih", "dense_i"), ("weight_hh", "dense_h")):
                weights[mine + short] = call.kernel(
                    f"{prefix}{of}.kernel", ("gate", g), lambda a, b=begin, e=end: a[:, b:e].T
                )
            biases = [
                call.weight(f"{prefix}{of}.bias", ("gate", g), lambda a, b=begin, e=end: a[b:e])
                for of in ("dense_i", "dense_h")
            ]
        else:
            first, second = f"{prefix}i{letter}", f"{prefix}h{letter}"
            if first + ".kernel" not in call.marks:
                first += "_"  # flax.nnx has if_, since `if` is a word of Python
            weights[mine + "weight_ih"] = call.kernel(first + ".kernel", "transposed", lambda a: a.T)
            weights[mine + "weight_hh"] = call.kernel(second + ".kernel", "transposed", lambda a: a.T)
            biases = [call.weight(first + ".bias"), call.weight(second + ".bias")]
        if gate == "n." and kind == "gru":
            zero = Constant(numpy.zeros(_units(call, prefix, stacked, gates), numpy.float32))
            weights[mine + "bias"], weights[mine + "bias_hh"] = biases[0] or zero, biases[1] or zero
            if any(biases) and not all(biases):
                call.graph.notes.append(f"{call.path}: a bias of 0 that the cell has not learns with the others")
        elif all(biases):
            weights[mine + "bias"] = Sum(*biases)
        elif any(biases):
            weights[mine + "bias"] = biases[0] or biases[1]
    has_bias = any(n.endswith("bias") and not isinstance(w, Constant) for n, w in weights.items())
    if not has_bias:
        weights = {n: w for n, w in weights.items() if "bias" not in n}
    return kind, {**keys, "bias": has_bias}, weights


def _units(call, prefix, stacked, gates):
    if stacked:
        return call.marks[prefix + "dense_h.kernel"].shape[0]
    letter = list(gates.values())[0]
    return call.marks[f"{prefix}h{letter}.kernel"].shape[0]


def _rnn(call, m, prefix, direction, reverse):
    want(not m.time_major, "time_major=True")
    want(bool(m.reverse) == reverse, "reverse=True")
    want(not m.return_carry or call.op.params["index"] == 0 and not m.return_carry, "return_carry=True")
    return _cell(call, m.cell, prefix + "cell.", direction)


def _no_state(call):
    for name in ("initial_carry", "seq_lengths"):
        want(call.settings["kwargs"].get(name) is None, name)
    want(not call.settings["kwargs"].get("return_carry"), "return_carry=True")


@rule("RNN")
def _rnn_layer(call):
    _no_state(call)
    kind, keys, weights = _rnn(call, call.module, "", "", False)
    return _recurrent(call, kind, keys, weights, 1)


@rule("Bidirectional")
def _bidirectional(call):
    _no_state(call)
    m = call.module
    want(getattr(m.merge_fn, "__name__", "") in ("_concatenate", "concatenate"), "another merge_fn than concatenation")
    kind, keys, weights = _rnn(call, m.forward_rnn, "forward_rnn.", "", False)
    back, more, reverse = _rnn(call, m.backward_rnn, "backward_rnn.", "reverse.", bool(m.backward_rnn.reverse))
    want(back == kind and more == keys, "directions that differ")
    return _recurrent(call, kind, {**keys, "bidirectional": True}, {**weights, **reverse}, 2)


def _recurrent(call, kind, keys, weights, directions):
    x = call.x
    units = call.shape[-1] // directions
    keys = {"input_height": x.shape[-1], "output_height": units, **keys}
    return call.graph.node(kind, [x], x.shape[:2] + (units * directions,), keys, weights, call.path)


# Cells of equinox, in a scan over the steps of one sample.


def read_scan(reader, op, var):
    """A scan whose body is one cell: a recurrent layer over the steps, or its last state."""
    p = op.params
    want(reader.shift == 1, "a scan; over steps of samples only equinox's cells are read")
    want(not p["reverse"], "reverse=True")
    from .jax_trace import Trace

    body = Trace.of_body(p["jaxpr"])
    leaves = {o.params["tag"] for o in body.ops if o.name == "loom_leave"}
    want(len(leaves) == 1, "of something else than one cell of equinox.nn")
    tag = leaves.pop()
    name, (module, _), path = reader.layers.met[tag]
    want(name in ("LSTMCell", "GRUCell"), f"of {name}")
    constants, states = p["num_consts"], p["num_carry"]
    outer = dict(zip(map(id, body.inputs), op.inputs))
    marks = {role: v for role, v in body.marks[tag].items()}
    want(states == (2 if name == "LSTMCell" else 1), "more states than the cell's")
    want(len(body.inputs) == constants + states + 1, "several sequences")
    want(_through(marks["x"]) is body.inputs[-1], "steps that are changed before the cell reads them")
    for i in range(states):
        want(_through(marks[f"state.{i}"]) is body.inputs[constants + i], "states in another order")
        want(_is_left(body.outputs[i], tag, i), "a state that is changed after the cell")
        start = op.inputs[constants + i]
        want(not start.depends and not numpy.asarray(reader.value(start)).any(), "an initial state")
    found = {role: outer[id(_through(v))] for role, v in marks.items() if id(_through(v)) in outer}
    x = reader.node(op.inputs[-1])
    units = module.hidden_size
    weights = _cell_of_equinox(reader, name, found, units)
    keys = {"input_height": x.shape[-1], "output_height": units, "bias": "bias" in found}
    node = reader.scans.get(id(op))
    if node is None:
        node = reader.scans[id(op)] = reader.graph.node(
            "lstm" if name == "LSTMCell" else "gru", [x], x.shape[:2] + (units,), keys, weights, path
        )
    place = op.outputs.index(var)
    if place == 0:
        return reader.graph.last_step(node)
    want(place >= states and _is_left(body.outputs[place], tag, 0), "another state than h")
    return node


def _through(var):
    while var.op is not None and var.op.name in ("loom_enter", "convert_element_type", "copy"):
        var = var.op.inputs[0]
    return var


def _is_left(var, tag, index):
    while var.op is not None and var.op.name in ("convert_element_type", "copy"):
        var = var.op.inputs[0]
    return (
        var.op is not None
        and var.op.name == "loom_leave"
        and var.op.params["tag"] == tag
        and var.op.params["index"] == index
    )


def _cell_of_equinox(reader, name, found, units):
    gates = ("i.", "f.", "g.", "o.") if name == "LSTMCell" else ("r.", "z.", "n.")
    weights = {}
    for g, gate in enumerate(gates):

        def part(role, g=g):
            return reader.weight(found[role], ("rows", g), lambda a: a[g * units : (g + 1) * units])

        weights[gate + "weight_ih"], weights[gate + "weight_hh"] = part("weight_ih"), part("weight_hh")
        if "bias" in found:
            weights[gate + "bias"] = part("bias")
            if gate == "n.":
                weights[gate + "bias_hh"] = reader.weight(found["bias_n"])
    return weights
