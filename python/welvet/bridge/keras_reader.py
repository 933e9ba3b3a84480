"""Keras 3: Sequential and functional models. The channels of pictures are their last axis; the graph moves them to the
front where a layer takes them."""

import inspect
import sys

import numpy

from . import settings
from .graph import Graph, choose_output, coarsest, is_close, named_sizes, to_model
from .rules import Rules
from .weights import Constant, Parameter, View, rows, transposed

rule = Rules()


SEVERAL_INPUTS = True


def is_model(model):
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Layer)


class Refused(Exception):
    """A setting of a layer that Loom has not; the reader notes it."""


class Reader:
    """One reading; tensors of the model by identity become nodes of the graph."""

    def __init__(self, model, sample):
        import keras

        self.keras = keras
        self.graph = Graph("keras", sample)
        self.graph.model = model
        self.output = None  # the caller's choice of an output, until it is made

    def parameter(self, variable):
        return Parameter(id(variable), lambda: as_array(variable), lambda array: variable.assign(array), variable.path)

    def call(self, layer, inputs, value, kwargs, path):
        """The node of a layer that reads nodes; value is what the framework computed, or None."""
        found = rule.of(type(layer).__name__) if type(layer).__module__.split(".")[0] in ("keras", "tf_keras") else None
        shape = value.shape if value is not None else None
        if found is not None:
            _check_settings(self, layer, path)
        if found is None and is_own(self.keras, layer) and "_given" in kwargs:
            return _traced(self, layer, inputs, kwargs["_given"], path, path + ".")
        if found is None:
            return self.graph.refuse(path, type(layer).__name__, "Loom has no such layer", inputs, shape)
        try:
            node = found(Call(self, layer, value, kwargs, path), *inputs)
        except Refused as refused:
            return self.graph.refuse(path, type(layer).__name__, str(refused), inputs, shape)
        if value is not None and not self.graph.unsupported and tuple(value.shape) == node.shape:
            node.value = value
        return node


def _check_settings(reader, layer, path):
    """Refuses settings that are not read and have another value than the default; notes what counts in training."""
    graph, name = reader.graph, type(layer).__name__
    table = settings.KERAS.get(name)
    if table is None or not isinstance(layer, reader.keras.Layer):  # an operation of keras.ops
        return
    try:
        config = layer.get_config()
    except NotImplementedError:
        config = {}
    refused, training = settings.changed(
        table, type(layer), lambda key: config[key] if key in config else getattr(layer, key)
    )
    for key, value in refused:
        graph.refuse(path, name, f"{key}={value!r}", [graph.input])
    if getattr(layer, "lora_enabled", False) and not any(key == "lora_rank" for key, _ in refused):
        graph.refuse(path, name, "an adapter (enable_lora())", [graph.input])
    if getattr(layer, "quantization_mode", None):
        graph.refuse(path, name, f"quantised weights ({layer.quantization_mode})", [graph.input])
    if layer.activity_regularizer is not None and "activity_regularizer" not in training:
        training.append("activity_regularizer")
    if not layer.trainable and layer.weights:
        training.append("trainable")
    graph.notes += [f"{path}: {key} is left out; it counts in training alone" for key in training]


class Call:
    """A call of a layer."""

    def __init__(self, reader, layer, value, kwargs, path):
        self.reader, self.graph, self.layer, self.value, self.kwargs, self.path = (
            reader,
            reader.graph,
            layer,
            value,
            kwargs,
            path,
        )

    def want(self, holds, why):
        if not holds:
            raise Refused(why)

    def parameter(self, variable):
        return self.reader.parameter(variable)

    def view(self, variable):
        return None if variable is None else View(self.parameter(variable))

    def activated(self, x, function=None):
        """The activation that is a setting of the layer, after it."""
        function = self.layer.activation if function is None else function
        if function is None:
            return x
        name, keys = activation_of(self, function)
        return x if name == "linear" else self.graph.activation(x, name, self.path, **keys)


def as_array(value):
    """A tensor or variable of Keras on any backend."""
    import keras

    return numpy.asarray(keras.ops.convert_to_numpy(value))


