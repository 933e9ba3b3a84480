"""SwiGLU and embeddings (engine 3.9, 3.11)."""
import torch
from torch.nn import functional

from layers_case import Draw, case, kind
from layers_dense import act


def swiglu_shapes(layer):
    d, n = layer["input_height"], layer["output_height"]
    named = {"gate.weight": [n, d], "up.weight": [n, d], "down.weight": [d, n]}
    if layer.get("bias", False):
        named.update({"gate.bias": [n], "up.bias": [n], "down.bias": [d]})
    if layer.get("inner_norm", False):
        named["inner_norm"] = [n]
    return named


@kind("swiglu", swiglu_shapes)
def swiglu(layer, w, call):
    gate = functional.linear(call.x, w["gate.weight"], w.get("gate.bias"))
    up = functional.linear(call.x, w["up.weight"], w.get("up.bias"))
    h = act(layer, gate, "silu") * up
    if layer.get("inner_norm", False):
        h = functional.rms_norm(h, w["inner_norm"].shape, w["inner_norm"], layer.get("rms_norm_eps", 1e-6))
    return functional.linear(h, w["down.weight"], w.get("down.bias"))


@kind("embedding", lambda layer: {"table": [layer["vocab_size"], layer["embedding_dim"]]})
def embedding(layer, w, call):
    return act(layer, functional.embedding(call.x.long(), w["table"]) * layer.get("embed_scale", 1))


@kind("position_embedding", lambda layer: {"table": [layer["max_seq_len"], layer["embedding_dim"]]})
def position_embedding(layer, w, call):
    return call.x + functional.embedding(torch.arange(call.x.shape[-2]), w["table"])


def swiglu_cases():
    for d, n, lead in ((1, 1, [2]), (4, 17, [3]), (17, 4, [2]), (33, 5, [2]), (3, 67, [2]), (130, 2, [2]), (3, 33, [17]), (5, 6, []),
                       (5, 6, [2, 3]), (5, 6, [2, 1, 2])):
        yield case(f"swiglu {d} by {n} lead {lead}", {"type": "swiglu", "input_height": d, "output_height": n}, [*lead, d])
    for activation in ("silu", "gelu", "relu2", "gelu_exact", "sigmoid"):
        pairs = ((False, False), (True, False), (False, True), (True, True)) if activation in ("silu", "gelu", "relu2") else ((True, False),)
        for bias, inner_norm in pairs:
            layer = {"type": "swiglu", "input_height": 5, "output_height": 9, "activation": activation, "bias": bias, "inner_norm": inner_norm}
            yield case(f"swiglu {activation} bias {bias} inner_norm {inner_norm}", layer, [3, 5])
    layer = {"type": "swiglu", "input_height": 5, "output_height": 17, "inner_norm": True, "rms_norm_eps": 0.125}
    yield case("swiglu inner_norm eps", layer, [3, 5])


def embedding_cases():
    for name, shape, options in (("rank 1", [7], {}), ("rank 2", [2, 5], {}), ("rank 3", [2, 2, 3], {}), ("scale", [2, 5], {"embed_scale": 4.5}),
                                 ("activation", [2, 5], {"embed_scale": 2, "activation": "tanh"}), ("one id", [1], {}), ("70 ids", [2, 35], {})):
        width = 3 if "70" in name else 5
        layer = {"type": "embedding", "vocab_size": 4, "embedding_dim": width, **options}
        yield case(f"embedding repeated ids {name}", layer, Draw(name).integers(4, *shape), ids=True)
    for width in (1, 17, 33):
        layer = {"type": "embedding", "vocab_size": 6, "embedding_dim": width}
        yield case(f"embedding width {width}", layer, torch.tensor([[5.0, 0.0, 3.0, 0.0]]).double(), ids=True)
    for shape in ([2, 4, 5], [4, 5], [1, 6, 17], [17, 2, 3], [2, 1, 33]):
        layer = {"type": "position_embedding", "max_seq_len": 6, "embedding_dim": shape[-1]}
        yield case(f"position_embedding {shape}", layer, shape)
