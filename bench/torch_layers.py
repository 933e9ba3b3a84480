"""Layers beside PyTorch, interleaved, in f32: python bench/torch_layers.py [--threads N] [--program BENCH_LAYERS] [--rounds N] [PART_OF_NAME]

Per row and pass: least and median microseconds of both, and the ratio (above 1: Loom is faster). A row of bench/layers.json is a layer's
spec and its input; a kind is added by one function in KINDS that makes PyTorch's module of a spec.
"""
import argparse

import torch
from torch import nn

from beside import joined, loom_lines, program, table, timed

SECONDS = 0.15  # per pass and round


def conv(spec):
    axes = int(spec["type"][-1])
    name = ("ConvTranspose" if "transposed" in spec["type"] else "Conv") + f"{axes}d"
    keys = {k: spec[k] for k in ("stride", "padding", "dilation", "groups", "output_padding", "bias") if k in spec}
    return getattr(nn, name)(spec["input_channels"], spec["filters"], spec["kernel_size"], **{"bias": False, **keys})


def dense(spec):
    return nn.Linear(spec["input_height"], spec["output_height"], bias=spec.get("bias", False))


class Recurrent(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.inner = getattr(nn, spec["type"].upper())(spec["input_height"], spec["output_height"], batch_first=True)
        self.whole = spec.get("return_sequence", True)

    def forward(self, x):
        y = self.inner(x)[0]
        return y if self.whole else y[:, -1]


class Permute(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.axes = spec["axes"]

    def forward(self, x):
        return x.permute(self.axes)


class Attention(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.width, self.heads, self.causal = spec["d_model"], spec["num_heads"], spec["causal"]
        self.qkv = nn.Linear(self.width, 3 * self.width, bias=False)
        self.out = nn.Linear(self.width, self.width, bias=False)

    def forward(self, x):
        batch, time, _ = x.shape
        q, k, v = (t.view(batch, time, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, time, self.width))


class Gated(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.up = nn.Linear(spec["input_height"], 2 * spec["output_height"], bias=False)
        self.down = nn.Linear(spec["output_height"], spec["input_height"], bias=False)

    def forward(self, x):
        gate, up = self.up(x).chunk(2, dim=-1)
        return self.down(nn.functional.silu(gate) * up)


def sequential(spec):
    return nn.Sequential(*[module for layer in spec["sequential_layers"] for module in modules(layer)])


KINDS = {
    "dense": dense, "rnn": Recurrent, "lstm": Recurrent, "gru": Recurrent, "mha": Attention, "swiglu": Gated, "sequential": sequential,
    "maxpool": lambda s: nn.MaxPool2d(s["kernel_size"], s["stride"]), "reshape": lambda s: nn.Flatten(),
    "layernorm": lambda s: nn.LayerNorm(s["input_height"]), "rmsnorm": lambda s: nn.RMSNorm(s["input_height"]),
    "batchnorm": lambda s: nn.BatchNorm2d(s["input_height"]), "groupnorm": lambda s: nn.GroupNorm(s["num_groups"], s["input_height"]),
    "softmax": lambda s: nn.Softmax(-1), "permute": Permute,
    **{f"{kind}{axes}": conv for kind in ("cnn", "convtransposed") for axes in (1, 2, 3)},
}
ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "linear": None}


def modules(spec):
    activation = ACTIVATIONS[spec.get("activation", "linear")]
    return [KINDS[spec["type"]](spec)] + ([activation()] if activation else [])


def passes(row):
    module = nn.Sequential(*modules(row["layer"]))
    x = torch.rand(row["x"]) - 0.5
    wanted = x.clone().requires_grad_()
    with torch.no_grad():
        dy = torch.rand_like(module(x)) - 0.5

    def forward():
        module.eval()
        with torch.inference_mode():
            module(x)

    def both():
        module.train()
        module.zero_grad(set_to_none=True)
        wanted.grad = None
        module(wanted).backward(dy)

    return {"forward": forward, "forward+backward": both}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=program("bench_layers"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = [r for r in table("layers.json") if options.part in r["name"]]
    print(f"{'us, least and median':36}{'Loom':>20}{'PyTorch':>20}{'least':>8}{'median':>8}")
    for row in rows:
        mine, theirs = {}, {}
        for _ in range(options.rounds):
            for name, which, least, median in loom_lines(options.program, "layers.json", row["name"], SECONDS, options.threads):
                if name == row["name"]:
                    mine.setdefault(which, []).append((least, median))
            for which, f in passes(row).items():
                theirs.setdefault(which, []).append(timed(f, SECONDS))
        for which, short in (("forward", "f"), ("forward+backward", "f+b")):
            a, b = joined(mine[which]), joined(theirs[which])
            print(f"{row['name'] + ' ' + short:36}{a[0]:10.1f}{a[1]:10.1f}{b[0]:10.1f}{b[1]:10.1f}{b[0] / a[0]:8.2f}{b[1] / a[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