def read(model, sample, output=None):
    """output: which of the model's outputs is read: a number, or a name of the model or of a dict."""
    reader = Reader(model, sample)
    keras, graph = reader.keras, reader.graph
    inputs, values = graph.inputs, getattr(sample, "parts", [sample])
    layers = list(model._flatten_layers()) if hasattr(model, "_flatten_layers") else [model]
    graph.element = coarsest({str(layer.compute_dtype) for layer in layers if layer.compute_dtype})
    reader.output = output

    def layers_of():
        if isinstance(model, keras.Model) and not is_own(keras, model):
            return _model(reader, model, inputs, values, "")
        if is_own(keras, model) and getattr(model, "_is_graph_network", False):
            return _functional(reader, model, inputs, values, "")
        if is_own(keras, model):
            return _traced(reader, model, inputs, values, model.name, "")
        value = as_array(model(sample, **_inference(model, {})))
        return reader.call(model, inputs, value, {}, model.name)

    graph.output = to_model(graph, type(model).__name__, values, layers_of)
    if graph.unsupported:
        return graph
    if output is not None and reader.output is not None:
        choose_output(graph, type(model).__name__, {"": graph.output.shape}, output)
    to_model(graph, type(model).__name__, values, lambda: _compare(reader, model, values))
    return graph


def _compare(reader, model, values):
    """Refuses a model whose own call gives another answer than the layers that were read."""
    graph, more = reader.graph, _inference(model, {})
    apart = len(values) > 1 and is_own(reader.keras, model) and _takes(model, len(values))
    given = values if apart else [list(values) if len(values) > 1 else values[0]]
    named = dict(_named_outputs(model(*given, **more)))
    names = getattr(model, "output_names", None) or []
    if graph.chosen in named:
        expected = named[graph.chosen]
    else:
        expected = list(named.values())[names.index(graph.chosen) if graph.chosen in names else 0]
    expected = as_array(expected)
    if graph.output.value is not None and not is_close(expected, graph.output.value, graph.element):
        why = "its layers give another answer than the model: code that its call() does not show"
        graph.refuse("", type(model).__name__, why, graph.inputs)


def is_own(keras, layer):
    """Whether a layer or model is the program's own: its call() is code that nobody but itself knows."""
    return isinstance(layer, keras.Layer) and type(layer).__module__.split(".")[0] not in ("keras", "tf_keras")


def _model(reader, model, inputs, values, prefix):
    """The answer of a model of Keras' own kinds."""
    if isinstance(model, reader.keras.Sequential):
        if len(inputs) > 1:
            return reader.graph.refuse(
                prefix + model.name, "Sequential", f"{len(inputs)} inputs are given; it takes one", inputs
            )
        return _sequence(reader, model, inputs[0], values[0], prefix)
    return _functional(reader, model, inputs, values, prefix)


def _traced(reader, layer, inputs, values, path, prefix):
    """A layer or model whose call() is code: what it does with tensors that stand for the sample, as a functional
    model."""
    keras = reader.keras
    stand_ins = [keras.Input(batch_shape=v.shape, dtype=str(v.dtype)) for v in values]
    try:
        if len(values) > 1 and not _takes(layer, len(values)):
            answer = layer.call(stand_ins, **_inference(layer, {}))
        else:
            answer = layer.call(*stand_ins, **_inference(layer, {}))
        model = keras.Model(stand_ins, answer)
    except Exception as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return reader.graph.refuse(path, type(layer).__name__, f"its call() cannot be traced: {why}", inputs)
    return _functional(reader, model, inputs, values, prefix)


def _takes(layer, count):
    """Whether call() takes so many tensors by themselves, not in one list."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    plain = [name for name, p in inspect.signature(layer.call).parameters.items() if p.kind in kinds]
    return len([name for name in plain if name not in ("training", "mask")]) >= count


def _sequence(reader, model, x, value, prefix):
    for layer in model.layers:
        x, value = _layer(reader, layer, x, value, prefix)
    return x


def _layer(reader, layer, x, value, prefix):
    path = prefix + layer.name
    if type(layer).__name__ == "InputLayer":
        return x, value
    after = as_array(layer(value, **_inference(layer, {})))
    if _is_read_inside(reader, layer):
        return _model(reader, layer, [x], [value], path + "."), after
    return reader.call(layer, [x], after, {"_given": [value]}, path), after


def _is_read_inside(reader, layer):
    return isinstance(layer, reader.keras.Sequential) or type(layer).__name__ == "Functional"


def _functional(reader, model, inputs, given, prefix):
    """The model's operations from its inputs on, each with the arguments that it was called with."""
    if len(model.inputs) != len(inputs):
        return reader.graph.refuse(
            prefix + model.name,
            type(model).__name__,
            f"{len(model.inputs)} inputs, {len(inputs)} given: several inputs are a tuple",
            inputs,
        )
    answer = _output_of(reader, model, prefix)
    if answer is None:
        return inputs[0]
    nodes = {id(t): node for t, node in zip(model.inputs, inputs)}
    values = {id(t): value for t, value in zip(model.inputs, given)}
    for step in _steps(model, answer):
        operation = step.operation
        if type(operation).__name__ == "InputLayer":
            continue
        args, kwargs = _filled(reader, step, values)
        out = operation(*args, **_inference(operation, kwargs))
        if isinstance(out, (list, tuple, dict)):
            reader.graph.refuse(prefix + operation.name, type(operation).__name__, "several outputs", inputs)
            return inputs[0]
        out = as_array(out)
        read, was = [nodes[id(t)] for t in step.input_tensors], [values[id(t)] for t in step.input_tensors]
        path = prefix + operation.name
        if _is_read_inside(reader, operation):
            node = _model(reader, operation, read, was, path + ".")
        else:
            plain = {**step.arguments.kwargs, "_args": step.arguments.args, "_given": was}
            node = reader.call(operation, read, out, plain, path)
        nodes[id(step.output_tensors[0])], values[id(step.output_tensors[0])] = node, out
    return nodes[id(answer)]


