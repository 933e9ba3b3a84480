"""Multi-head attention (engine 3.8): projections, norms and rotation written out, attention itself by PyTorch."""
import math

import torch
from torch.nn import functional

from layers_case import Draw, case, kind


def sizes(layer):
    d, heads = layer["d_model"], layer["num_heads"]
    return d, heads, layer.get("num_kv_heads", heads), layer.get("head_dim", d // heads)


def shapes(layer):
    d, heads, kv_heads, width = sizes(layer)
    out = layer.get("output_dim", d)
    named = {"q.weight": [heads * width, d], "k.weight": [kv_heads * width, d], "v.weight": [kv_heads * width, d], "o.weight": [out, heads * width]}
    if layer.get("qkv_bias", False):
        named.update({"q.bias": [heads * width], "k.bias": [kv_heads * width], "v.bias": [kv_heads * width]})
    if layer.get("out_bias", False):
        named["o.bias"] = [out]
    norm = layer.get("qk_norm", "none")
    if norm != "none":
        named.update({"q_norm": [width if norm == "head" else heads * width], "k_norm": [width if norm == "head" else kv_heads * width]})
    if layer.get("inner_norm", False):
        named["inner_norm"] = [heads * width]
    return named


def frequencies(layer, rotated):
    """L-72, L-73: one frequency per pair, and the factor of sin and cos."""
    theta = layer.get("rope_theta", 10000.0)
    f = theta ** (-2 * torch.arange(rotated // 2, dtype=torch.float64) / rotated)
    scaling = layer.get("rope_scaling", {})
    if not scaling:
        return f, 1.0
    factor = scaling["factor"]
    if scaling["type"] == "linear":
        return f / factor, 1.0
    n = scaling["original_max_position_embeddings"]
    if scaling["type"] == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        length = 2 * math.pi / f
        m = (n / length - low) / (high - low)
        blended = (1 - m) * f / factor + m * f
        return torch.where(length < n / high, f, torch.where(length > n / low, f / factor, blended)), 1.0
    # yarn
    dim = [rotated * math.log(n / (2 * math.pi * r)) / (2 * math.log(theta)) for r in (scaling.get("beta_fast", 32), scaling.get("beta_slow", 1))]
    low, high = max(math.floor(dim[0]), 0), min(math.ceil(dim[1]), rotated - 1)
    ramp = ((torch.arange(rotated // 2, dtype=torch.float64) - low) / max(high - low, 0.001)).clamp(0, 1)
    return f / factor * ramp + f * (1 - ramp), scaling.get("attention_factor", 0.1 * math.log(factor) + 1)


def rope(layer, heads):
    """heads [B, H, T, D]; the first D * partial_rotary_factor elements are turned. sin and cos are rounded to f32 (L-72)."""
    steps, width = heads.shape[-2:]
    rotated = int(width * layer.get("partial_rotary_factor", 1))
    f, factor = frequencies(layer, rotated)
    angle = torch.arange(steps, dtype=torch.float64)[:, None] * f
    cos, sin = ((wave * factor).float().to(heads.dtype) for wave in (angle.cos(), angle.sin()))
    turned, rest = heads[..., :rotated], heads[..., rotated:]
    if layer.get("rope_style", "half") == "half":
        a, b = turned.chunk(2, dim=-1)
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
    else:
        a, b = turned[..., 0::2], turned[..., 1::2]
        turned = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)
    return torch.cat([turned, rest], dim=-1)


def visible(layer, queries, keys, mask):
    """[B or 1, 1, T, S], true where a key is seen."""
    seen = torch.ones(queries, keys, dtype=torch.bool)
    t, j = torch.arange(queries)[:, None], torch.arange(keys)
    if layer.get("causal", True):
        seen = seen & (j <= t)
    if layer.get("sliding_window", 0) > 0:
        seen = seen & (j > t - layer["sliding_window"])
    seen = seen[None, None]
    return seen if mask is None else seen & (mask > 0)[:, None, None, :]


def attention(layer, q, k, v, seen):
    scale = layer.get("attn_scale", 1 / math.sqrt(q.shape[-1]))
    cap = layer.get("logit_softcap", 0)
    if not cap:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale, enable_gqa=True)
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = cap * torch.tanh(scale * (q @ k.mT) / cap)
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v


@kind("mha", shapes)
def mha(layer, w, call):
    _, heads, kv_heads, width = sizes(layer)
    x = call.x if call.x.dim() == 3 else call.x[None]
    source = x if call.external is None else call.external
    norm, eps = layer.get("qk_norm", "none"), layer.get("rms_norm_eps", 1e-6)

    def project(name, values, count):
        y = functional.linear(values, w[f"{name}.weight"], w.get(f"{name}.bias"))
        gain = w.get(f"{name}_norm")
        if norm == "full" and gain is not None:
            y = functional.rms_norm(y, gain.shape, gain, eps)
        y = y.unflatten(-1, (count, width)).transpose(1, 2)
        if norm == "head" and gain is not None:
            y = functional.rms_norm(y, gain.shape, gain, eps)
        return rope(layer, y) if name != "v" and layer.get("rope", True) else y

    q, k, v = project("q", x, heads), project("k", source, kv_heads), project("v", source, kv_heads)
    o = attention(layer, q, k, v, visible(layer, x.shape[1], source.shape[1], call.mask)).transpose(1, 2).flatten(-2)
    if layer.get("inner_norm", False):
        o = functional.rms_norm(o, w["inner_norm"].shape, w["inner_norm"], eps)
    y = functional.linear(o, w["o.weight"], w.get("o.bias"))
    return y if call.x.dim() == 3 else y[0]


def one(label, x, heads=2, lengths=None, external=None, **options):
    layer = {"type": "mha", "d_model": x[-1], "num_heads": heads, **options}
    given = {}
    if lengths:
        keys = external[1] if external else x[1]
        given["mask"] = torch.tensor([[float(j < length) for j in range(keys)] for length in lengths], dtype=torch.float64)
    if external:
        layer.update({"cross": True, "causal": False, "rope": False})
        given["external"] = Draw(f"mha external {label}").normal(*external)
    return case(f"mha {label}", layer, x, **given)


def small(label, x=(2, 5, 4), **options):
    return one(label, list(x), head_dim=4, **options)


def mha_cases():
    plain = [2, 5, 8]
    llama3 = {"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}
    yarn = {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}
    everything = {"qkv_bias": True, "out_bias": True, "qk_norm": "head", "inner_norm": True, "num_kv_heads": 2, "partial_rotary_factor": 0.5}
    yield one("causal, no rope", plain, rope=False)
    yield one("not causal, no rope", plain, causal=False, rope=False)
    yield one("rope half", plain)
    yield one("rope interleaved", plain, rope_style="interleaved")
    yield one("not causal, rope half", plain, causal=False)
    yield one("rank 2", [5, 8])
    yield one("1 position", [1, 1, 8])
    yield one("9 positions, rope_theta 500", [1, 9, 8], rope_theta=500)
    yield one("67 positions", [1, 67, 4])
    yield one("67 features, one head of 2", [1, 3, 67], heads=1, head_dim=2)
    yield one("one head of 66", [1, 3, 2], heads=1, head_dim=66)
    for style in ("half", "interleaved"):
        yield small(f"partial_rotary_factor 0.5 {style}", partial_rotary_factor=0.5, rope_style=style)
    yield one("gqa 4/2", plain, heads=4, num_kv_heads=2)
    yield one("gqa 4/1", plain, heads=4, num_kv_heads=1)
    yield one("gqa 4/2, head_dim 4 of d 6", [2, 4, 6], heads=4, num_kv_heads=2, head_dim=4)
    yield one("head_dim 6 of d 5", [2, 4, 5], head_dim=6)
    yield small("output_dim 3", output_dim=3)
    yield small("qkv_bias", qkv_bias=True)
    yield small("out_bias", out_bias=True)
    yield small("qk_norm head", qk_norm="head")
    yield small("qk_norm full", qk_norm="full")
    yield small("qk_norm full gqa 4/2 eps", heads=4, num_kv_heads=2, qk_norm="full", rms_norm_eps=0.125)
    yield one("sliding_window 3", [1, 9, 8], sliding_window=3)
    yield small("sliding_window 1", sliding_window=1)
    yield small("logit_softcap", logit_softcap=2)
    yield small("logit_softcap gqa 4/1 sliding_window 2", heads=4, num_kv_heads=1, logit_softcap=0.5, sliding_window=2)
    yield small("attn_scale", attn_scale=0.25)
    yield small("inner_norm", inner_norm=True)
    yield small("padding mask", [3, 5, 4], lengths=[3, 5, 1])
    yield small("padding mask, not causal", [3, 5, 4], lengths=[3, 5, 1], causal=False)
    yield small("padding mask, logit_softcap", lengths=[4, 2], logit_softcap=2)
    yield one("cross", plain, external=[2, 7, 8])
    yield small("cross padding mask", external=[2, 3, 4], lengths=[2, 3])
    yield small("cross gqa 4/2 biases", heads=4, num_kv_heads=2, external=[2, 6, 4], qkv_bias=True, out_bias=True)
    yield small("cross qk_norm head", external=[2, 3, 4], qk_norm="head")
    yield small("rope_scaling linear", [1, 9, 4], rope_scaling={"type": "linear", "factor": 4})
    # theta 100 spreads the four frequencies over llama3's three bands.
    yield one("rope_scaling llama3", [1, 9, 4], heads=1, head_dim=8, rope_theta=100, rope_scaling=llama3)
    yield one("rope_scaling yarn", [1, 9, 4], heads=1, head_dim=8, rope_theta=100, rope_scaling=yarn)
    yield small("everything", heads=4, **everything)
    yield small("everything interleaved, sliding_window 2, softcap", heads=4, rope_style="interleaved", sliding_window=2, logit_softcap=2, **everything)
