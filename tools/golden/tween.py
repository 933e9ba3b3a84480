#!/usr/bin/env python3
"""Golden values of one step of target propagation, in f64: tests/golden/learning/tween.json.

usage: tween.py OUT_FILE      (needs numpy; the file states its version)

Every kind is implemented from its rule (docs/guide/tween.md, "Equations") by loops and plain products in f64. No code is shared with the
engine, but its authors wrote this too: what is proven is that the engine does what the page says, not that the page is right. Layers
hold rows of features, `tween(e)` takes the gap of the output (its target less its value) and returns that of the input, and leaves in
`moves` what each weight moves by at a learning rate of 1 without momentum: factor * (1/2 + budget/2) * mean product.

A case is {name, layer, settings, training, x, weights, target, y, input_gap, moves}: `layer` is a JSON spec, `weights` and `moves` are keyed
by path; a tensor is {"shape", "values"}. Values that go in are multiples of 1/4096, exact in f32.
"""
import json
import sys
import zlib

import numpy as np

PLAIN = {"slope": "secant", "slope_step": 0.5, "target_scale": "none", "estimate": "difference", "weight_threshold": 0.01}


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def softmax(z):
    p = np.exp(z - z.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


ACTIVATIONS = {  # value, and the range that slope "sign" keeps targets in
    "linear": (lambda v: v, -np.inf, np.inf),
    "tanh": (np.tanh, -1, 1),
    "relu": (lambda v: np.maximum(v, 0), 0, np.inf),
    "silu": (lambda v: v * sigmoid(v), -np.inf, np.inf),
}


def width_of(pre, settings):
    return max(settings["slope_step"] * np.sqrt(np.mean(pre ** 2)), 1e-3)


def rise(f, pre, settings):
    """The secant slope of f at pre."""
    h = width_of(pre, settings)
    return (f(pre + h) - f(pre - h)) / (2 * h)


def before_activation(name, pre, e, settings):
    f, low, high = ACTIVATIONS[name]
    if name == "linear":
        return e
    if settings["slope"] == "secant":
        return e * rise(f, pre, settings)
    falls = (f(pre + 1e-7) - f(pre - 1e-7)) < 0
    return (np.clip(f(pre) + e, low, high) - f(pre)) * np.where(falls, -1, 1)


def rows(t):
    return t.reshape(-1, t.shape[-1])


def input_gap(pairs, x, settings):
    """Returns the gap of an input that the matrices of `pairs` (W, e, y) read, stacked one below the other: difference or average, weak paths, scale."""
    size = sum(np.abs(w).sum(0) for w, _, _ in pairs)
    weak = size <= settings["weight_threshold"]
    safe = np.where(weak, 1, size)
    if settings["estimate"] == "average":
        d = sum((y + e) @ w for w, e, y in pairs) / safe - x
    else:
        d = sum(e @ w for w, e, _ in pairs)
        if settings["target_scale"] == "weight_sum":
            d = d / safe
    return np.where(weak, 0, d)


class Layer:
    def __init__(self, spec, weights, settings, prefix=""):
        self.spec, self.all, self.s, self.prefix, self.moves = spec, weights, settings, prefix, {}
        self.activation = spec.get("activation", "linear")
        self.build()

    def build(self):
        pass

    def w(self, name):
        return self.all.get(self.prefix + name)

    def move(self, name, product, factor=1.0):
        if self.w(name) is not None:
            self.moves[self.prefix + name] = factor * product

    def linear_moves(self, weight, bias, x, e, factor):
        """Means over the rows of x e and of e."""
        self.move(weight, rows(e).T @ rows(x) / len(rows(x)), factor)
        self.move(bias, rows(e).mean(0), factor)

    def child(self, spec, name):
        return layer_of(spec, self.all, self.s, self.prefix + name + ".")

    def forward(self, x, training=False):
        self.x, self.training = x, training
        self.y = self.values(x)
        return self.y

    def take(self, e, rate=1.0):
        """A step of this layer and its children: the gap of the input."""
        t = self.y + e
        aa, tt = (self.y ** 2).sum(), (t ** 2).sum()
        budget = 1 if aa == tt == 0 else 0.5 if aa == 0 or tt == 0 else ((self.y * t).sum() / np.sqrt(aa * tt) + 1) / 2
        self.rate, self.own = rate, set()
        d = self.tween(e)
        for name in self.moves:
            if name not in self.own:
                self.moves[name] = self.moves[name] * rate * (0.5 + 0.5 * budget)
        return d

    def take_child(self, child, e, rate=1.0):
        d = child.take(e, rate)
        self.moves.update(child.moves)
        self.own |= set(child.moves)
        return d


class Dense(Layer):
    def values(self, x):
        self.pre = x @ self.w("weight").T + (0 if self.w("bias") is None else self.w("bias"))
        return ACTIVATIONS[self.activation][0](self.pre)

    def tween(self, e):
        inner = before_activation(self.activation, self.pre, e, self.s)
        self.linear_moves("weight", "bias", self.x, inner, 1)
        return input_gap([(self.w("weight"), inner, self.y)], self.x, self.s)


class Recurrent(Layer):
    """One direction, [B, T, I] -> [B, T, H]; gates in the order of the flat layout."""
    GATES = {"rnn": [""], "lstm": ["i.", "f.", "g.", "o."], "gru": ["r.", "z.", "n."]}

    def build(self):
        self.kind, self.names = self.spec["type"], self.GATES[self.spec["type"]]
        self.hidden = self.spec["output_height"]

    def values(self, x):
        batch, steps, _ = x.shape
        h = c = np.zeros((batch, self.hidden))
        self.sums = [np.zeros((batch, steps, self.hidden)) for _ in self.names]
        kept = ("h_before", "c_before", "c", "inner")
        for name in kept:
            setattr(self, name, np.zeros((batch, steps, self.hidden)))
        y = np.zeros((batch, steps, self.hidden))
        for t in range(steps):
            self.h_before[:, t], self.c_before[:, t] = h, c
            xw = [x[:, t] @ self.w(g + "weight_ih").T + self.w(g + "bias") for g in self.names]
            hw = [h @ self.w(g + "weight_hh").T for g in self.names]
            if self.kind == "rnn":
                a = xw[0] + hw[0]
                sums, h = [a], ACTIVATIONS[self.spec.get("activation", "tanh")][0](a)
            elif self.kind == "lstm":
                sums = [p + q for p, q in zip(xw, hw)]
                i, f, g, o = sigmoid(sums[0]), sigmoid(sums[1]), np.tanh(sums[2]), sigmoid(sums[3])
                c = f * c + i * g
                h = o * np.tanh(c)
            else:
                m = hw[2] + self.w("n.bias_hh")
                r, z = sigmoid(xw[0] + hw[0]), sigmoid(xw[1] + hw[1])
                sums = [xw[0] + hw[0], xw[1] + hw[1], xw[2] + r * m]
                n = np.tanh(sums[2])
                h = (1 - z) * n + z * h
                self.inner[:, t] = m
            self.c[:, t] = c
            for k, v in enumerate(sums):
                self.sums[k][:, t] = v
            y[:, t] = h
        return y

    def slopes(self):
        """Returns how far h moves with the sum of each gate, the others fixed: secants over the spread of the sums of all rows, or signs."""
        secant = self.s["slope"] == "secant"
        if self.kind == "rnn":
            f = ACTIVATIONS[self.spec.get("activation", "tanh")][0]
            return [rise(f, self.sums[0], self.s)] if secant else [np.ones_like(self.y)]
        sign = lambda v: np.where(v < 0, -1.0, 1.0)
        if self.kind == "lstm":
            i, f, g, o = sigmoid(self.sums[0]), sigmoid(self.sums[1]), np.tanh(self.sums[2]), sigmoid(self.sums[3])
            before = self.c_before
            if not secant:
                return [sign(g), sign(before), np.ones_like(g), sign(np.tanh(self.c))]
            return [rise(lambda a: o * np.tanh(f * before + sigmoid(a) * g), self.sums[0], self.s),
                    rise(lambda a: o * np.tanh(sigmoid(a) * before + i * g), self.sums[1], self.s),
                    rise(lambda a: o * np.tanh(f * before + i * np.tanh(a)), self.sums[2], self.s),
                    rise(lambda a: sigmoid(a) * np.tanh(self.c), self.sums[3], self.s)]
        r, z, n = sigmoid(self.sums[0]), sigmoid(self.sums[1]), np.tanh(self.sums[2])
        if not secant:
            return [sign(self.inner), sign(self.h_before - n), np.ones_like(n)]
        fixed = self.sums[2] - r * self.inner
        return [rise(lambda a: (1 - z) * np.tanh(fixed + sigmoid(a) * self.inner), self.sums[0], self.s),
                rise(lambda a: (1 - sigmoid(a)) * n + sigmoid(a) * self.h_before, self.sums[1], self.s),
                rise(lambda a: (1 - z) * np.tanh(a), self.sums[2], self.s)]

    def tween(self, e):
        batch, steps, _ = self.x.shape
        secant, slopes = self.s["slope"] == "secant", self.slopes()
        gaps = [np.zeros_like(self.y) for _ in self.names]      # at the gates' sums
        inner = np.zeros_like(self.y)                           # at gru's W_hn h + b_hn
        hh = [self.w(g + "weight_hh") for g in self.names]
        size = sum(np.abs(w).sum(0) for w in hh)
        weak = size <= self.s["weight_threshold"]
        carry = np.zeros((batch, self.hidden))
        for t in reversed(range(steps)):
            own = e[:, t] + carry
            if self.kind == "rnn" and not secant:
                _, low, high = ACTIVATIONS[self.spec.get("activation", "tanh")]
                own = np.clip(self.y[:, t] + own, low, high) - self.y[:, t]
            to_hidden = []
            for k in range(len(self.names)):
                gaps[k][:, t] = own * slopes[k][:, t]
                to_hidden.append(gaps[k][:, t])
            if self.kind == "gru":
                inner[:, t] = gaps[2][:, t] * (sigmoid(self.sums[0][:, t]) if secant else 1)
                to_hidden[2] = inner[:, t]
            carry = sum(g @ w for g, w in zip(to_hidden, hh)) * (0.5 if self.kind == "rnn" else 1)
            if self.s["target_scale"] == "weight_sum":
                carry = carry / np.where(weak, 1, size)
            carry = np.where(weak, 0, carry)
        factor = {"rnn": 1, "lstm": 0.25, "gru": 1 / 3}[self.kind]
        hidden_factor = 0.5 if self.kind == "rnn" else 0.1
        for k, g in enumerate(self.names):
            self.linear_moves(g + "weight_ih", g + "bias", self.x, gaps[k], factor)
            from_h = inner if self.kind == "gru" and k == 2 else gaps[k]
            self.linear_moves(g + "weight_hh", g + "bias_hh", self.h_before, from_h, hidden_factor)
        if self.kind == "gru":
            self.moves[self.prefix + "n.bias_hh"] *= factor / hidden_factor   # a bias: the factor of biases
        return input_gap([(self.w(g + "weight_ih"), gaps[k], None) for k, g in enumerate(self.names)], self.x, self.s)


class Mha(Layer):
    def build(self):
        s = self.spec
        self.heads = s["num_heads"]
        self.kv_heads = s.get("num_kv_heads", self.heads)
        self.dim = s["d_model"] // self.heads

    def project(self, name, x):
        bias = self.w(name + ".bias")
        return x @ self.w(name + ".weight").T + (0 if bias is None else bias)

    def rotate(self, v):
        """[B, T, heads, dim], halves paired, base 10000."""
        if not self.spec.get("rope", True):
            return v
        half = self.dim // 2
        angle = np.arange(v.shape[1])[:, None] * 10000.0 ** (-2 * np.arange(half) / self.dim)
        # The engine's table of sines and cosines is f32 in every type.
        c, s = (np.float64(np.float32(f(angle)))[None, :, None, :] for f in (np.cos, np.sin))
        a, b = v[..., :half], v[..., half:]
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    def values(self, x):
        batch, steps, _ = x.shape
        split = lambda v, n: v.reshape(batch, steps, n, self.dim)
        q = self.rotate(split(self.project("q", x), self.heads))
        k = self.rotate(split(self.project("k", x), self.kv_heads))
        self.v = split(self.project("v", x), self.kv_heads)
        self.p = np.zeros((batch, self.heads, steps, steps))
        o = np.zeros((batch, steps, self.heads, self.dim))
        for h in range(self.heads):
            g = h // (self.heads // self.kv_heads)
            scores = np.einsum("btd,bjd->btj", q[:, :, h], k[:, :, g]) / np.sqrt(self.dim)
            if self.spec.get("causal", True):
                scores = np.where(np.tril(np.ones((steps, steps))) > 0, scores, -np.inf)
            self.p[:, h] = softmax(scores)
            o[:, :, h] = np.einsum("btj,bjd->btd", self.p[:, h], self.v[:, :, g])
        self.o = o.reshape(batch, steps, -1)
        return self.project("o", self.o)

    def tween(self, e):
        batch, steps, _ = self.x.shape
        self.linear_moves("o.weight", "o.bias", self.o, e, 0.5)
        e_o = input_gap([(self.w("o.weight"), e, self.y)], self.o, self.s).reshape(batch, steps, self.heads, self.dim)
        e_v = np.zeros_like(self.v)
        group = self.heads // self.kv_heads
        for g in range(self.kv_heads):
            for j in range(steps):
                read = np.zeros(batch)
                for h in range(g * group, (g + 1) * group):
                    for t in range(steps):
                        e_v[:, j, g] += self.p[:, h, t, j, None] * e_o[:, t, h]
                        read += self.p[:, h, t, j]
                strong = read > self.s["weight_threshold"]
                e_v[:, j, g] = np.where(strong[:, None], e_v[:, j, g] / np.where(strong, read, 1)[:, None], 0)
        e_v = e_v.reshape(batch, steps, -1)
        self.linear_moves("v.weight", "v.bias", self.x, e_v, 0.5)
        return input_gap([(self.w("v.weight"), e_v, self.v.reshape(batch, steps, -1))], self.x, self.s)


class Swiglu(Layer):
    def values(self, x):
        f = ACTIVATIONS[self.spec.get("activation", "silu")][0]
        part = lambda name, v: v @ self.w(name + ".weight").T + (0 if self.w(name + ".bias") is None else self.w(name + ".bias"))
        self.gate, self.up = part("gate", x), part("up", x)
        self.hidden = f(self.gate) * self.up
        return part("down", self.hidden)

    def tween(self, e):
        f = ACTIVATIONS[self.spec.get("activation", "silu")][0]
        self.linear_moves("down.weight", "down.bias", self.hidden, e, 0.1)
        e_h = input_gap([(self.w("down.weight"), e, self.y)], self.hidden, self.s)
        sign = lambda v: np.where(v < 0, -1.0, 1.0)
        if self.s["slope"] == "secant":
            e_up, e_gate = e_h * f(self.gate), e_h * self.up * rise(f, self.gate, self.s)
        else:
            e_up, e_gate = e_h * sign(f(self.gate)), e_h * sign(self.up)
        self.linear_moves("up.weight", "up.bias", self.x, e_up, 0.1)
        self.linear_moves("gate.weight", "gate.bias", self.x, e_gate, 0.1)
        return input_gap([(self.w("gate.weight"), e_gate, None), (self.w("up.weight"), e_up, None)], self.x, self.s)


class Norm(Layer):
    """rmsnorm and layernorm over the last axis; groupnorm over groups of channels, batchnorm over all but the channels of [B, C, L]."""

    def build(self):
        self.kind = self.spec["type"]
        self.eps = 1e-6 if self.kind == "rmsnorm" else 1e-5

    def along_channels(self, v):
        return v if self.kind in ("rmsnorm", "layernorm") else v[:, None]

    def values(self, x):
        if self.kind == "rmsnorm":
            mean, s = 0, np.sqrt((x ** 2).mean(-1, keepdims=True) + self.eps)
        elif self.kind == "layernorm":
            mean, s = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + self.eps)
        elif self.kind == "groupnorm":
            g = self.spec["num_groups"]
            parts = x.reshape(x.shape[0], g, -1)
            wide = lambda v: np.repeat(v, x.shape[1] // g, 1).reshape(x.shape[0], x.shape[1], 1)
            mean, s = wide(parts.mean(-1)), wide(np.sqrt(parts.var(-1) + self.eps))
        else:
            mean, s = x.mean((0, 2), keepdims=True), np.sqrt(x.var((0, 2), keepdims=True) + self.eps)
        self.s_own, self.xh = s, (x - mean) / s
        gamma, beta = self.w("gamma"), self.w("beta")
        return self.xh * self.along_channels(gamma) + (0 if beta is None else self.along_channels(beta))

    def tween(self, e):
        over = tuple(range(e.ndim - 1)) if self.kind in ("rmsnorm", "layernorm") else (0, 2)
        self.move("gamma", (e * self.xh).mean(over), 0.01)
        self.move("beta", e.mean(over), 0.01)
        gamma = self.along_channels(self.w("gamma"))
        strong = np.abs(gamma) > self.s["weight_threshold"]
        return np.where(strong, e * self.s_own / np.where(strong, gamma, 1), 0)


class Pool(Layer):
    """[B, C, L]"""

    def windows(self, length):
        s = self.spec
        k, stride, pad = s["kernel_size"], s.get("stride", s["kernel_size"]), s.get("padding", 0)
        for o in range((length + 2 * pad - k) // stride + 1):
            yield o, [i for i in range(o * stride - pad, o * stride - pad + k) if 0 <= i < length]

    def values(self, x):
        k = self.spec["kernel_size"]
        if self.spec["type"] == "maxpool":
            return np.stack([x[:, :, i].max(-1) for _, i in self.windows(x.shape[2])], -1)
        return np.stack([x[:, :, i].sum(-1) / k for _, i in self.windows(x.shape[2])], -1)

    def tween(self, e):
        d = np.zeros_like(self.x)
        for o, inputs in self.windows(self.x.shape[2]):
            if self.spec["type"] == "avgpool":
                for i in inputs:
                    d[:, :, i] += e[:, :, o]
                continue
            winner = np.array(inputs)[self.x[:, :, inputs].argmax(-1)]
            for b in range(d.shape[0]):
                for c in range(d.shape[1]):
                    d[b, c, winner[b, c]] += e[b, c, o]
        return d


def on_simplex(t):
    cut = np.maximum(t, 0)
    return cut / cut.sum(-1, keepdims=True)


class Softmax(Layer):
    """Kinds that keep the width; `mixture` stands for those that combine several distributions."""

    def values(self, x):
        kind = self.spec.get("softmax_type", "standard")
        z = x / (self.spec.get("temperature", 0) or 1)
        self.kind, self.z = kind, z
        if kind == "grid":
            grid = z.reshape(*z.shape[:-1], self.spec["softmax_rows"], self.spec["softmax_cols"])
            return softmax(grid).reshape(z.shape)
        if kind == "masked":
            return softmax(np.where(np.array(self.spec["mask"]), z, -np.inf))
        if kind == "sparse":
            out = np.zeros_like(z)
            for r, v in enumerate(z.reshape(-1, z.shape[-1])):
                u = np.sort(v)[::-1]
                k = max(i + 1 for i in range(len(u)) if u[i] - (u[:i + 1].sum() - 1) / (i + 1) > 0)
                out.reshape(-1, z.shape[-1])[r] = np.maximum(v - (u[:k].sum() - 1) / k, 0)
            return out
        if kind == "mixture":
            m = self.spec["mixture_count"]
            n = (z.shape[-1] - m) // m
            self.pi, self.parts = softmax(z[..., :m]), softmax(z[..., m:].reshape(*z.shape[:-1], m, n))
            return (self.pi[..., None] * self.parts).sum(-2)
        return softmax(z)

    def tween(self, e):
        temperature = self.spec.get("temperature", 0) or 1
        if self.kind == "grid":
            shape = (*e.shape[:-1], self.spec["softmax_rows"], self.spec["softmax_cols"])
            return temperature * (on_simplex((self.y + e).reshape(shape)).reshape(e.shape) - self.y)
        gap = on_simplex(self.y + e) - self.y
        if self.kind != "mixture":
            return temperature * gap
        # T times the gradient of sum_m pi_m p_m: that of its softmaxes by z = x / T.
        through = lambda p, d: p * (d - (p * d).sum(-1, keepdims=True))
        d_pi = (self.parts * gap[..., None, :]).sum(-1)
        d_parts = self.pi[..., None] * gap[..., None, :]
        return np.concatenate([through(self.pi, d_pi), through(self.parts, d_parts).reshape(*e.shape[:-1], -1)], -1)


class Kmeans(Layer):
    def values(self, x):
        c, t = self.w("centers"), self.spec.get("kmeans_temperature", 1)
        self.a = softmax(-((x[..., None, :] - c) ** 2).sum(-1) / (2 * t * t))
        return self.a @ c if self.spec.get("output_mode") == "features" else self.a

    def tween(self, e):
        c, x, n = rows(self.w("centers")), rows(self.x), len(rows(self.x))
        g = rows(e)
        if self.spec.get("output_mode") == "features":
            self.move("centers", rows(self.a).T @ g / n)
            return e
        self.move("centers", sum(g[r][:, None] * (x[r] - c) for r in range(n)) / n, 0.1)
        return np.stack([(g[r][:, None] * (c - x[r])).sum(0) for r in range(n)]).reshape(self.x.shape)


class Embedding(Layer):
    def values(self, x):
        self.ids = x.astype(int)
        return self.w("table")[self.ids]

    def tween(self, e):
        d = np.zeros_like(self.w("table"))
        for i, g in zip(self.ids.reshape(-1), rows(e)):
            d[i] += g
        self.move("table", d)
        return np.zeros_like(self.x)


class PositionEmbedding(Layer):
    def values(self, x):
        return x + self.w("table")[:x.shape[1]]

    def tween(self, e):
        d = np.zeros_like(self.w("table"))
        d[:e.shape[1]] = e.sum(0)
        self.move("table", d)
        return e


class Sequential(Layer):
    def build(self):
        self.children = [self.child(s, f"sequential_layers.{i}") for i, s in enumerate(self.spec["sequential_layers"])]

    def values(self, x):
        y = x
        for c in self.children:
            y = c.forward(y, self.training)
        return x + y if self.spec.get("residual") else y

    def tween(self, e):
        d = e
        for c in reversed(self.children):
            d = self.take_child(c, d, self.rate)
        return (e + d) / 2 if self.spec.get("residual") else d


class Parallel(Layer):
    def build(self):
        self.mode = self.spec.get("combine_mode", "concat")
        self.branches = [self.child(s, f"parallel_branches.{i}") for i, s in enumerate(self.spec["parallel_branches"])]
        if self.mode == "filter":
            self.gate = self.child(self.spec["filter_gate"], "filter_gate")

    def values(self, x):
        out = [b.forward(x, self.training) for b in self.branches]
        if self.mode == "concat":
            return np.concatenate(out, -1)
        if self.mode == "add":
            return sum(out)
        if self.mode == "avg":
            return sum(out) / len(out)
        self.p = softmax(self.gate.forward(x, self.training))
        return sum(self.p[..., i, None] * o for i, o in enumerate(out))

    def tween(self, e):
        gaps, first = [], 0
        for i, b in enumerate(self.branches):
            own = e
            if self.mode == "concat":
                own, first = e[..., first:first + b.y.shape[-1]], first + b.y.shape[-1]
            rate = self.rate * (self.p[..., i].mean() if self.mode == "filter" else 1)
            gaps.append(self.take_child(b, own, rate))
        if self.mode != "filter":
            return sum(gaps) / len(gaps)
        away = [b.y - self.y for b in self.branches]
        cosine = lambda a, b: (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
        self.take_child(self.gate, np.stack([cosine(e, a) for a in away], -1), self.rate)
        return sum(self.p[..., i, None] * g for i, g in enumerate(gaps))


KINDS = {"dense": Dense, "rnn": Recurrent, "lstm": Recurrent, "gru": Recurrent, "mha": Mha, "swiglu": Swiglu, "rmsnorm": Norm, "layernorm": Norm,
         "groupnorm": Norm, "batchnorm": Norm, "maxpool": Pool, "avgpool": Pool, "softmax": Softmax, "kmeans": Kmeans, "embedding": Embedding,
         "position_embedding": PositionEmbedding, "sequential": Sequential, "parallel": Parallel}


def layer_of(spec, weights, settings, prefix=""):
    return KINDS[spec["type"]](spec, weights, settings, prefix)


def dense(i, o, activation="linear", bias=True):
    return {"type": "dense", "input_height": i, "output_height": o, "activation": activation, "bias": bias}


def shapes_of(spec, prefix=""):
    kind, i, o = spec["type"], spec.get("input_height"), spec.get("output_height")
    if kind == "dense":
        own = {"weight": (o, i)} | ({"bias": (o,)} if spec["bias"] else {})
    elif kind in Recurrent.GATES:
        own = {}
        for g in Recurrent.GATES[kind]:
            own |= {g + "weight_ih": (o, i), g + "weight_hh": (o, o), g + "bias": (o,)}
        own |= {"n.bias_hh": (o,)} if kind == "gru" else {}
    elif kind == "mha":
        d, kv = spec["d_model"], spec["d_model"] // spec["num_heads"] * spec.get("num_kv_heads", spec["num_heads"])
        own = {"q.weight": (d, d), "k.weight": (kv, d), "v.weight": (kv, d), "o.weight": (d, d)}
        own |= {"q.bias": (d,), "k.bias": (kv,), "v.bias": (kv,), "o.bias": (d,)} if spec.get("bias") else {}
    elif kind == "swiglu":
        own = {"gate.weight": (o, i), "up.weight": (o, i), "down.weight": (i, o)}
        own |= {"gate.bias": (o,), "up.bias": (o,), "down.bias": (i,)} if spec.get("bias") else {}
    elif kind in ("rmsnorm", "layernorm", "groupnorm", "batchnorm"):
        own = {"gamma": (i,)} | ({} if kind == "rmsnorm" else {"beta": (i,)})
    elif kind == "kmeans":
        own = {"centers": (spec["num_clusters"], i)}
    elif kind == "embedding":
        own = {"table": (spec["vocab_size"], spec["embedding_dim"])}
    elif kind == "position_embedding":
        own = {"table": (spec["max_seq_len"], spec["embedding_dim"])}
    else:
        own = {}
        for n, c in enumerate(spec.get("sequential_layers", [])):
            own |= shapes_of(c, f"sequential_layers.{n}.")
        for n, c in enumerate(spec.get("parallel_branches", [])):
            own |= shapes_of(c, f"parallel_branches.{n}.")
        if "filter_gate" in spec:
            own |= shapes_of(spec["filter_gate"], "filter_gate.")
    return {prefix + name: shape for name, shape in own.items()}


def tensor(v):
    return {"shape": list(v.shape), "values": [float(f) for f in v.reshape(-1)]}


def case(name, spec, shape, training=False, ids=0, weak=(), **settings):
    random = np.random.RandomState(zlib.crc32(name.encode()))
    draw = lambda s, size=1.0: np.round(random.standard_normal(s) * size * 64) / 64
    weights = {}
    for path, s in shapes_of(spec).items():
        weights[path] = draw(s, 0.5) + (1 if path.endswith("gamma") else 0)
    for path, index in weak:     # entries or columns below the threshold
        weights[path][..., index] = 1 / 4096
    x = random.randint(0, ids, shape).astype(float) if ids else draw(shape)
    s = PLAIN | settings
    layer = layer_of(spec, weights, s)
    y = layer.forward(x, training)
    target = np.round((y + draw(y.shape, 0.3)) * 64) / 64
    d = layer.take(target - y)
    return {"name": name, "layer": spec, "settings": settings, "training": training, "x": tensor(x), "target": tensor(target),
            "weights": {k: tensor(v) for k, v in weights.items()}, "y": tensor(y), "input_gap": tensor(d),
            "moves": {k: tensor(layer.moves[k]) if k in layer.moves else tensor(np.zeros_like(v)) for k, v in weights.items()}}


def cases():
    sign = {"slope": "sign", "target_scale": "weight_sum"}
    for act in ("tanh", "silu", "relu"):
        yield case("dense " + act, dense(5, 4, act), (3, 5), weak=[("weight", 2)])
    yield case("dense silu sign", dense(5, 4, "silu"), (3, 5), weak=[("weight", 2)], **sign)
    yield case("dense average", dense(5, 4, "tanh"), (3, 5), weak=[("weight", 2)], estimate="average")
    for kind in ("rnn", "lstm", "gru"):
        spec = {"type": kind, "input_height": 3, "output_height": 4}
        weak = [(g + w, 1) for g in Recurrent.GATES[kind] for w in ("weight_ih", "weight_hh")]
        yield case(kind, spec, (2, 4, 3))
        yield case(kind + " weak paths", spec, (2, 3, 3), weak=weak)
        yield case(kind + " sign", spec, (2, 4, 3), weak=weak, **sign)
    yield case("rnn relu", {"type": "rnn", "input_height": 3, "output_height": 4, "activation": "relu"}, (2, 4, 3))
    gqa = {"type": "mha", "d_model": 8, "num_heads": 4, "num_kv_heads": 2, "bias": True}
    yield case("mha grouped", gqa, (2, 4, 8))
    yield case("mha grouped sign", gqa, (2, 4, 8), **sign)
    yield case("mha both ways", {"type": "mha", "d_model": 6, "num_heads": 2, "causal": False, "rope": False}, (2, 3, 6), weak=[("o.weight", 1)],
               weight_threshold=0.5)
    swiglu = {"type": "swiglu", "input_height": 4, "output_height": 6, "bias": True}
    yield case("swiglu", swiglu, (3, 4))
    yield case("swiglu sign", swiglu, (3, 4), **sign)
    for spec, shape in (({"type": "rmsnorm", "input_height": 5}, (3, 5)), ({"type": "layernorm", "input_height": 5}, (3, 5)),
                        ({"type": "groupnorm", "input_height": 6, "num_groups": 2}, (2, 6, 3)), ({"type": "batchnorm", "input_height": 4}, (3, 4, 2))):
        yield case(spec["type"], spec, shape, training=spec["type"] == "batchnorm", weak=[("gamma", 1)])
    yield case("maxpool overlapping", {"type": "maxpool", "kernel_size": 3, "stride": 2, "padding": 1}, (2, 2, 7))
    yield case("avgpool overlapping", {"type": "avgpool", "kernel_size": 3, "stride": 2, "padding": 1}, (2, 2, 7))
    yield case("softmax", {"type": "softmax", "temperature": 2}, (3, 5))
    yield case("softmax masked", {"type": "softmax", "softmax_type": "masked", "mask": [True, False, True, True, True]}, (3, 5))
    yield case("softmax sparse", {"type": "softmax", "softmax_type": "sparse", "temperature": 1.5}, (3, 5))
    yield case("softmax grid", {"type": "softmax", "softmax_type": "grid", "softmax_rows": 2, "softmax_cols": 3}, (3, 6))
    yield case("softmax mixture", {"type": "softmax", "softmax_type": "mixture", "mixture_count": 2, "temperature": 2}, (3, 10))
    yield case("kmeans", {"type": "kmeans", "num_clusters": 4, "input_height": 3}, (5, 3))
    yield case("kmeans features", {"type": "kmeans", "num_clusters": 4, "input_height": 3, "output_mode": "features"}, (5, 3))
    yield case("embedding", {"type": "embedding", "vocab_size": 5, "embedding_dim": 3}, (2, 4), ids=4)
    yield case("position_embedding", {"type": "position_embedding", "max_seq_len": 5, "embedding_dim": 3}, (2, 4, 3))
    yield case("sequential", {"type": "sequential", "sequential_layers": [dense(4, 6, "tanh"), dense(6, 3)]}, (3, 4))
    yield case("residual", {"type": "sequential", "residual": True, "sequential_layers": [dense(4, 6, "tanh"), dense(6, 4)]}, (3, 4))
    branches = [dense(4, 3, "tanh"), dense(4, 3), dense(4, 3, "silu")]
    for mode in ("concat", "add", "avg"):
        yield case("parallel " + mode, {"type": "parallel", "combine_mode": mode, "parallel_branches": branches}, (3, 4))
    yield case("parallel filter", {"type": "parallel", "combine_mode": "filter", "filter_gate": dense(4, 3), "parallel_branches": branches}, (3, 4))
    nested = {"type": "parallel", "combine_mode": "filter", "filter_gate": dense(3, 2), "parallel_branches": [dense(3, 3, "tanh"), dense(3, 3)]}
    yield case("filter within a filter", {"type": "parallel", "combine_mode": "filter", "filter_gate": dense(3, 2),
                                          "parallel_branches": [{"type": "sequential", "sequential_layers": [dense(3, 3, "tanh"), nested]}, dense(3, 3)]}, (4, 3))


def main():
    with open(sys.argv[1], "w") as f:
        listed = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases())
        f.write('{"made_by":"tools/golden/tween.py","versions":{"numpy":"%s"},"cases":[\n%s\n]}\n' % (np.__version__, listed))


if __name__ == "__main__":
    main()
