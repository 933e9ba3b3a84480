"""From a graph to the spec of a network: cells in a list, links where a cell does not read the one before it."""

from __future__ import annotations

import base64

import numpy

from .weights import float32

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._types import Json

_ACTIVATED = ("dense", "cnn1", "cnn2", "cnn3", "convtransposed1", "convtransposed2", "convtransposed3")


def feed_from(cell: int, merge: str) -> Json:
    """The keys of a layer that reads the output of a cell of the first stack: in place of the cell before it, or
    merged with that."""
    return {
        "is_remote_link": True,
        "link_mode": "feed",
        "link_merge": merge,
        "target_z": 0,
        "target_y": 0,
        "target_x": 0,
        "target_l": cell,
    }


def users(graph):
    """Who reads each node: a dict of lists by the node's identity."""
    found = {}
    for node in graph.nodes:
        for source in node.inputs:
            found.setdefault(id(source), []).append(node)
    return found


def simplify(graph):
    """Puts activations into the layers before them, joins gated products to swiglu and drops what nobody reads but
    layers of the model."""
    _drop_whole(graph)
    _find_again(graph)
    _drop_unread(graph)
    _join_silu(graph)
    _join_swiglu(graph)
    _join_attention(graph)
    _drop_unread(graph)
    _last_steps(graph)
    reads = users(graph)
    gone = set()
    for node in graph.nodes:
        if node.kind != "activation" or node.keys["activation"] == "linear" or node is graph.input:
            continue
        before = node.inputs[0]
        alone = len(reads.get(id(before), [])) == 1 and before is not graph.output
        shared = before.again is not None or any(n.again is before for n in graph.nodes)
        if before.kind in _ACTIVATED and alone and not shared and "activation" not in before.keys and not before.frozen:
            before.keys.update(node.keys)
            before.value = node.value
            _replace(graph, node, before)
            gone.add(id(node))
    graph.nodes = [n for n in graph.nodes if id(n) not in gone]
    for node in graph.nodes:
        if node.kind in ("mul", "silu_mul"):
            graph.refuse(node.path, "multiply", "Loom multiplies two layers' outputs in swiglu alone", node.inputs)


def _replace(graph, old, new):
    for node in graph.nodes:
        node.inputs = [new if source is old else source for source in node.inputs]
    if graph.output is old:
        graph.output = new


def _drop_whole(graph):
    """Takes away what cuts the numbers for an embedding."""
    for node in [n for n in graph.nodes if n.kind == "whole"]:
        reads, front = users(graph), [node]
        while front:
            for user in reads.get(id(front.pop()), []):
                if user.kind in ("reshape", "permute"):
                    front.append(user)
                elif user.kind != "embedding":
                    why = "Loom cuts numbers to whole ones in front of an embedding alone"
                    graph.refuse(node.path, "conversion to whole numbers", why, node.inputs)
        if node is graph.output:
            graph.refuse(node.path, "conversion to whole numbers", "the output would be cut", node.inputs)
        _replace(graph, node, node.inputs[0])
        _remove(graph, [node])


def _drop_unread(graph):
    """Layers with weights stay, since they are parts of the model; what moves numbers about for nobody does not."""
    while True:
        reads = users(graph)
        kept = [
            n
            for n in graph.nodes
            if n is graph.input
            or n is graph.output
            or id(n) in reads
            or (n.weights and not n.frozen)
            or n.kind == "unsupported"
        ]
        if len(kept) == len(graph.nodes):
            return
        graph.nodes = kept


def _find_again(graph):
    """Layers whose weights are all those of an earlier one run that layer again."""
    first = {}
    for node in graph.nodes:
        keys = tuple(sorted((name, w.key) for name, w in node.weights.items() if w.key is not None))
        if not keys or len(keys) != len(node.weights):
            continue
        entry = (node.kind, repr(sorted(node.keys.items())), keys)
        if entry in first:
            node.again = first[entry]
        else:
            first[entry] = node


def _join_silu(graph):
    """x * sigmoid(x), as models write it that have no name for it."""
    for node in graph.nodes:
        if node.kind != "mul":
            continue
        for gate, x in (node.inputs, node.inputs[::-1]):
            if gate.kind == "activation" and gate.keys == {"activation": "sigmoid"} and gate.inputs[0] is x:
                node.kind, node.keys, node.inputs = "activation", {"activation": "silu"}, [x]
                break


