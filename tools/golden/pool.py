#!/usr/bin/env python3
"""Golden values of pooling from PyTorch, computed in f64: tests/golden/pool.json.

usage: pool.py OUT.json            (needs torch; the file states its version)
"""
import itertools
import json
import sys

import torch
from torch.nn import functional

MAX = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
AVERAGE = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
SIZE = {1: [17], 2: [9, 7], 3: [5, 7, 6]}


def rounded(tensor):
    return [float(f"{v:.9g}") for v in tensor.to(torch.float32).flatten().tolist()]


def case(axes, average, kernel, stride, padding, dilation, ceil_mode, count_include_pad):
    x = torch.randn([1, 2, *SIZE[axes]]).to(torch.float32).double()
    if average:
        y = AVERAGE[axes](x, kernel, stride, padding, ceil_mode, count_include_pad)
    else:
        y = MAX[axes](x, kernel, stride, padding, dilation, ceil_mode)
    return {"axes": axes, "average": average, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode,
            "count_include_pad": count_include_pad, "x_shape": list(x.shape), "y_shape": list(y.shape), "x": rounded(x), "y": rounded(y)}


def main():
    torch.manual_seed(20261122)
    cases = []
    for axes, average, ceil_mode in itertools.product((1, 2, 3), (False, True), (False, True)):
        cases.append(case(axes, average, 2, 2, 0, 1, ceil_mode, True))
        cases.append(case(axes, average, 3, 2, 1, 1, ceil_mode, False))
        cases.append(case(axes, average, 3, 2, 1, 1 if average else 2, ceil_mode, True))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"made_by": "tools/golden/pool.py", "versions": {"torch": torch.__version__}, "cases": cases}, out)
        out.write("\n")


if __name__ == "__main__":
    main()
