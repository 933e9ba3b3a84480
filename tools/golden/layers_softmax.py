"""The ten softmax variants and KMeans (engine 3.13, 3.14). Rows are independent: each variant maps z [..., n] to p."""
import math

import torch

from layers_case import Draw, case, kind
from layers_dense import act


def sparsemax(z):
    top = z.sort(dim=-1, descending=True).values
    count = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    over = (top.cumsum(-1) - 1) / count
    k = (top > over).sum(-1, keepdim=True)
    return (z - over.gather(-1, k - 1)).clamp(min=0)


class Entmax(torch.autograd.Function):
    """p = max(0, (a-1) z - tau)^(1/(a-1)) with tau by bisection until f64 can split no further; gradient of L-120."""

    @staticmethod
    def forward(ctx, z, alpha):
        z = (alpha - 1) * z
        low = z.amax(-1, keepdim=True) - 1
        high = low + 1
        for _ in range(100):
            tau = (low + high) / 2
            heavy = ((z - tau).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True) >= 1
            low, high = torch.where(heavy, tau, low), torch.where(heavy, high, tau)
        p = (z - low).clamp(min=0) ** (1 / (alpha - 1))
        p = p / p.sum(-1, keepdim=True)
        ctx.save_for_backward(p)
        ctx.alpha = alpha
        return p

    @staticmethod
    def backward(ctx, dy):
        p, = ctx.saved_tensors
        s = torch.where(p > 0, p ** (2 - ctx.alpha), torch.zeros_like(p))
        return s * (dy - (s * dy).sum(-1, keepdim=True) / s.sum(-1, keepdim=True)), None


def entmax(layer, z, call):
    alpha = layer.get("entmax_alpha", 1.5)
    if layer.get("entmax_mode") == "blend":
        alpha = min(max(alpha, 1), 2)
        return (2 - alpha) * z.softmax(-1) + (alpha - 1) * sparsemax(z)
    if alpha == 1:
        return z.softmax(-1)
    return sparsemax(z) if alpha == 2 else Entmax.apply(z, alpha)


def grid(layer, z, call):
    if layer["softmax_rows"] == 0:
        return z.softmax(-1)
    return z.unflatten(-1, (layer["softmax_rows"], layer["softmax_cols"])).softmax(-1).flatten(-2)


def hierarchical(layer, z, call):
    levels = layer["hierarchy_levels"]
    if layer.get("hierarchy_mode", "leaf") == "leaf":
        return z.unflatten(-1, (-1, levels[-1])).softmax(-1).flatten(-2)
    p = torch.ones_like(z[..., :1])
    for level, nodes in zip(levels, z.split([math.prod(levels[:i + 1]) for i in range(len(levels))], dim=-1)):
        p = (p[..., None] * nodes.unflatten(-1, (-1, level)).softmax(-1)).flatten(-2)
    return p


def masked(layer, z, call):
    """Absent entries are exactly 0; a row with none left is all zeros."""
    listed = layer.get("mask", [])
    seen = torch.tensor([*listed, *[True] * (z.shape[-1] - len(listed))]).expand(z.shape) if call.mask is None else call.mask.reshape(z.shape) > 0
    rows = []
    for row, keep in zip(z.flatten(0, -2), seen.flatten(0, -2)):
        rows.append(torch.zeros_like(row).masked_scatter(keep, row[keep].softmax(-1)) if keep.any() else row * 0)
    return torch.stack(rows).reshape(z.shape)


def adaptive(layer, z, call):
    cutoffs = layer.get("adaptive_cutoffs", [])
    if not cutoffs:
        return z.softmax(-1)
    tails = [b - a for a, b in zip(cutoffs, cutoffs[1:])]
    head, *rest = z.split([cutoffs[0] + len(tails), *tails], dim=-1)
    head = head.softmax(-1)
    words = [head[..., cutoffs[0] + k, None] * tail.softmax(-1) for k, tail in enumerate(rest)]
    return torch.cat([head[..., :cutoffs[0]], *words], dim=-1)


def mixture(layer, z, call):
    count = layer.get("mixture_count", 1)
    if count <= 1:
        return z.softmax(-1)
    weights, blocks = z[..., :count].softmax(-1), z[..., count:].unflatten(-1, (count, -1)).softmax(-1)
    return (weights[..., None] * blocks).sum(-2)


def gumbel(layer, z, call):
    p = z.softmax(-1)
    if not layer.get("gumbel_hard", False):
        return p
    return torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).double() + (p - p.detach())


VARIANTS = {
    "standard": lambda layer, z, call: z.softmax(-1),
    "temperature": lambda layer, z, call: z.softmax(-1),
    "sparse": lambda layer, z, call: sparsemax(z),
    "grid": grid, "hierarchical": hierarchical, "masked": masked, "adaptive": adaptive, "mixture": mixture, "entmax": entmax, "gumbel": gumbel,
}


@kind("softmax")
def softmax(layer, w, call):
    return VARIANTS[layer.get("softmax_type", "standard")](layer, call.x / layer.get("temperature", 1), call)


@kind("kmeans", lambda layer: {"centers": [layer["num_clusters"], layer["input_height"]]})
def kmeans(layer, w, call):
    distance = (call.x[..., None, :] - w["centers"]).square().sum(-1)
    a = (-distance / (2 * layer.get("kmeans_temperature", 1) ** 2)).softmax(-1)
    return act(layer, a if layer.get("output_mode", "probabilities") == "probabilities" else a @ w["centers"])