def _join_swiglu(graph):
    """dense(act(dense(x)) * dense(x)) becomes one layer."""
    reads = users(graph)
    for down in list(graph.nodes):
        if (
            down.kind != "dense"
            or down.inputs[0].kind != "mul"
            or len(reads[id(down.inputs[0])]) != 1
            or down.again is not None
        ):
            continue
        for act, up in (down.inputs[0].inputs, down.inputs[0].inputs[::-1]):
            gate = act.inputs[0] if act.kind == "activation" else None
            if gate is None or gate.kind != "dense" or up.kind != "dense" or gate.inputs[0] is not up.inputs[0]:
                continue
            bias = {n.keys["bias"] for n in (gate, up, down)}
            fits = len(bias) == 1 and down.shape[-1] == gate.inputs[0].shape[-1] and gate.shape == up.shape
            if not fits or any(len(reads[id(n)]) != 1 for n in (gate, act, up)):
                continue
            parts = {"gate": gate, "up": up, "down": down}
            weights = {f"{name}.{w}": view for name, part in parts.items() for w, view in part.weights.items()}
            down.kind, down.inputs, down.weights = "swiglu", [gate.inputs[0]], weights
            down.keys = {
                "input_height": down.shape[-1],
                "output_height": gate.shape[-1],
                "bias": bias.pop(),
                **act.keys,
            }
            _remove(graph, (gate, up, act))
            break


def _remove(graph, nodes):
    """Layers that became parts of another one."""
    gone = {id(n) for n in nodes}
    graph.nodes = [n for n in graph.nodes if id(n) not in gone]


def _through_shapes(node):
    """The node whose values these are, in another shape or order of axes."""
    while node.kind in ("reshape", "permute"):
        node = node.inputs[0]
    return node