def _output_of(reader, model, prefix):
    """The tensor that is read of a functional model; None where it has to be chosen, which is then refused."""
    named = dict(_named_outputs(getattr(model, "_outputs_struct", model.outputs)))
    if prefix and len(named) > 1:
        reader.graph.refuse(prefix + model.name, type(model).__name__, "several outputs", reader.graph.inputs)
        return None
    choice = None if prefix else reader.output
    names = dict(zip(getattr(model, "output_names", None) or (), model.outputs))
    if isinstance(choice, str) and choice in names and choice not in named:
        named = names
    shapes = {name: tuple(tensor.shape) for name, tensor in named.items()}
    name = choose_output(reader.graph, type(model).__name__, shapes, choice)
    if not prefix:
        reader.output = None
    return None if name is None else named[name]


def _named_outputs(struct, path=""):
    """(name, tensor) of all tensors in what a model returns."""
    if isinstance(struct, dict):
        items = struct.items()
    elif isinstance(struct, (list, tuple)):
        items = enumerate(struct)
    else:
        return [(path, struct)] if hasattr(struct, "shape") else []
    return [t for name, value in items for t in _named_outputs(value, f"{path}.{name}" if path else str(name))]


def _steps(model, answer):
    """Every call that an output depends on, in an order in which they can run."""
    found, done, open_ = [], set(), [(answer, False)]
    ends = {id(t) for t in model.inputs}
    while open_:
        tensor, ready = open_.pop()
        if id(tensor) in ends:
            continue
        history = tensor._keras_history
        step = history.operation._inbound_nodes[history.node_index]
        if id(step) in done:
            continue
        if ready:
            done.add(id(step))
            found.append(step)
            continue
        open_.append((tensor, True))
        open_ += [(t, False) for t in reversed(step.input_tensors)]
    return found


def _filled(reader, step, values):
    """The arguments of a call with tensors of the model as what was computed for the sample."""

    def fill(item):
        if isinstance(item, (list, tuple)):
            return type(item)(fill(i) for i in item)
        if isinstance(item, dict):
            return {k: fill(v) for k, v in item.items()}
        return values[id(item)] if id(item) in values else item

    return fill(step.arguments.args), fill(step.arguments.kwargs)


def _inference(operation, kwargs):
    return {**kwargs, "training": False} if getattr(operation, "_call_has_training_arg", False) else kwargs


# Activations.

_NAMES = {
    "linear": "linear",
    "relu": "relu",
    "relu6": "relu6",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "elu": "elu",
    "selu": "selu",
    "softplus": "softplus",
    "softsign": "softsign",
    "mish": "mish",
    "hard_sigmoid": "hard_sigmoid",
    "hard_silu": "hard_swish",
    "hard_swish": "hard_swish",
    "hard_tanh": "hard_tanh",
    "gelu": "gelu_exact",
    "softmax": "softmax",
    "leaky_relu": "leakyrelu",
}


def activation_of(call, function):
    name = function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)
    call.want(
        isinstance(function, str) or getattr(function, "__module__", "").startswith("keras."),
        f"the activation {name}, which is not of Keras",
    )
    call.want(name in _NAMES, f"the activation {name}")
    return _NAMES[name], {"leaky_slope": 0.2} if name == "leaky_relu" else {}


@rule("Activation")
def _activation(call, x):
    return call.activated(x)