def one(variant, label, shape, *, scale=1.0, seen=None, **options):
    """`seen`: the mask of the call; the key "mask" of `options` is the layer's own."""
    name = f"softmax {variant} {label}"
    layer = {"type": "softmax", "softmax_type": variant, "input_height": shape[-1], **options}
    return case(name, layer, Draw(f"x of {name}").normal(*shape, scale=scale), mask=seen)


def softmax_cases():
    for n, lead in ((1, [3]), (17, [2]), (33, [2]), (130, [1]), (6, []), (5, [2, 3]), (4, [2, 1, 3])):
        yield one("standard", f"{n} lead {lead}", [*lead, n])
    yield one("standard", "large logits", [3, 17], scale=30.0)
    for t in (0.5, 1, 3):
        at = {} if t == 1 else {"temperature": t}
        yield one("standard", f"T {t}", [2, 17], **at)
        yield one("temperature", f"T {t}", [3, 17], **at)
        yield one("grid", f"3 by 4 T {t}", [2, 12], softmax_rows=3, softmax_cols=4, **at)
        yield one("hierarchical", f"leaf 2,3,4 T {t}", [2, 24], hierarchy_levels=[2, 3, 4], **at)
        yield one("hierarchical", f"tree 2,3,4 T {t}", [2, 32], hierarchy_levels=[2, 3, 4], hierarchy_mode="tree", **at)
        yield one("masked", f"listed T {t}", [3, 5], mask=[True, False, True, True, False], **at)
        yield one("sparse", f"T {t}", [4, 17], scale=0.5, **at)     # small logits: several entries stay
        yield one("adaptive", f"4,7,12 T {t}", [2, 14], adaptive_cutoffs=[4, 7, 12], **at)
        yield one("mixture", f"3 of 5 T {t}", [2, 18], mixture_count=3, **at)
        yield one("gumbel", f"without noise T {t}", [3, 6], gumbel_noise=False, **at)
        for alpha in (1.25, 1.5, 3):
            yield one("entmax", f"{alpha} T {t}", [3, 17], scale=0.5, entmax_alpha=alpha, **at)
    yield one("grid", "rows 0 cols 0", [2, 7], softmax_rows=0, softmax_cols=0)
    yield one("grid", "2 by 33", [2, 66], softmax_rows=2, softmax_cols=33)
    yield one("hierarchical", "leaf 3", [2, 3], hierarchy_levels=[3])
    yield one("hierarchical", "tree 3", [2, 3], hierarchy_levels=[3], hierarchy_mode="tree")
    yield one("hierarchical", "tree 2,17 lead 2,2", [2, 2, 36], hierarchy_levels=[2, 17], hierarchy_mode="tree")
    yield one("masked", "short list", [2, 5], mask=[False, True])
    yield one("masked", "listed, none left", [2, 3], mask=[False, False, False])
    rows = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]]).double()
    yield one("masked", "per call", [4, 4], seen=rows)
    yield one("masked", "per call, one row none left, lead 2,2, T 3", [2, 2, 4], seen=rows, temperature=3)
    yield one("masked", "per call in place of the list", [4, 4], seen=rows, mask=[True, False, True, False])
    for n, lead in ((1, [2]), (33, [2]), (67, [1]), (5, []), (5, [2, 3])):
        yield one("sparse", f"{n} lead {lead}", [*lead, n], scale=0.25)
        yield one("entmax", f"1.5 {n} lead {lead}", [*lead, n], scale=0.5)
    yield one("adaptive", "without cutoffs", [2, 6])
    yield one("adaptive", "one cutoff", [2, 6], adaptive_cutoffs=[6])
    yield one("adaptive", "1,18", [2, 2 + 17], adaptive_cutoffs=[1, 18])
    yield one("mixture", "1", [2, 6], mixture_count=1)
    yield one("mixture", "2 of 17", [2, 36], mixture_count=2)
    for alpha in (1, 2, 4):
        yield one("entmax", f"{alpha}", [3, 9], scale=0.25, entmax_alpha=alpha)
    for alpha in (1.25, 1.5, 3):
        yield one("entmax", f"blend {alpha}", [3, 9], entmax_alpha=alpha, entmax_mode="blend")
    yield one("gumbel", "without noise, hard", [3, 6], gumbel_noise=False, gumbel_hard=True, temperature=0.5)


def kmeans_cases():
    for mode in ("probabilities", "features"):
        def one_kmeans(label, clusters, n, lead, **options):
            layer = {"type": "kmeans", "num_clusters": clusters, "input_height": n, "output_mode": mode, **options}
            return case(f"kmeans {mode} {label}", layer, [*lead, n])

        for clusters, n, lead in ((1, 1, [2]), (5, 4, [3]), (17, 3, [2]), (33, 2, [2]), (4, 17, [2]), (5, 4, []), (5, 4, [2, 3]), (3, 2, [17])):
            yield one_kmeans(f"{clusters} of {n} lead {lead}", clusters, n, lead)
        yield one_kmeans("3 of 67", 3, 67, [2], kmeans_temperature=4)
        yield one_kmeans("2 of 130", 2, 130, [1], kmeans_temperature=8)
        for t in (0.5, 3):
            yield one_kmeans(f"T {t}", 5, 4, [3], kmeans_temperature=t)
        for activation in ("relu", "tanh", "silu"):
            yield one_kmeans(activation, 5, 4, [3], activation=activation)
