"""Convolutions, transposed convolutions and pooling (engine 3.4 to 3.6)."""
import itertools

import torch
from torch.nn import functional

from layers_case import Draw, case, kind
from layers_dense import act

CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
MAX = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
AVERAGE = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
GLOBAL_MAX = {1: functional.adaptive_max_pool1d, 2: functional.adaptive_max_pool2d, 3: functional.adaptive_max_pool3d}
GLOBAL_AVERAGE = {1: functional.adaptive_avg_pool1d, 2: functional.adaptive_avg_pool2d, 3: functional.adaptive_avg_pool3d}
AXES = {1: ["input_height"], 2: ["input_height", "input_width"], 3: ["input_depth", "input_height", "input_width"]}
SIZE = {"cnn": {1: [9], 2: [6, 4], 3: [3, 3, 4]}, "convtransposed": {1: [5], 2: [3, 4], 3: [3, 2, 3]}}
KERNEL = {1: 3, 2: [3, 2], 3: [2, 3, 2]}


def each(value, axes):
    return list(value) if isinstance(value, list) else [value] * axes


def conv_shapes(layer):
    axes = int(layer["type"][-1])
    weight = [layer["filters"], layer["input_channels"] // layer.get("groups", 1), *each(layer["kernel_size"], axes)]
    return {"weight": weight, **({"bias": [layer["filters"]]} if layer.get("bias", False) else {})}


def conv(layer, w, call):
    axes = int(layer["type"][-1])
    options = [each(layer.get(key, default), axes) for key, default in (("stride", 1), ("padding", 0), ("dilation", 1))]
    return act(layer, CONV[axes](call.x, w["weight"], w.get("bias"), *options, layer.get("groups", 1)))


def transposed(layer, w, call):
    axes, groups = int(layer["type"][-1]), layer.get("groups", 1)
    stride, padding, dilation = (each(layer.get(key, default), axes) for key, default in (("stride", 1), ("padding", 0), ("dilation", 1)))
    # [F, C / groups, k...] of Loom to PyTorch's [C, F / groups, k...].
    weight = torch.cat([part.transpose(0, 1) for part in w["weight"].chunk(groups, 0)], 0)
    y = TRANSPOSED[axes](call.x, weight, w.get("bias"), stride, padding, each(layer.get("output_padding", 0), axes), groups, dilation)
    return act(layer, y)


for axes in (1, 2, 3):
    kind(f"cnn{axes}", conv_shapes)(conv)
    kind(f"convtransposed{axes}", conv_shapes)(transposed)


@kind("maxpool")
def maxpool(layer, w, call):
    axes = call.x.dim() - 2
    if layer.get("global", False):
        return GLOBAL_MAX[axes](call.x, [1] * axes)
    kernel = layer["kernel_size"]
    return MAX[axes](call.x, kernel, layer.get("stride", kernel), layer.get("padding", 0), layer.get("dilation", 1), layer.get("ceil_mode", False))


@kind("avgpool")
def avgpool(layer, w, call):
    axes = call.x.dim() - 2
    if layer.get("global", False):
        return GLOBAL_AVERAGE[axes](call.x, [1] * axes)
    kernel = layer["kernel_size"]
    return AVERAGE[axes](call.x, kernel, layer.get("stride", kernel), layer.get("padding", 0), layer.get("ceil_mode", False),
                         layer.get("count_include_pad", True))


def conv_case(kind_name, axes, size, channels, filters, batch, options):
    layer = {"type": f"{kind_name}{axes}", "input_channels": channels, "filters": filters, **dict(zip(AXES[axes], size)), **options}
    label = " ".join(f"{key} {value}" for key, value in options.items())
    return case(f"{layer['type']} {channels} to {filters} size {size} batch {batch} {label}", layer, [batch, channels, *size])


# (options, batch); every key meets every other one somewhere.
CROSS = (
    ({}, 2),
    ({"bias": True, "padding": 1}, 1),
    ({"stride": 2, "bias": True}, 2),
    ({"stride": 2, "padding": 1, "groups": 2}, 1),
    ({"dilation": 2, "padding": 2, "groups": 4, "bias": True}, 1),
    ({"stride": 3, "padding": 2, "dilation": 2, "bias": True, "activation": "silu"}, 1),
)
PER_AXIS = {
    1: {"stride": [2], "padding": [1], "dilation": [2]},
    2: {"stride": [2, 1], "padding": [0, 2], "dilation": [1, 2]},
    3: {"stride": [1, 2, 1], "padding": [1, 0, 2], "dilation": [2, 1, 3]},
}


def conv_cases():
    for axes, name in itertools.product((1, 2, 3), ("cnn", "convtransposed")):
        for options, batch in CROSS:
            grouped = options.get("groups", 1) > 1
            options = {"kernel_size": KERNEL[axes], **options}
            if name == "convtransposed" and options.get("stride", 1) > 1:
                options["output_padding"] = 1
            yield conv_case(name, axes, SIZE[name][axes], 4 if grouped else 2, 4 if grouped else 3, batch if axes < 3 else 1, options)
        options = {"kernel_size": KERNEL[axes], **PER_AXIS[axes], "bias": True, "activation": "relu"}
        if name == "convtransposed":
            options["output_padding"] = {1: [1], 2: [1, 0], 3: [0, 1, 2]}[axes]
        yield conv_case(name, axes, SIZE[name][axes], 2, 3, 1, options)
    for name in ("cnn", "convtransposed"):
        yield conv_case(name, 1, [7], 26, 2, 1, {"kernel_size": 5, "padding": 2, "bias": True})     # 130 terms in the forward sum
        yield conv_case(name, 1, [4], 2, 33, 1, {"kernel_size": 2, "bias": True})                   # tails of the filters
        yield conv_case(name, 2, [2, 3], 3, 17, 1, {"kernel_size": 2, "stride": 2})
        yield conv_case(name, 2, [4, 4], 3, 6, 1, {"kernel_size": 3, "padding": 1, "groups": 3})    # two filters per channel
        yield conv_case(name, 1, [5], 1, 1, 17, {"kernel_size": 1})                                 # more samples than a block of N-05
        yield conv_case(name, 1, [70], 1, 1, 1, {"kernel_size": 67, "padding": 3})
        yield conv_case(name, 2, [5, 4], 2, 2, 1, {"kernel_size": 1, "activation": "gelu"})
    yield conv_case("cnn", 3, [3, 3, 3], 3, 3, 1, {"kernel_size": 3, "groups": 3, "padding": 1})    # depthwise


def pool_case(name, shape, options):
    x = Draw(f"{name} {shape} {options}").normal(*shape)
    label = " ".join(f"{key} {value}" for key, value in options.items())
    return case(f"{name} {shape} {label}", {"type": name, **options}, x)


def pool_cases():
    shapes = {1: [2, 2, 17], 2: [1, 2, 7, 6], 3: [1, 1, 5, 4, 6]}
    for axes, ceil_mode in itertools.product((1, 2, 3), (False, True)):
        shape = shapes[axes]
        common = {"ceil_mode": ceil_mode}
        yield pool_case("maxpool", shape, {"kernel_size": 2, **common})
        yield pool_case("maxpool", shape, {"kernel_size": 3, "stride": 2, "padding": 1, **common})
        yield pool_case("maxpool", shape, {"kernel_size": 2, "stride": 3, "dilation": 2, "padding": 1, **common})
        yield pool_case("avgpool", shape, {"kernel_size": 2, **common})
        for include in (False, True):
            yield pool_case("avgpool", shape, {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": include, **common})
            yield pool_case("avgpool", shape, {"kernel_size": 4, "stride": 3, "padding": 2, "count_include_pad": include, **common})
    for axes in (1, 2, 3):
        for name in ("maxpool", "avgpool"):
            yield pool_case(name, shapes[axes], {"global": True})
            yield pool_case(name, shapes[axes], {"kernel_size": 3, "stride": 1})
    for name in ("maxpool", "avgpool"):
        yield pool_case(name, [2, 1, 8, 7], {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 0]})
        yield pool_case(name, [1, 2, 4, 5, 6], {"kernel_size": [2, 3, 2], "stride": [1, 2, 2], "padding": [0, 1, 1]})
        yield pool_case(name, [1, 1, 9, 9], {"kernel_size": 9, "stride": 1, "padding": 4})     # windows of 81: past one block of 64 terms
        yield pool_case(name, [1, 17, 3], {"kernel_size": 3})
    yield pool_case("maxpool", [1, 2, 7, 8], {"kernel_size": 2, "stride": 1, "dilation": [2, 3]})
    tied = torch.round(Draw("ties").normal(1, 2, 6, 6)) + 0.0
    yield case("maxpool ties", {"type": "maxpool", "kernel_size": 3, "stride": 2, "padding": 1}, tied)