def _heads(node):
    """(dense layer, heads, features of a head) if the node [B, heads, T, features] is its output cut into heads; else
    None."""
    dense = _through_shapes(node)
    if dense.kind != "dense" or dense.rank != 3 or node.rank != 4:
        return None
    batch, steps, width = dense.shape
    probe = numpy.arange(batch * steps * width).reshape(batch, steps, width)
    heads = node.shape[1]
    want = probe.reshape(batch, steps, heads, -1).swapaxes(1, 2)
    chain = []
    while node is not dense:
        chain.append(node)
        node = node.inputs[0]
    for step in reversed(chain):
        probe = probe.reshape(step.shape) if step.kind == "reshape" else probe.transpose(step.keys["axes"])
    return (dense, heads, width // heads) if probe.shape == want.shape and (probe == want).all() else None


def _joined_heads(attention, node):
    """True if the node [B, T, width] is the attention's output with its heads side by side."""
    probe = want = numpy.arange(numpy.prod(attention.shape)).reshape(attention.shape)
    chain = []
    while node is not attention:
        if node.kind not in ("reshape", "permute"):
            return False
        chain.append(node)
        node = node.inputs[0]
    for step in reversed(chain):
        probe = probe.reshape(step.shape) if step.kind == "reshape" else probe.transpose(step.keys["axes"])
    want = want.swapaxes(1, 2).reshape(attention.shape[0], attention.shape[2], -1)
    return probe.shape == want.shape and bool((probe == want).all())


def _join_attention(graph):
    """Attention whose query, key and value are products of one input, and whose output is multiplied once more, is
    mha."""
    for attention in [n for n in graph.nodes if n.kind == "sdpa"]:
        parts = [_heads(n) for n in attention.inputs]
        out = next((n for n in graph.nodes if n.kind == "dense" and _through_shapes(n.inputs[0]) is attention), None)
        ok = all(parts) and out is not None and out.again is None and _joined_heads(attention, out.inputs[0])
        if ok:
            (q, heads, size), (k, kv_heads, _), (v, v_heads, v_size) = parts
            ok = len({id(p[0].inputs[0]) for p in parts}) == 1 and kv_heads == v_heads and size == v_size
            ok = ok and len({p[0].keys["bias"] for p in parts}) == 1 and len({id(p[0]) for p in parts}) == 3
        if not ok:
            graph.refuse(
                attention.path,
                "attention",
                "its query, key and value are not three dense layers of one input with one after them",
                attention.inputs,
            )
            continue
        out.weights = {
            f"{name}.{w}": view for name, part in zip("qkvo", (q, k, v, out)) for w, view in part.weights.items()
        }
        x = q.inputs[0]
        keys = {
            "d_model": x.shape[-1],
            "num_heads": heads,
            "num_kv_heads": kv_heads,
            "head_dim": size,
            "output_dim": out.shape[-1],
            "causal": attention.keys["causal"],
            "rope": False,
            "qkv_bias": q.keys["bias"],
            "out_bias": out.keys["bias"],
            "max_seq_len": max(2048, x.shape[1]),
        }
        if attention.keys.get("scale"):
            keys["attn_scale"] = attention.keys["scale"]
        out.kind, out.inputs, out.keys = "mha", [x], keys
        _remove(graph, (q, k, v, attention))


def _last_steps(graph):
    """Recurrent layers of which only the last step is read give that step alone; of others it is picked."""
    reads = users(graph)
    for node in [n for n in graph.nodes if n.kind == "last"]:
        source = node.inputs[0]
        if (
            all(n.kind == "last" for n in reads[id(source)])
            and source is not graph.output
            and source.again is None
            and source.rank == 3
        ):
            for other in reads[id(source)]:
                _replace(graph, other, source)
                _remove(graph, [other])
            source.keys["return_sequence"], source.shape, source.value = False, node.shape, node.value
        elif source.rank == 3:
            picked = graph.insert(
                graph.nodes.index(node), lambda source=source, node=node: graph.pick(source, 1, -1, node.path)
            )
            _replace(graph, node, picked)
            _remove(graph, [node])


class _Writer:
    """Lays nodes into cells, in order."""

    def __init__(self, graph):
        self.graph = graph
        self.layers, self.weights, self.values = [], {}, []
        self.cell_of = {}  # by identity of a node: the cell whose output is the node's
        self.now = graph.input  # the node whose output the next cell reads by itself
        if self._input_is_read_later():
            self._cell({"type": "activation", "activation": "linear", "name": "input"}, graph.input)

    def _input_is_read_later(self):
        now = self.graph.input
        for node in self.graph.nodes[1:]:
            if self.graph.input in node.inputs and (
                now is not self.graph.input or node.inputs.count(self.graph.input) > 1
            ):
                return True
            now = node
        return False

    def _cell(self, layer, node):
        self.layers.append(layer)
        self.cell_of[id(node)] = len(self.layers) - 1
        self.now = node

    def _feed(self, source, merge="replace"):
        return feed_from(self.cell_of[id(source)], merge)

    def _begin(self, source):
        """Lets the next cell read `source`."""
        if self.now is not source:
            self._cell({"type": "activation", "activation": "linear", **self._feed(source)}, source)

    def write(self):
        for node in self.graph.nodes[1:]:
            if node.kind == "add":
                self._add(node)
            elif node.kind == "concat":
                self._concat(node)
            else:
                self._layer(node)
            self.values.append((len(self.layers) - 1, node))
        if self.now is not self.graph.output:
            self._begin(self.graph.output)
        if not self.layers:
            self._cell({"type": "activation", "activation": "linear"}, self.graph.input)

    def _add(self, node):
        x, y = node.inputs
        if self.now is y:
            x, y = y, x
        self._begin(x)
        layer = {"type": "residual", "skip_from": [0, 0, 0, self.cell_of[id(y)]]}
        self._cell(self._named(layer, node), node)

    def _concat(self, node):
        x, y = node.inputs
        self._begin(x)
        self._cell(self._named({"type": "activation", "activation": "linear", **self._feed(y, "concat")}, node), node)

    def _layer(self, node):
        if node.again is not None:
            self._begin(node.inputs[0])
            link = {
                "is_remote_link": True,
                "link_mode": "share",
                "target_z": 0,
                "target_y": 0,
                "target_x": 0,
                "target_l": self.cell_of[id(node.again)],
            }
            # A feed that names a link gets the output of the link's target, so the output of this cell is in the
            # next one.
            self._cell(link, node)
            self._cell(self._named({"type": "activation", "activation": "linear"}, node), node)
            return
        layer = {"type": node.kind, **node.keys}
        if node.frozen:
            layer["trainable"] = False
        if self.now is not node.inputs[0]:
            layer.update(self._feed(node.inputs[0]))
        cell = len(self.layers)
        for name, weight in node.weights.items():
            self.weights[f"layers.{cell}.{name}"] = weight
        self._cell(self._named(layer, node), node)

    @staticmethod
    def _named(layer, node):
        return {**layer, "name": node.path} if node.path else layer


def _tie(graph, writer):
    """A dense layer with the table of an embedding has it by name; other weights that two layers have are refused."""
    owners = {}
    for name, weight in list(writer.weights.items()):
        if weight.key is None:
            continue
        cell = int(name.split(".")[1])
        kind = writer.layers[cell]["type"]
        if weight.key not in owners:
            owners[weight.key] = (cell, kind, name)
            continue
        first, first_kind, first_name = owners[weight.key]
        if first_kind == "embedding" and kind == "dense" and name.endswith(".weight"):
            writer.layers[cell]["tied_to"] = f"layers.{first}"
            del writer.weights[name]
        else:
            graph.refuse(
                writer.layers[cell].get("name", ""),
                name,
                f"is the same array as {first_name}; Loom ties the head of an embedding alone",
            )


def write_spec(graph, identity="network"):
    """Returns the spec, the weights by the names that the network gives them, and (cell, node) of all that has a value
    of the framework."""
    graph.check()
    simplify(graph)
    graph.check()
    writer = _Writer(graph)
    writer.write()
    _tie(graph, writer)
    graph.check()
    about = {"framework": graph.framework, "sample_shape": list(graph.input.shape), "sample_type": graph.sample_type}
    if len(graph.inputs) > 1:
        about["inputs"] = [{"shape": list(p.shape), "type": str(p.dtype)} for p in graph.input.value.parts]
    if graph.chosen:
        about["output"] = graph.chosen
    if graph.unused:
        about["unused"] = sorted(graph.unused)
    if graph.notes:
        about["notes"] = list(graph.notes)
    spec = {
        "id": identity,
        "input_shape": list(graph.input.shape[1:]),
        "init": "none",
        "metadata": {"bridge": about},
        "layers": writer.layers,
    }
    return spec, writer.weights, writer.values


def arrays(weights):
    """The values of all weights, float32."""
    return {name: float32(weight.read()) for name, weight in weights.items()}


def moved(name, first):
    """The name of a weight in a part whose first cell is number `first` of the grid."""
    _, cell, weight = name.split(".", 2)
    return f"layers.{int(cell) + first}.{weight}"


def placed(layer, at, number, first):
    """A layer of a list as cell `number` at the place (z, y, x) of a grid, with its links."""
    z, y, x = at
    layer = {**layer, "z": z, "y": y, "x": x, "l": number}
    if layer.get("is_remote_link"):
        layer.update(target_z=z, target_y=y, target_x=x)
    if isinstance(layer.get("skip_from"), list):
        layer["skip_from"] = [*at, layer["skip_from"][3]]
    if isinstance(layer.get("tied_to"), str):
        layer["tied_to"] = f"layers.{int(layer['tied_to'].split('.')[1]) + first}"
    return layer


def write_checkpoint(spec: Json, values: Mapping[str, numpy.typing.NDArray[Any]]) -> Json:
    """Puts weights into a spec, as a checkpoint in JSON has them.

    Args:
        spec: The spec of to_spec().
        values: The weights of to_spec(): a dict from name to array.

    Returns:
        A dict that json.dump() writes as a network file.
    """
    layers = [dict(layer) for layer in spec["layers"]]
    for name, value in values.items():
        _, cell, weight = name.split(".", 2)
        rows = value.reshape(len(value) if value.ndim > 1 else 1, -1)
        codes = numpy.zeros((len(rows), -(-rows.shape[1] // 32) * 32), "<f4")  # rows are filled up to 32 codes
        codes[:, : rows.shape[1]] = rows
        coded = base64.b64encode(codes.tobytes()).decode()
        layers[int(cell)].setdefault("weights", {})[weight] = {"dtype": "float32", "codes": coded}
    return {**spec, "layers": layers}
