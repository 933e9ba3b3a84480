#!/usr/bin/env python3
"""Gradients of networks that PyTorch exports to ONNX: tests/golden/onnx/gradients.json.

usage: graph_gradients.py tests/golden/onnx/gradients.json      (needs torch, onnx and numpy)

A small convolutional network and a block of a transformer, in evaluation mode. The file is {"made_by", "versions", "cases"}, one case per line:
name, onnx (base64 of the file), x, y, dy, dx, and grads by the names of the initializers. A tensor is {"shape", "f32" or "f64": base64 of
little-endian values}: what goes in is exact in f32, what is expected is computed in f64. Every value is made by a seed.
"""
import base64
import io
import json
import sys

import numpy as np
import onnx
import torch
from torch import nn

DEPTH = 8  # features of the block


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.SiLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 6, 3, padding=1, groups=3, stride=2), nn.GELU(), nn.AvgPool2d(2))
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


class Block(nn.Module):
    """Attention over the steps of each sample and a feed-forward part, norms in front, with a learned scale."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DEPTH), nn.LayerNorm(DEPTH)
        self.qkv, self.out = nn.Linear(DEPTH, 3 * DEPTH), nn.Linear(DEPTH, DEPTH)
        self.up, self.down = nn.Linear(DEPTH, 2 * DEPTH), nn.Linear(2 * DEPTH, DEPTH)
        self.scale = nn.Parameter(torch.ones(DEPTH))

    def forward(self, x):
        heads = 2
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.reshape(-1, 5, heads, DEPTH // heads).transpose(1, 2) for t in (q, k, v))
        scores = torch.softmax(q @ k.transpose(-1, -2) / (DEPTH // heads) ** 0.5, dim=-1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(-1, 5, DEPTH))
        return x + self.scale * self.down(torch.relu(self.up(self.norm2(x))))


def tensor(values, wide=False):
    array = np.ascontiguousarray(values.detach().numpy(), dtype="<f8" if wide else "<f4")
    return {"shape": list(array.shape), "f64" if wide else "f32": base64.b64encode(array.tobytes()).decode()}


def case(name, model, shape):
    generator = torch.Generator().manual_seed(len(name))

    def draw(extents, low=-1.0, high=1.0):
        return (torch.rand(extents, generator=generator) * (high - low) + low).float()

    with torch.no_grad():
        for key, value in model.state_dict().items():
            if value.dtype == torch.float32:
                positive = key.endswith("running_var") or (value.dim() == 1 and key.endswith(".weight"))
                value.copy_(draw(value.shape, 0.5, 1.5) if positive else draw(value.shape, -0.6, 0.6))
    model.eval()
    x = draw(shape)
    data = io.BytesIO()
    torch.onnx.export(model, (x,), data, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False,
                      dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)
    names = {initializer.name for initializer in onnx.load_from_string(data.getvalue()).graph.initializer}
    exact, wide = model.double(), x.double().requires_grad_()
    y = exact(wide)
    dy = draw(y.shape)
    y.backward(dy.double())
    grads = {key: tensor(value.grad, True) for key, value in exact.named_parameters() if key in names}
    assert len(grads) == len(list(exact.parameters())), sorted(grads)
    return {"name": name, "onnx": base64.b64encode(data.getvalue()).decode(), "x": tensor(x), "y": tensor(y, True),
            "dy": tensor(dy), "dx": tensor(wide.grad, True), "grads": grads}


def main():
    torch.set_num_threads(1)
    cases = [case("cnn", Cnn(), (20, 2, 8, 8)), case("block", Block(), (18, 5, DEPTH))]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write('{"made_by": "tools/golden/graph_gradients.py", "versions": ')
        file.write(json.dumps({"torch": torch.__version__, "onnx": onnx.__version__, "numpy": np.__version__}))
        file.write(', "cases": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