@rule("ReLU")
def _relu(call, x):
    m = call.layer
    call.want(not m.threshold, "a threshold")
    if m.max_value == 6 and not m.negative_slope:
        return call.graph.activation(x, "relu6", call.path)
    call.want(m.max_value is None, "a max_value")
    if m.negative_slope:
        return call.graph.activation(x, "leakyrelu", call.path, leaky_slope=float(m.negative_slope))
    return call.graph.activation(x, "relu", call.path)


@rule("LeakyReLU")
def _leaky(call, x):
    return call.graph.activation(x, "leakyrelu", call.path, leaky_slope=float(call.layer.negative_slope))


@rule("ELU")
def _elu(call, x):
    return call.graph.activation(x, "elu", call.path, elu_alpha=float(call.layer.alpha))


@rule("Softmax")
def _softmax(call, x):
    from .torch_modules import softmax

    axis = call.layer.axis
    call.want(isinstance(axis, int), "several axes")
    return softmax(call.graph, x, axis, call.path)


@rule(
    "Relu",
    "Sigmoid",
    "Tanh",
    "Silu",
    "Softplus",
    "Softsign",
    "Elu",
    "Selu",
    "Relu6",
    "Gelu",
    "Mish",
    "HardSigmoid",
    "HardSilu",
    "HardTanh",
)
def _operation(call, x):
    name = {"HardSigmoid": "hard_sigmoid", "HardSilu": "hard_swish", "HardTanh": "hard_tanh", "Gelu": "gelu_exact"}.get(
        type(call.layer).__name__
    )
    name = name or type(call.layer).__name__.lower()
    if name == "gelu_exact" and getattr(call.layer, "approximate", False):
        name = "gelu"
    keys = {"elu_alpha": float(call.layer.alpha)} if name == "elu" else {}
    return call.graph.activation(x, name, call.path, **keys)


# Products.


@rule("Dense")
def _dense(call, x):
    m = call.layer
    call.want(getattr(m, "lora_enabled", False) is False, "an adapter")
    return call.activated(
        call.graph.dense(x, transposed(call.parameter(m.kernel)), call.view(m.bias), m.units, call.path)
    )


@rule("TimeDistributed")
def _time_distributed(call, x):
    inner = call.layer.layer
    call.want(
        type(inner).__name__ in ("Dense", "Dropout", "Activation", "LayerNormalization"), f"of a {type(inner).__name__}"
    )
    return call.reader.call(inner, [x], call.value, {}, call.path)


def to_front(graph, x, path):
    """[B, ..., C] to [B, C, ...]."""
    return graph.permute(x, [0, x.rank - 1, *range(1, x.rank - 1)], path)


def to_back(graph, x, path):
    return graph.permute(x, [0, *range(2, x.rank), 1], path)


def _is_behind(call):
    return getattr(call.layer, "data_format", "channels_last") == "channels_last"


def pictures(function):
    """A layer over pictures: its rule sees the channels in front."""

    def around(call, x):
        if not _is_behind(call):
            return function(call, x)
        return to_back(call.graph, function(call, to_front(call.graph, x, call.path)), call.path)

    return around


