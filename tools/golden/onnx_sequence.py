"""ONNX nodes as layers: recurrent kinds and attention (engine 3.7, 3.8)."""
import numpy

from onnx_node import Unmapped, op, shortest

# ---- recurrent kinds ----

GATES = {"RNN": ("",), "LSTM": ("i.", "o.", "f.", "g."), "GRU": ("z.", "r.", "n.")}     # in ONNX's order


@op("recurrent", "RNN", "LSTM", "GRU")
def recurrent(n):
    x, w, r = n.ins[:3]
    bias, lengths, peepholes = n.input(3), n.input(4), n.input(7)
    batch_first, direction, hidden = n.attribute("layout", 0), n.attribute("direction", "forward"), n.attribute("hidden_size")
    states = [v if v is None or not batch_first else v.swapaxes(0, 1) for v in (n.input(5), n.input(6))]
    x = x if batch_first else x.swapaxes(0, 1)
    if peepholes is not None and peepholes.any():
        raise Unmapped("peepholes")
    if {"activations", "clip", "input_forget"} & n.attributes.keys():
        raise Unmapped("activations, clip or coupled gates")
    if n.op == "GRU" and not n.attribute("linear_before_reset", 0):
        # With one step from h = 0 the reset gate multiplies nothing but the bias, which moves out of its reach.
        if x.shape[1] > 1 or states[0] is not None:
            raise Unmapped("the reset gate before the product (linear_before_reset 0)")
    layer = {"type": n.op.lower(), "input_height": x.shape[2], "output_height": hidden, "bias": bias is not None,
             "bidirectional": direction != "forward", "return_sequence": n.output(0) is not None}
    weights = {}
    for prefix, index in {"forward": [("", 0)], "reverse": [("reverse.", 0)], "bidirectional": [("", 0), ("reverse.", 1)]}[direction]:
        weights.update(direction_weights(n, prefix, w[index], r[index], None if bias is None else bias[index]))
    if direction == "reverse":      # a forward half of zeros: its h stays 0
        n.notes.append("the forward half has weights of zero")
        weights = {**{key.removeprefix("reverse."): numpy.zeros_like(value) for key, value in weights.items()}, **weights}
    case = {"layer": layer, "weights": weights, "x": x}
    if lengths is not None:
        case["lengths"] = lengths.tolist()
    case["state"] = {key: both_halves(v, direction) for key, v in zip(("h0", "c0"), states) if v is not None}
    last = [v if v is None or not batch_first else v.swapaxes(0, 1) for v in (n.output(1), n.output(2))]
    case["y_state"] = {key: both_halves(v, direction) for key, v in zip(("hT", "cT"), last) if v is not None}
    if n.output(0) is None:
        case["y"] = joined(case["y_state"]["hT"])
    else:
        y = n.outs[0].transpose(1, 2, 0, 3) if batch_first else n.outs[0]       # [T, directions, B, H]
        case["y"] = numpy.stack([joined(both_halves(step, direction)) for step in y], 1)
    n.outs = n.outs[:1]
    return case


def direction_weights(n, prefix, w, r, bias):
    gates, weights = GATES[n.op], {}
    halves = (None,) * len(gates) if bias is None else list(zip(*(numpy.split(half, len(gates)) for half in numpy.split(bias, 2))))
    for gate, ih, hh, b in zip(gates, numpy.split(w, len(gates)), numpy.split(r, len(gates)), halves):
        weights.update({f"{prefix}{gate}weight_ih": ih, f"{prefix}{gate}weight_hh": hh})
        if b is None:
            continue
        apart = gate == "n." and n.attribute("linear_before_reset", 0)
        weights[f"{prefix}{gate}bias"] = b[0] if apart else b[0] + b[1]
        if gate == "n.":
            weights[f"{prefix}{gate}bias_hh"] = b[1] if apart else numpy.zeros_like(b[1])
    return weights


def both_halves(state, direction):
    """[directions, B, H]; a lone reverse direction gets a forward one of zeros."""
    return numpy.concatenate([numpy.zeros_like(state), state]) if direction == "reverse" else state


def joined(state):
    return numpy.concatenate(list(state), -1)


# ---- attention ----

@op("attention", "RotaryEmbedding")
def rotary(n):
    raise Unmapped("sin and cos are random tables, not angles of a rope_theta")


