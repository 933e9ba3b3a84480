"""s6 (engine 3.17): the selective scan of Mamba, written from the equations of Gu and Dao 2023 (section 3.2) one step at a time."""
import torch
from torch.nn import functional

from layers_case import Draw, case, kind


def rank_of(layer):
    return layer.get("dt_rank", 0) or -(-layer["input_height"] // 16)


def shapes(layer):
    d, n, r = layer["input_height"], layer.get("state_size", 16), rank_of(layer)
    named = {"dt_in.weight": [r, d], "dt.weight": [d, r], "b.weight": [n, d], "c.weight": [n, d], "a_log": [d, n], "d_skip": [d]}
    return {**named, "dt.bias": [d]} if layer.get("bias", True) else named


@kind("s6", shapes)
def s6(layer, w, call):
    x = call.x if call.x.dim() == 3 else call.x[None]
    batch, steps, d = x.shape
    n = layer.get("state_size", 16)
    dt = functional.softplus(functional.linear(functional.linear(x, w["dt_in.weight"]), w["dt.weight"], w.get("dt.bias")))
    b, c = functional.linear(x, w["b.weight"]), functional.linear(x, w["c.weight"])
    a = -torch.exp(w["a_log"])
    # Loom's states are [1, B, N * D], channels side by side.
    h = call.state["h0"][0].reshape(batch, n, d).transpose(1, 2) if call.state else torch.zeros(batch, d, n, dtype=x.dtype)
    valid = torch.tensor(call.lengths or [steps] * batch)
    ys = []
    for t in range(steps):
        now = torch.exp(dt[:, t, :, None] * a) * h + dt[:, t, :, None] * b[:, t, None, :] * x[:, t, :, None]
        y = (now * c[:, t, None, :]).sum(-1) + w["d_skip"] * x[:, t]
        ended = (valid <= t)[:, None]
        ys.append(torch.where(ended, torch.zeros_like(y), y))
        h = torch.where(ended[..., None], h, now)
    call.y_state["hT"] = h.transpose(1, 2).reshape(1, batch, n * d)
    y = torch.stack(ys, 1)
    return y if call.x.dim() == 3 else y[0]


def s6_cases():
    def one(label, d, n, x, state=False, **options):
        given = {key: options.pop(key) for key in ("lengths",) if key in options}
        layer = {"type": "s6", "input_height": d, "state_size": n, **options}
        draw = Draw(f"s6 weights {label}")
        # As a fresh layer has them, moved a little.
        weights = {"a_log": (torch.arange(1, n + 1).double().log().repeat(d, 1) + draw.normal(d, n, scale=0.25)).float().double(),
                   "d_skip": draw.normal(d, scale=0.25, mean=1.0)}
        if options.get("bias", True):
            weights["dt.bias"] = draw.normal(d, scale=1.5, mean=-2.0)
        if state:
            given["state"] = {"h0": draw.normal(1, x[0], n * d)}
        return case(f"s6 {label}", layer, x, weights=weights, **given)

    yield one("1 step", 5, 4, [3, 1, 5])
    yield one("2 steps", 5, 4, [1, 2, 5])
    yield one("17 steps", 5, 4, [3, 17, 5])
    yield one("67 steps", 3, 2, [1, 67, 3])
    yield one("1 channel, 1 state", 1, 1, [3, 4, 1])
    yield one("1 channel, 16 states", 1, 16, [1, 3, 1])
    yield one("33 channels", 33, 4, [2, 3, 33])
    yield one("33 channels, 16 states", 33, 16, [1, 2, 33])
    yield one("17 samples", 5, 1, [17, 2, 5])
    yield one("one sequence of rank 2", 5, 4, [4, 5])
    yield one("rank of dt", 5, 4, [2, 3, 5], dt_rank=3)
    yield one("without bias", 5, 4, [2, 3, 5], bias=False)
    yield one("state", 5, 4, [3, 4, 5], state=True)
    yield one("state of 33 channels", 33, 3, [2, 2, 33], state=True)
    yield one("lengths", 5, 4, [3, 6, 5], lengths=[2, 6, 1])
    yield one("lengths state", 17, 4, [3, 5, 17], lengths=[5, 0, 3], state=True)