def _edges(x, kernel, stride, dilation):
    """Padding "same" as (before, after) per axis: the odd zero is after."""
    found = []
    for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        found.append((total // 2, total - total // 2))
    return found


def _convolved(call, x, weight, bias, filters, groups, kernel, stride, dilation, padding):
    axes = len(kernel)
    edges = [(0, 0)] * axes
    if padding == "same":
        edges = _edges(x, kernel, stride, dilation)
    elif padding == "causal":
        edges = [(dilation[0] * (kernel[0] - 1), 0)]
    if any(b != e for b, e in edges):
        x, edges = call.graph.pad(x, edges, call.path), [(0, 0)] * axes
    before = [b for b, _ in edges]
    sizes = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(x.shape[2:], before, dilation, kernel, stride)
    ]
    keys = {
        "input_channels": x.shape[1],
        "filters": filters,
        "kernel_size": list(kernel),
        "stride": list(stride),
        "padding": before,
        "dilation": list(dilation),
        "groups": groups,
        "bias": bias is not None,
    }
    weights = {"weight": weight} if bias is None else {"weight": weight, "bias": bias}
    return call.graph.node(f"cnn{axes}", [x], (x.shape[0], filters, *sizes), keys, weights, call.path)


def _filters(parameter):
    """[extents..., in, out] to [out, in, extents...]."""
    return View(parameter, "filters", lambda a: a.transpose(a.ndim - 1, a.ndim - 2, *range(a.ndim - 2)))


@rule("Conv1D", "Conv2D", "Conv3D")
def _conv(call, x):
    @pictures
    def inner(call, x):
        m = call.layer
        return _convolved(
            call,
            x,
            _filters(call.parameter(m.kernel)),
            call.view(m.bias),
            m.filters,
            m.groups,
            m.kernel_size,
            m.strides,
            m.dilation_rate,
            m.padding,
        )

    return call.activated(inner(call, x))


def _depthwise(call, x, kernel, bias):
    m = call.layer
    axes = len(m.kernel_size)
    many, times = kernel.shape[-2], kernel.shape[-1]
    weight = View(
        call.parameter(kernel),
        "depthwise",
        lambda a: a.transpose(axes, axes + 1, *range(axes)),
        (many * times, 1, *m.kernel_size),
    )
    return _convolved(call, x, weight, bias, many * times, many, m.kernel_size, m.strides, m.dilation_rate, m.padding)


@rule("DepthwiseConv1D", "DepthwiseConv2D")
def _depthwise_conv(call, x):
    inner = pictures(lambda call, x: _depthwise(call, x, call.layer.kernel, call.view(call.layer.bias)))
    return call.activated(inner(call, x))


@rule("SeparableConv1D", "SeparableConv2D")
def _separable(call, x):
    @pictures
    def inner(call, x):
        m = call.layer
        x = _depthwise(call, x, m.depthwise_kernel, None)
        ones = [1] * len(m.kernel_size)
        return _convolved(
            call,
            x,
            _filters(call.parameter(m.pointwise_kernel)),
            call.view(m.bias),
            m.filters,
            1,
            ones,
            ones,
            ones,
            "valid",
        )

    return call.activated(inner(call, x))


@rule("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def _conv_transpose(call, x):
    @pictures
    def inner(call, x):
        m = call.layer
        axes = len(m.kernel_size)
        call.want(m.output_padding is None, "output_padding")
        call.want(all(d == 1 for d in m.dilation_rate), "dilation_rate")
        cut, more = [], []
        for k, s in zip(m.kernel_size, m.strides):
            # "same" gives n * s places of (n - 1) * s + k, with the odd one cut off at the end; "valid" at least those.
            over = k - s if m.padding == "same" else min(k - s, 0)
            cut.append(max(over, 0) // 2)
            more.append(max(-over, 0))
            call.want(over <= 0 or over % 2 == 0 or m.padding == "same", "its padding")
        weight = View(
            call.parameter(m.kernel), "filters", lambda a: a.transpose(a.ndim - 2, a.ndim - 1, *range(a.ndim - 2))
        )
        shape = [
            n * s if m.padding == "same" else (n - 1) * s + max(k, s)
            for n, k, s in zip(x.shape[2:], m.kernel_size, m.strides)
        ]
        keys = {
            "input_channels": x.shape[1],
            "filters": m.filters,
            "kernel_size": list(m.kernel_size),
            "stride": list(m.strides),
            "padding": cut,
            "output_padding": more,
            "bias": m.bias is not None,
            **named_sizes(shape),
        }
        weights = {"weight": weight} if m.bias is None else {"weight": weight, "bias": call.view(m.bias)}
        return call.graph.node(f"convtransposed{axes}", [x], (x.shape[0], m.filters, *shape), keys, weights, call.path)

    return call.activated(inner(call, x))


# Pooling.


@rule("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
def _pool(call, x):
    @pictures
    def inner(call, x):
        m = call.layer
        kind = "maxpool" if type(m).__name__.startswith("Max") else "avgpool"
        keys = {"kernel_size": list(m.pool_size), "stride": list(m.strides)}
        if m.padding == "same":
            edges = _edges(x, m.pool_size, m.strides, [1] * len(m.pool_size))
            call.want(
                all(b == e or s > 1 for (b, e), s in zip(edges, m.strides)),
                'padding="same" of windows of even size with strides of 1',
            )
            keys.update(padding=[b for b, _ in edges], ceil_mode=True)
            if kind == "avgpool":
                keys["count_include_pad"] = False
        shape = call.value.shape
        if _is_behind(call):
            shape = (shape[0], shape[-1], *shape[1:-1])
        return call.graph.node(kind, [x], shape, keys, path=call.path)

    return inner(call, x)


@rule("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D")
def _global_average(call, x):
    axes = list(range(1, x.rank - 1)) if _is_behind(call) else list(range(2, x.rank))
    return call.graph.global_average(x, axes, call.layer.keepdims, call.path)


@rule("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")
def _global_max(call, x):
    front = to_front(call.graph, x, call.path) if _is_behind(call) else x
    pooled = call.graph.node(
        "maxpool", [front], front.shape[:2] + (1,) * (x.rank - 2), {"global": True}, path=call.path
    )
    return call.graph.reshape(pooled, call.value.shape, call.path)


# Norms.


def _axis(call, x, last):
    axis = call.layer.axis
    axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    call.want(len(axis) == 1 and (axis[0] % x.rank == x.rank - 1 or not last), f"axis={call.layer.axis}")
    return axis[0] % x.rank


def _or_constant(call, variable, count, value):
    return Constant(numpy.full(count, value, numpy.float32)) if variable is None else call.view(variable)


@rule("BatchNormalization")
def _batch_norm(call, x):
    m = call.layer
    axis = _axis(call, x, False)
    order = [0, axis] + [a for a in range(1, x.rank) if a != axis]
    front = call.graph.permute(x, order, call.path)
    count = x.shape[axis]
    weights = {
        "gamma": _or_constant(call, m.gamma, count, 1),
        "beta": _or_constant(call, m.beta, count, 0),
        "running_mean": call.view(m.moving_mean),
        "running_var": call.view(m.moving_variance),
    }
    keys = {"input_height": count, "momentum": 1 - m.momentum, "eps": m.epsilon}
    node = call.graph.node(
        "batchnorm", [front], front.shape, keys, weights, call.path, m.gamma is None and m.beta is None
    )
    return call.graph.permute(node, [order.index(a) for a in range(x.rank)], call.path)


@rule("LayerNormalization")
def _layer_norm(call, x):
    m = call.layer
    _axis(call, x, True)
    count = x.shape[-1]
    call.want(not getattr(m, "rms_scaling", False), "rms_scaling=True")
    weights = {"gamma": _or_constant(call, m.gamma, count, 1)}
    if m.beta is not None:
        weights["beta"] = call.view(m.beta)
    keys = {"input_height": count, "eps": m.epsilon, "bias": m.beta is not None}
    return call.graph.node("layernorm", [x], x.shape, keys, weights, call.path, m.gamma is None and m.beta is None)


@rule("RMSNormalization")
def _rms_norm(call, x):
    m = call.layer
    _axis(call, x, True)
    return call.graph.node(
        "rmsnorm",
        [x],
        x.shape,
        {"input_height": x.shape[-1], "eps": m.epsilon},
        {"gamma": call.view(m.scale)},
        call.path,
    )


@rule("GroupNormalization")
def _group_norm(call, x):
    m = call.layer
    axis = _axis(call, x, False)
    order = [0, axis] + [a for a in range(1, x.rank) if a != axis]
    front = call.graph.permute(x, order, call.path)
    count = x.shape[axis]
    weights = {"gamma": _or_constant(call, m.gamma, count, 1), "beta": _or_constant(call, m.beta, count, 0)}
    keys = {"input_height": count, "num_groups": m.groups if m.groups != -1 else count, "eps": m.epsilon}
    node = call.graph.node(
        "groupnorm", [front], front.shape, keys, weights, call.path, m.gamma is None and m.beta is None
    )
    return call.graph.permute(node, [order.index(a) for a in range(x.rank)], call.path)


# Sequences.


@rule("Embedding")
def _embedding(call, x):
    m = call.layer
    call.want(not m.mask_zero, "mask_zero=True")
    keys = {"vocab_size": m.input_dim, "embedding_dim": m.output_dim}
    return call.graph.node(
        "embedding", [x], x.shape + (m.output_dim,), keys, {"table": call.view(m._embeddings)}, call.path
    )


def _cell_weights(call, m, direction):
    """The weights of one direction: kernels are [in, gates * units], with the gates side by side."""
    kind = type(m).__name__
    gates = {"SimpleRNN": ("",), "LSTM": ("i.", "f.", "g.", "o."), "GRU": ("z.", "r.", "n.")}[kind]
    cell, units, weights = m.cell, m.units, {}
    for g, gate in enumerate(gates):
        begin, end, name = g * units, (g + 1) * units, direction + gate
        weights[name + "weight_ih"] = rows(call.parameter(cell.kernel), begin, end, 1)
        weights[name + "weight_hh"] = rows(call.parameter(cell.recurrent_kernel), begin, end, 1)
        if not m.use_bias:
            continue
        bias = call.parameter(cell.bias)
        if kind != "GRU":
            weights[name + "bias"] = rows(bias, begin, end)
            continue

        def row(which, begin=begin, end=end, bias=bias):
            return View(bias, ("row", which, begin, end), lambda a: a[which, begin:end])

        if gate == "n.":
            weights[name + "bias"], weights[name + "bias_hh"] = row(0), row(1)
        else:
            from .weights import Sum

            weights[name + "bias"] = Sum(row(0), row(1))
    return weights


def _check_cell(call, m):
    kind = type(m).__name__
    call.want(kind in ("SimpleRNN", "LSTM", "GRU"), f"of a {kind}")
    name = activation_of(call, m.activation)[0]
    call.want(name == "tanh" or kind == "SimpleRNN" and name == "relu", f"activation {name}")
    if kind != "SimpleRNN":
        call.want(
            activation_of(call, m.recurrent_activation)[0] == "sigmoid", "another recurrent_activation than sigmoid"
        )
    call.want(kind != "GRU" or m.reset_after, "reset_after=False")
    call.want(not m.stateful and not m.return_state and not m.unroll, "stateful, return_state or unroll")
    if m.dropout or m.recurrent_dropout:
        call.graph.notes.append(f"{call.path}: dropout inside of the layer is left out; it counts in training alone")
    return {"SimpleRNN": "rnn", "LSTM": "lstm", "GRU": "gru"}[kind], {"activation": "relu"} if name == "relu" else {}


@rule("SimpleRNN", "LSTM", "GRU")
def _recurrent(call, x):
    m = call.layer
    kind, keys = _check_cell(call, m)
    call.want(not m.go_backwards, "go_backwards=True")
    keys.update(input_height=x.shape[-1], output_height=m.units, bias=m.use_bias)
    node = call.graph.node(kind, [x], x.shape[:2] + (m.units,), keys, _cell_weights(call, m, ""), call.path)
    return node if m.return_sequences else call.graph.last_step(node, call.path)


@rule("Bidirectional")
def _bidirectional(call, x):
    m = call.layer
    ahead, back = m.forward_layer, m.backward_layer
    kind, keys = _check_cell(call, ahead)
    call.want(m.merge_mode == "concat", f"merge_mode={m.merge_mode!r}")
    call.want(
        type(ahead) is type(back) and back.go_backwards and not ahead.go_backwards,
        "directions that differ in more than that",
    )
    keys.update(input_height=x.shape[-1], output_height=ahead.units, bias=ahead.use_bias, bidirectional=True)
    weights = {**_cell_weights(call, ahead, ""), **_cell_weights(call, back, "reverse.")}
    shape = x.shape[:2] + (2 * ahead.units,)
    if not ahead.return_sequences:
        # Loom's last step of the reverse direction is the one that Keras returns: that of the first place.
        keys["return_sequence"], shape = False, (x.shape[0], 2 * ahead.units)
    return call.graph.node(kind, [x], shape, keys, weights, call.path)


@rule("MultiHeadAttention")
def _attention(call, x, *more):
    m = call.layer
    given = call.kwargs
    call.want(all(other is x for other in more), "query, key and value differ")
    call.want(given.get("attention_mask") is None, "attention_mask")
    call.want(m._key_dim == m._value_dim, "value_dim differs from key_dim")
    call.want(m._attention_axes in ((1,), [1], None), "attention_axes")
    width, heads, size = x.shape[-1], m._num_heads, m._key_dim
    weights = {}
    for name, part in (("q", m._query_dense), ("k", m._key_dense), ("v", m._value_dense)):
        weights[name + ".weight"] = View(
            call.parameter(part.kernel), "heads", lambda a: a.transpose(1, 2, 0), (heads * size, width)
        )
        if m._use_bias:
            weights[name + ".bias"] = View(call.parameter(part.bias), "flat", None, (heads * size,))
    out = m._output_dense
    wide = out.kernel.shape[-1]
    weights["o.weight"] = View(
        call.parameter(out.kernel), "heads", lambda a: a.transpose(2, 0, 1), (wide, heads * size)
    )
    if m._use_bias:
        weights["o.bias"] = View(call.parameter(out.bias), "flat", None, (wide,))
    call.want(out.kernel.shape[0] == heads and len(out.kernel.shape) == 3, "output_shape")
    if m._dropout:
        call.graph.notes.append(f"{call.path}: dropout of attention weights is left out; it counts in training alone")
    keys = {
        "d_model": width,
        "num_heads": heads,
        "head_dim": size,
        "output_dim": wide,
        "causal": bool(given.get("use_causal_mask")),
        "rope": False,
        "qkv_bias": m._use_bias,
        "out_bias": m._use_bias,
        "max_seq_len": max(2048, x.shape[1]),
    }
    return call.graph.node("mha", [x], x.shape[:-1] + (wide,), keys, weights, call.path)


# Shapes, sums and the rest.


@rule("Flatten", "Reshape", "ExpandDims", "Squeeze")
def _reshape(call, x):
    if getattr(call.layer, "data_format", None) == "channels_first" and x.rank > 2:
        x = call.graph.permute(x, [0, *range(2, x.rank), 1], call.path)
    return call.graph.reshape(x, call.value.shape, call.path)


@rule("Permute")
def _permute(call, x):
    return call.graph.permute(x, [0, *call.layer.dims], call.path)


@rule("Transpose")
def _transpose(call, x):
    axes = call.layer.axes
    return call.graph.permute(x, list(axes) if axes is not None else list(range(x.rank))[::-1], call.path)


@rule(
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "GaussianNoise",
    "GaussianDropout",
    "AlphaDropout",
    "ActivityRegularization",
)
def _dropout(call, x):
    m = call.layer
    rate = getattr(m, "rate", 0)
    if type(m).__name__ == "Dropout" and rate and m.noise_shape is None:
        return call.graph.node("dropout", [x], x.shape, {"rate": float(rate)}, path=call.path)
    if type(m).__name__ != "ActivityRegularization" and (rate or getattr(m, "stddev", 0)):
        call.graph.notes.append(f"{call.path}: {type(m).__name__} is left out; it counts in training alone")
    return x


@rule("Add")
def _add(call, x, *more):
    if not more:  # keras.ops.add with a number
        return call.graph.scale(x, 1.0, _number(call), call.path)
    for other in more:
        call.want(x.shape == other.shape, f"shapes {list(x.shape)} and {list(other.shape)} differ")
        x = call.graph.add(x, other, call.path)
    return x


@rule("Average")
def _average(call, *parts):
    return call.graph.scale(_add(call, *parts), 1 / len(parts), 0.0, call.path)


@rule("Subtract")
def _subtract(call, x, *more):
    if more:
        return call.graph.add(x, call.graph.scale(more[0], -1.0, 0.0, call.path), call.path)
    call.want(not isinstance(call.kwargs["_args"][0], (int, float)), "from a number")
    return call.graph.scale(x, 1.0, -_number(call), call.path)


@rule("Multiply")
def _multiply(call, x, *more):
    if not more:
        return call.graph.scale(x, _number(call), 0.0, call.path)
    call.want(len(more) == 1 and x.shape == more[0].shape, "more than two tensors, or shapes that differ")
    return call.graph.node("mul", [x, more[0]], x.shape, path=call.path)


@rule("TrueDivide", "Divide")
def _divide(call, x, *more):
    call.want(not more and not isinstance(call.kwargs["_args"][0], (int, float)), "by a tensor")
    return call.graph.scale(x, 1 / _number(call), 0.0, call.path)


@rule("Negative")
def _negate(call, x):
    return call.graph.scale(x, -1.0, 0.0, call.path)


def _number(call):
    found = [
        a
        for a in [*call.kwargs["_args"], *(v for k, v in call.kwargs.items() if not k.startswith("_"))]
        if isinstance(a, (int, float))
    ]
    call.want(len(found) == 1, "a constant that is no number")
    return float(found[0])


@rule("Concatenate")
def _concat(call, *parts):
    return call.graph.concat(list(parts), call.layer.axis, call.path)


@rule("Rescaling")
def _rescaling(call, x):
    scale, offset = call.layer.scale, call.layer.offset
    call.want(isinstance(scale, (int, float)) and isinstance(offset, (int, float)), "a scale per channel")
    return call.graph.scale(x, float(scale), float(offset), call.path)


@rule("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def _zero_pad(call, x):
    padding = call.layer.padding
    padding = [tuple(padding)] if isinstance(padding[0], int) else [tuple(p) for p in padding]
    return pictures(lambda call, x: call.graph.pad(x, padding, call.path))(call, x)


@rule("GetItem")
def _item(call, x):
    key = call.kwargs["_args"][1] if len(call.kwargs["_args"]) > 1 else call.kwargs.get("key")
    key = key if isinstance(key, tuple) else (key,)
    call.want(all(isinstance(k, (int, slice)) for k in key) and key[0] == slice(None), "an index")
    axis = 0
    for k in key:
        if isinstance(k, int):
            is_last = axis == 1 and x.rank == 3 and k in (-1, x.shape[1] - 1)
            x = call.graph.last_step(x, call.path) if is_last else call.graph.pick(x, axis, k, call.path)
            continue
        begin, end, step = k.indices(x.shape[axis])
        call.want(step > 0, "a negative step")
        x = call.graph.part(x, axis, begin, len(range(begin, end, step)), step, call.path)
        axis += 1
    return x