@op("attention", "Attention")
def attention(n):
    """Projections that select: q, k and v are columns of x (and of the second input) and the output is the heads side by side."""
    q, k, v = (heads_first(value, n.attribute(key)) for value, key in zip(n.ins, ("q_num_heads", "kv_num_heads", "kv_num_heads")))
    if n.input(4) is not None:
        k, v = numpy.concatenate([n.ins[4], k], 2), numpy.concatenate([n.ins[5], v], 2)
    y = heads_first(n.outs[0], n.attribute("q_num_heads"))
    visible = visible_keys(n, q, k)
    scale, softcap = n.attribute("scale"), n.attribute("softcap")
    if scale is None and v.shape[3] > q.shape[3]:
        scale = shortest(1 / numpy.sqrt(q.shape[3]))       # the head is as wide as the values
    q, k, v, y = fewer_heads(n, q, k, v, y)
    steps, keys = q.shape[2], k.shape[2]
    options, mask = {"causal": False, "cross": steps != keys}, None
    query, key = numpy.arange(steps)[:, None], numpy.arange(keys)[None]
    left = n.attribute("left_window_size", -1)
    causal = (key <= query) & ((key >= query - left) if left >= 0 else True)
    if visible.all():
        pass
    elif steps <= keys and (visible == causal).all():
        k, v = k[:, :, :steps], v[:, :, :steps]         # later keys are seen by nobody
        options = {"causal": True, "cross": False, **({"sliding_window": left + 1} if left >= 0 else {})}
    elif (visible == visible[:, :1]).all():
        mask = visible[:, 0]
    else:
        n.notes.append("each query is a sample of its own")
        q, y = (value.swapaxes(1, 2).reshape(-1, value.shape[1], 1, value.shape[3]) for value in (q, y))
        k, v = (numpy.repeat(value, steps, 0) for value in (k, v))
        mask, options["cross"] = visible.reshape(-1, keys), True
    case = selecting_mha(q, k, v, options)
    case["layer"].update({key: value for key, value in (("attn_scale", scale), ("logit_softcap", softcap)) if value})
    case["y"] = side_by_side(y)
    if mask is not None:
        case["mask"] = mask
    grouped = q.shape[1] != k.shape[1]
    case["file"] = "attention_mask" if mask is not None else "attention_gqa" if grouped else f"attention_{n.outs[0].ndim}d"
    return case


def heads_first(value, heads):
    """[B, heads, T, D] from itself or from [B, T, heads * D]."""
    return value if value.ndim == 4 else value.reshape(*value.shape[:2], heads, -1).swapaxes(1, 2)


def side_by_side(value):
    return value.swapaxes(1, 2).reshape(len(value), value.shape[2], -1)


def visible_keys(n, q, k):
    """[B, T, S]: which keys a query sees."""
    batch, _, steps, _ = q.shape
    keys, mask, valid = k.shape[2], n.input(3), n.input(6)
    past = numpy.full(batch, 0 if n.input(4) is None else n.ins[4].shape[2])
    visible = numpy.ones((batch, q.shape[1], steps, keys), bool)
    if mask is not None:
        if mask.dtype != bool and not numpy.isin(mask, (0, -numpy.inf)).all():
            raise Unmapped("an additive attention mask")
        if mask.shape[-1] != keys:
            raise Unmapped("a mask shorter than the keys")
        visible &= mask if mask.dtype == bool else mask == 0
    key = numpy.arange(keys)
    if valid is not None:
        visible &= (key < valid[:, None])[:, None, None]
        past = valid - steps
    position = (past[:, None] + numpy.arange(steps))[:, None, :, None]
    right = 0 if n.attribute("is_causal", 0) else n.attribute("right_window_size", -1)
    if right >= 0:
        visible &= key <= position + right
    if n.attribute("left_window_size", -1) >= 0:
        visible &= key >= position - n.attribute("left_window_size")
    if (visible != visible[:, :1]).any():
        raise Unmapped("a mask per head")
    return visible[:, 0]


def fewer_heads(n, q, k, v, y):
    """Weights grow with the square of the width: two key heads at most, and two query heads of each."""
    heads, key_heads = q.shape[1], k.shape[1]
    group = heads // key_heads
    kept = [h for h in range(heads) if h // group < 2 and h % group < 2]
    if len(kept) < heads:
        n.notes.append(f"query heads {', '.join(map(str, kept))} of {heads}, at most two key heads")
    return q[:, kept], k[:, :2], v[:, :2], y[:, kept]


def selecting_mha(q, k, v, options):
    """x holds q beside k and v, or q alone with k beside v as the second input; the weights pick the columns."""
    heads, key_heads, width = q.shape[1], k.shape[1], max(q.shape[3], v.shape[3])
    xq, xkv = side_by_side(q), numpy.concatenate([side_by_side(k), side_by_side(v)], 2)
    split = k.shape[1] * k.shape[3]
    if options["cross"]:
        d = max(xq.shape[2], xkv.shape[2])      # one width for both inputs
        x, external = (numpy.pad(value, [(0, 0), (0, 0), (0, d - value.shape[2])]) for value in (xq, xkv))
        first = 0
    else:
        x, external, first = numpy.concatenate([xq, xkv], 2), None, xq.shape[2]
        d = x.shape[2]
    weights = {"q.weight": selection(heads, q.shape[3], width, 0, d), "k.weight": selection(key_heads, k.shape[3], width, first, d),
               "v.weight": selection(key_heads, v.shape[3], width, first + split, d),
               "o.weight": selection(heads, v.shape[3], width, 0, heads * v.shape[3]).T}
    layer = {"type": "mha", "d_model": d, "num_heads": heads, "num_kv_heads": key_heads, "head_dim": width, "output_dim": heads * v.shape[3],
             "rope": False, **options}
    return {"layer": layer, "weights": weights, "x": x, **({} if external is None else {"external": external})}


def selection(heads, used, width, first, cols):
    """[heads * width, cols]: row (h, i) takes column first + h * used + i; rows past `used` are zero."""
    matrix = numpy.zeros((heads, width, cols))
    for head in range(heads):
        for i in range(used):
            matrix[head, i, first + head * used + i] = 1
    return matrix.reshape(heads * width, cols)
