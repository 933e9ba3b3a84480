"""rnn, lstm, gru (engine 3.7) by PyTorch's own functions, gates put together from Loom's separate weights."""
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, PackedSequence

from layers_case import Draw, case, kind

GATES = {"rnn": [""], "lstm": ["i.", "f.", "g.", "o."], "gru": ["r.", "z.", "n."]}
FUNCTIONS = {"rnn": torch.rnn_tanh, "lstm": torch.lstm, "gru": torch.gru}


def directions(layer):
    return ["", "reverse."] if layer.get("bidirectional", False) else [""]


def shapes(layer):
    inputs, hidden = layer["input_height"], layer["output_height"]
    named = {}
    for prefix in directions(layer):
        for gate in GATES[layer["type"]]:
            named[f"{prefix}{gate}weight_ih"] = [hidden, inputs]
            named[f"{prefix}{gate}weight_hh"] = [hidden, hidden]
            if layer.get("bias", True):
                named[f"{prefix}{gate}bias"] = [hidden]
        if layer["type"] == "gru" and layer.get("bias", True):
            named[f"{prefix}n.bias_hh"] = [hidden]
    return named


def flat_weights(layer, w):
    """PyTorch's list; its second bias is zero but for the n gate of a gru."""
    flat = []
    for prefix in directions(layer):
        names = [prefix + gate for gate in GATES[layer["type"]]]
        flat += [torch.cat([w[name + key] for name in names]) for key in ("weight_ih", "weight_hh")]
        if layer.get("bias", True):
            flat += [torch.cat([w[name + "bias"] for name in names]),
                     torch.cat([w.get(name + "bias_hh", torch.zeros_like(w[name + "bias"])) for name in names])]
    return flat


def recurrent(layer, w, call):
    x = call.x if call.x.dim() == 3 else call.x[None]
    batch, steps = x.shape[:2]
    zeros = torch.zeros(len(directions(layer)), batch, layer["output_height"], dtype=x.dtype)
    state = call.state or {}
    lstm = layer["type"] == "lstm"
    hx = (state.get("h0", zeros), state.get("c0", zeros)) if lstm else state.get("h0", zeros)
    function = torch.rnn_relu if layer.get("activation") == "relu" else FUNCTIONS[layer["type"]]
    packed = pack_padded_sequence(x, torch.tensor(call.lengths or [steps] * batch), batch_first=True, enforce_sorted=False)
    order, restored = packed.sorted_indices, packed.unsorted_indices
    hx = tuple(h[:, order] for h in hx) if lstm else hx[:, order]
    # flags: has biases, layers, dropout, training, bidirectional
    data, *last = function(packed.data, packed.batch_sizes, hx, flat_weights(layer, w), layer.get("bias", True), 1, 0.0, False, len(directions(layer)) == 2)
    y, _ = pad_packed_sequence(PackedSequence(data, packed.batch_sizes, order, restored), batch_first=True, total_length=steps)
    last = [h[:, restored] for h in last]
    call.y_state.update(zip(("hT", "cT"), last))
    if not layer.get("return_sequence", True):
        y = torch.cat(list(last[0]), dim=-1)
    return y if call.x.dim() == 3 else y[0]


for name in GATES:
    kind(name, shapes)(recurrent)


def cases_of(name):
    def one(label, inputs, hidden, x, state=False, **options):
        given = {key: options.pop(key) for key in ("lengths",) if key in options}
        layer = {"type": name, "input_height": inputs, "output_height": hidden, **options}
        if state:
            size = [2 if options.get("bidirectional") else 1, x[0], hidden]
            draw = Draw(f"{name} state {label}")
            given["state"] = {key: draw.normal(*size) for key in (("h0", "c0") if name == "lstm" else ("h0",))}
        return case(f"{name} {label}", layer, x, **given)

    both = {"bidirectional": True}
    last = {"return_sequence": False}
    yield one("1 step", 3, 5, [2, 1, 3])
    yield one("1 unit", 1, 1, [1, 4, 1])
    yield one("7 steps", 3, 5, [2, 7, 3])
    yield one("one sequence of rank 2", 3, 5, [4, 3])
    yield one("17 samples", 2, 3, [17, 2, 2])
    yield one("17 units", 4, 17, [2, 3, 4])
    yield one("33 units", 2, 33, [1, 2, 2])
    yield one("67 inputs", 67, 3, [1, 3, 67])
    yield one("bidirectional", 3, 5, [2, 4, 3], **both)
    yield one("return_sequence false", 3, 5, [2, 4, 3], **last)
    yield one("bidirectional return_sequence false", 3, 5, [2, 4, 3], **both, **last)
    yield one("without bias", 3, 5, [2, 4, 3], bias=False)
    yield one("bidirectional without bias", 3, 5, [1, 3, 3], bias=False, **both)
    yield one("state", 3, 5, [2, 4, 3], state=True)
    yield one("bidirectional state", 3, 5, [2, 4, 3], state=True, **both)
    yield one("lengths", 3, 5, [3, 6, 3], lengths=[2, 6, 1])
    yield one("bidirectional lengths", 3, 5, [3, 5, 3], lengths=[3, 1, 5], **both)
    yield one("lengths return_sequence false", 3, 5, [3, 5, 3], lengths=[3, 1, 5], **last)
    yield one("bidirectional lengths return_sequence false state", 3, 5, [3, 5, 3], lengths=[5, 2, 4], state=True, **both, **last)
    yield one("lengths all short", 3, 5, [2, 5, 3], lengths=[3, 2])
    if name == "rnn":
        relu = {"activation": "relu"}
        yield one("relu", 3, 5, [2, 4, 3], **relu)
        yield one("relu bidirectional lengths state", 3, 17, [2, 4, 3], lengths=[2, 4], state=True, **relu, **both)


def rnn_cases():
    return cases_of("rnn")


def lstm_cases():
    return cases_of("lstm")


def gru_cases():
    return cases_of("gru")
