#!/usr/bin/env python3
"""Golden values of convolutions from PyTorch, computed in f64: tests/golden/conv.json.

usage: conv.py OUT.json            (needs torch; the file states its version)
"""
import itertools
import json
import sys

import torch

CONV = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
TRANSPOSED = {1: torch.nn.functional.conv_transpose1d, 2: torch.nn.functional.conv_transpose2d, 3: torch.nn.functional.conv_transpose3d}
SIZE = {1: [9], 2: [5, 4], 3: [3, 3, 4]}
KERNEL = {1: [3], 2: [3, 2], 3: [2, 3, 2]}


def rounded(tensor):
    return [float(f"{v:.9g}") for v in tensor.to(torch.float32).flatten().tolist()]


def filter_major(weight, groups):
    """PyTorch's [C, F / groups, k...] of a transposed convolution as [F, C / groups, k...]."""
    return torch.cat([part.transpose(0, 1) for part in weight.chunk(groups, 0)], 0)


def case(axes, transposed, stride, padding, dilation, groups, batch, bias):
    channels, filters = 4, 4
    output_padding = 1 if transposed and max(stride, dilation) > 1 else 0
    x = torch.randn([batch, channels, *SIZE[axes]]).to(torch.float32).double()
    shape = [channels, filters // groups] if transposed else [filters, channels // groups]
    weight = (torch.randn([*shape, *KERNEL[axes]]) * 0.3).to(torch.float32).double()
    b = torch.randn(filters).to(torch.float32).double() if bias else None
    if transposed:
        y = TRANSPOSED[axes](x, weight, b, stride, padding, output_padding, groups, dilation)
        weight = filter_major(weight, groups)
    else:
        y = CONV[axes](x, weight, b, stride, padding, dilation, groups)
    return {"axes": axes, "transposed": transposed, "stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding,
            "groups": groups, "kernel": KERNEL[axes], "x_shape": list(x.shape), "y_shape": list(y.shape), "filters": filters, "x": rounded(x),
            "weight": rounded(weight), "bias": rounded(b) if bias else [], "y": rounded(y)}


def main():
    torch.manual_seed(20261121)
    cases = []
    for axes, transposed in itertools.product((1, 2, 3), (False, True)):
        for stride, padding, dilation, groups, batch, bias in ((1, 0, 1, 1, 2, False), (2, 1, 1, 2, 1, True), (1, 1, 2, 4, 1, True), (3, 2, 1, 1, 2, True)):
            if axes == 3 and dilation == 2:
                padding = 2
            cases.append(case(axes, transposed, stride, padding, dilation, groups, batch, bias))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"made_by": "tools/golden/conv.py", "versions": {"torch": torch.__version__}, "cases": cases}, out)
        out.write("\n")


if __name__ == "__main__":
    main()
