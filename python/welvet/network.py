"""Networks of any layers: made of a spec, read from a file, run, changed, drawn."""

from __future__ import annotations

import ctypes
import os
import weakref

from . import _abi, _native, _tensors
from ._native import library
from .watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from ._types import (Array, DType, ForwardOptions, Joined, Json, Kind, Memory, Numbers, Path, Precision, Self,
                         SessionOptions, Shape, Text, Unpack)


def _json(value: Json | Text, what: str) -> bytes:
    """JSON of an object, or the text that it is given as."""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return _native.data_of(value, what)
    return _native.to_json(value)


def _restored(cls: type[Network], data: bytes) -> Network:
    """The network of a pickle."""
    return cls.from_bytes(data)


class Network(_native.Owner):
    """A grid of layers with their weights.

    spec: a dict or JSON text as docs/reference/layers.md describes it. Weights that it does not bring are drawn from its seed.
    strict: unknown keys are errors; otherwise `info["warnings"]` lists them.
    ValueError for a spec that no network can be made of; the message begins with the place, as "/layers/0/type".

    Inputs have the samples first, [samples, ...], as in PyTorch; so do outputs. Weights of dense layers are
    [outputs, inputs].

    >>> net = Network({"seed": 1, "layers": [{"type": "dense", "input_height": 3, "output_height": 2}]})
    >>> net.weights()["layers.0.weight"]["shape"]
    [2, 3]
    >>> net([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]).shape  # four samples
    (4, 2)
    """

    _session: Session | None
    _process: int = 0  # in which the session was made

    def __init__(self, spec: Json | Text, *, strict: bool = True) -> None:
        data, options = _json(spec, "spec"), _abi.NetworkOptions(lenient=not strict)
        self._take(_native.make(library.loom_network_from_json, data, len(data), ctypes.byref(options)))

    def _take(self, handle: _native.Handle) -> None:
        self._handle, self._session = handle, None

    @classmethod
    def _of(cls, handle: _native.Handle) -> Self:
        out = cls.__new__(cls)
        out._take(handle)
        return out

    @classmethod
    def from_file(cls, path: Path, *, strict: bool = True) -> Self:
        """Reads an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, or an ONNX file as a network of one cell.

        NotFoundError where there is no such file, LoomError with the code CorruptData or Unsupported for other
        contents.
        """
        options = _abi.NetworkOptions(lenient=not strict)
        return cls._of(_native.make(library.loom_network_open, _native.utf8(path, "path"), ctypes.byref(options)))

    @classmethod
    def from_bytes(cls, data: Text, *, strict: bool = True) -> Self:
        """Reads what such a file holds, as to_bytes() gives it."""
        content, options = _native.data_of(data, "data"), _abi.NetworkOptions(lenient=not strict)
        return cls._of(_native.make(library.loom_network_from_memory, content, len(content), ctypes.byref(options)))

    @classmethod
    def from_arch(cls, config: Json | Text) -> Self:
        """Makes a transformer of an arch_config, a dict."""
        data = _json(config, "config")
        return cls._of(_native.make(library.loom_network_from_arch, data, len(data)))

    @classmethod
    def graft(cls, networks: Sequence[Network], mode: Joined = "concat", *, share: bool = False) -> Self:
        """Makes a network of one parallel cell whose branches are copies of cell 0 of each network.

        mode: how their outputs are joined, "concat", "add" or "avg". share: the copies stand in cells
        of their own, which the branches link to.
        """
        handles = [n._handle.value for n in networks]
        return cls._of(_native.make(library.loom_network_graft, (ctypes.c_uint64 * len(handles))(*handles),
                                    len(handles), _native.utf8(mode, "mode"), share))

    def clone(self) -> Self:
        """Returns a copy that shares nothing which can change."""
        return self._of(_native.make(library.loom_network_clone, self._handle.value))

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: object) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Callable[..., Network], tuple[type[Network], bytes]]:
        """Pickles the network as an .entity, with exact masters."""
        return _restored, (type(self), self.to_bytes(keep_master=True))

    def save(self, path: Path, *, keep_master: bool = False) -> None:
        """Writes a file, whole or not at all: .json a checkpoint, everything else .entity.

        keep_master: exact masters beside packed weights, for further training.
        """
        _native.check(library.loom_network_save(self._handle.value, _native.utf8(path, "path"), keep_master))

    def to_bytes(self, format: Literal["entity", "json"] = "entity", *, keep_master: bool = False) -> bytes:
        """Returns what save() would write: format "entity" or "json"."""
        formats = {"entity": _abi.FORMAT_ENTITY, "json": _abi.FORMAT_JSON}
        if format not in formats:
            raise ValueError(f"format is {format!r}: expected entity or json")
        return _native.blob(library.loom_network_to_bytes, self._handle.value, formats[format], keep_master)

    @property
    def spec(self) -> Json:
        """The spec, a dict: every setting that is not the default, without weights."""
        return _native.record(library.loom_network_spec, self._handle.value)

    @property
    def info(self) -> Json:
        """Grid, layers, types, memory in bytes, shapes, warnings, a dict."""
        return _native.record(library.loom_network_info, self._handle.value)

    def hash(self) -> str:
        """Returns the SHA-256 of all weights, hexadecimal: equal networks have equal hashes on every machine."""
        return _native.blob(library.loom_network_hash, self._handle.value).decode()

    def weights(self) -> dict[str, Json]:
        """Returns a dict from the names of the weights, as "layers.0.weight", to dicts with shape, dtype, role, ..."""
        listed = _native.records(library.loom_network_weights, self._handle.value)
        return {w.pop("name"): w for w in listed}

    def get(self, name: str) -> Array:
        """Returns a copy of a weight's values in its shape, float32 (float64 where the weight is float64).

        A packed weight, as one of int8, is given as the numbers that its codes stand for. KeyError for an unknown name.
        """
        about = self._about(name)
        wide = about["dtype"] == "float64"
        out, pointer, count = _tensors.room(about["shape"], "d" if wide else "f")
        function = library.loom_network_get_weight_f64 if wide else library.loom_network_get_weight
        _native.check(function(self._handle.value, _native.utf8(name, "name"), pointer, count))
        return out

    def set(self, name: str, values: Numbers) -> None:
        """Gives a weight new values, an array of its shape; one that is packed packs them.

        KeyError for an unknown name, ValueError for another shape, LoomError for a value that is not finite.
        """
        about = self._about(name)
        wide = about["dtype"] == "float64"
        data = _tensors.given(values, name, "d" if wide else "f")
        if list(data.shape) != about["shape"]:
            raise ValueError(f"{name} has the shape {tuple(about['shape'])}, the values {data.shape}")
        function = library.loom_network_set_weight_f64 if wide else library.loom_network_set_weight
        _native.check(function(self._handle.value, _native.utf8(name, "name"), data.pointer, data.count))

    def _about(self, name: str) -> Json:
        about = self.weights().get(name)
        if about is None:
            raise KeyError(f"the network has no weight {name!r}")
        return about

    def state_dict(self) -> dict[str, Array]:
        """Returns copies of all weights, a dict from name to array."""
        return {name: self.get(name) for name in self.weights()}

    def load_state_dict(self, values: Mapping[str, Numbers]) -> None:
        """Gives every weight of the dict its values; a name that the network does not have is a KeyError."""
        unknown = [name for name in values if name not in self.weights()]
        if unknown:
            raise KeyError(f"the network has no weight {unknown[0]!r}")
        for name, value in values.items():
            self.set(name, value)

    def codes(self, name: str) -> Json:
        """Returns a weight as it is stored, a dict: dtype, packed codes, scales and zero points in Base64."""
        return _native.record(library.loom_network_weight_codes, self._handle.value, _native.utf8(name, "name"))

    def prepare(self, shape: Shape) -> tuple[int, ...]:
        """Infers all shapes from the input's, samples first, and returns the output's.

        ValueError where a layer does not fit; the message names it.
        """
        extents = _tensors.shape_of(shape, "shape")
        output, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        _native.check(library.loom_network_prepare(self._handle.value, extents, len(extents), ctypes.byref(output),
                                                   ctypes.byref(count)))
        return tuple(output[:count.value])

    def place(self, address: Sequence[int], layer: Json | Text | None) -> None:
        """Puts a layer, a dict as in a spec, into the cell (z, y, x, l) of the grid; None empties the cell."""
        data = b"" if layer is None else _json(layer, "layer")
        where = (ctypes.c_uint64 * len(address))(*[_native.whole(a, "address", 0, 2**32 - 1) for a in address])
        _native.check(library.loom_network_place(self._handle.value, where, len(where), data, len(data)))

    def morph(self, dtype: DType, path: str | None = None) -> Self:
        """Gives the matrices another numeric type, as "int8", and returns the network.

        path: of a layer and all below it, as "layers.3"; None: all layers. ValueError for an unknown type names all.
        """
        _native.check(library.loom_network_morph(self._handle.value, _native.utf8(path, "path") if path else None,
                                                 _native.utf8(dtype, "dtype")))
        return self

    def freeze(self, path: str | None = None, *, frozen: bool = True) -> None:
        """Keeps a layer and all below it, by its path, or every layer from learning.

        frozen: False lets it learn again.
        """
        _native.check(library.loom_network_freeze(self._handle.value, _native.utf8(path, "path") if path else None,
                                                  frozen))

    def release_masters(self) -> None:
        """Frees the exact masters of weights whose type holds their values."""
        _native.check(library.loom_network_release_masters(self._handle.value))

    def merge_adapters(self) -> None:
        """Adds every enabled adapter to its matrix and removes it."""
        _native.check(library.loom_network_merge_adapters(self._handle.value))

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Returns a Session that runs this network; options as those of Session."""
        return Session(self, **options)

    def __call__(self, x: Numbers, **options: Unpack[ForwardOptions]) -> Array:
        """Runs the network on x [samples, ...] and returns its output; options as those of Session.forward().

        ValueError where the shape does not fit the first layer, TypeError for what holds no numbers.
        """
        if self._session is None or self._process != os.getpid():  # a session does not live on after a fork
            self._session, self._process = Session(self), os.getpid()
            itself: Any = weakref.proxy(self)  # in a cycle both would wait for the garbage collector
            self._session.network = itself
        return self._session.forward(x, **options)

    def blueprint(self) -> Json:
        """Returns the structure, a dict: every layer, nested ones included, with counts of parameters and bytes."""
        return _native.record(library.loom_network_blueprint, self._handle.value)

    def close(self) -> None:
        """Gives the network back to the library, and the session that calls of it made."""
        session: Session | None = getattr(self, "_session", None)  # an __init__ that fails leaves none
        if session is not None:
            session.close()
        super().close()

    def draw(self, title: str | None = None) -> str:
        """Returns a picture of the grid, SVG."""
        name = _native.utf8(title, "title") if title else None
        return _native.blob(library.loom_network_draw, self._handle.value, name).decode()

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        info = self.info
        grid = " x ".join(str(n) for n in info["grid"])
        return f"<welvet.Network {info['name'] or info['id']}: grid {grid}, {info['weights']} weights>"


class Session(_native.Owner):
    """One user of a network: activations, gradients, states. Several may run one network at the same time.

    threads: workers, 1 to 256; None: one per physical core. The results do not depend on it.
    backward: a forward keeps what backward() needs.
    context: above 0 attention and recurrent layers go on from call to call, up to so many positions.
    isa: instruction set, as "avx2"; None: the best one of this processor. The results do not depend on it.
    device: "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". The results do not depend on it.
    checkpoint_every: above 0 backward computes the cells between such segments anew, for less memory.
    """

    def __init__(self, network: Network, *, threads: int | None = None, backward: bool = False, context: int = 0,
                 kv_dtype: str | None = None, isa: str | None = None, checkpoint_every: int = 0,
                 device: str | None = None, precision: Precision | None = None) -> None:
        options = _abi.NetworkSessionOptions(
            thread_count=0 if threads is None else _native.whole(threads, "threads", 1, 256), backward=backward,
            context=_native.whole(context, "context", 0, 2**24), isa=_native.utf8(isa, "isa") if isa else None,
            kv_dtype=_native.utf8(kv_dtype, "kv_dtype") if kv_dtype else None,
            checkpoint_every=_native.whole(checkpoint_every, "checkpoint_every", 0, 2**24),
            device=_native.device_name(device, precision))
        self.network = network
        self._bound: object = None
        self._watches = Watches()
        self._wide: bool = network.info["element"] == "f64"
        self._kind: Kind = "d" if self._wide else "f"
        self._handle = _native.make(library.loom_network_session_create, network._handle.value,
                                    ctypes.byref(options))
        self._number, self._run = self._handle.value, library.loom_network_session_run
        # A forward of a small network takes microseconds: its arguments are made once, and pass as plain addresses.
        self._output, self._count, self._rank = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        self._shape, self._turns = ctypes.POINTER(ctypes.c_uint64)(), _native.Turns()
        self._last: tuple[tuple[int, ...] | None, Any] = None, None
        self._results = [ctypes.byref(to) for to in (self._output, self._count, self._shape, self._rank)]
        self._forward = library["loom_network_session_forward" + ("_f64" if self._wide else "")]
        self._forward.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
                                  ctypes.c_void_p, *[ctypes.c_void_p] * 4]

    def forward(self, x: Numbers, *, training: bool = False, step: int = 0, lengths: Sequence[int] | None = None,
                external: Numbers | None = None, mask: Numbers | None = None) -> Array:
        """Runs the network: x [samples, ...] gives an array of the output's shape.

        training: dropout, batch statistics; step: of the random streams of dropout. lengths: valid steps of each
        sample of a ragged batch. external: of layers that read an external input. mask: of attention.
        """
        data = _tensors.given(x, "x", self._kind)
        options, keeps = None, None
        if training or step or lengths is not None or external is not None or mask is not None:
            options, keeps = self._pass(training, step, lengths, external, mask)
        with self._turns:  # the output lasts until the next call
            status = self._forward(self._number, data.address, data.count, self._extents_of(data.shape),
                                   len(data.shape), None if options is None else ctypes.addressof(options),
                                   *self._results)
            if self._watches.is_set:
                self._watches.raise_again()
            if status:
                _native.check(status)
            self._input = data.shape
            shape = tuple(self._shape[:self._rank.value])
            return _tensors.copied(self._output.value or 0, self._count.value, shape, self._kind)

    def _pass(self, training: bool, step: int, lengths: Sequence[int] | None, external: Numbers | None,
              mask: Numbers | None) -> tuple[_abi.Pass, list[object]]:
        """What a forward takes beside its input, and what keeps it alive."""
        options = _abi.Pass(training=training, step=step)
        keeps: list[object] = []
        if lengths is not None:
            steps = (ctypes.c_uint64 * len(lengths))(*[_native.whole(n, "lengths", 0, 2**40) for n in lengths])
            options.lengths, options.lengths_count = steps, len(steps)
            keeps.append(steps)
        for name, value in (("external", external), ("mask", mask)):
            if value is not None:
                more = _tensors.given(value, name)
                extents = more.extents()
                setattr(options, name, more.pointer)
                setattr(options, name + "_count", more.count)
                setattr(options, name + "_shape", extents)
                setattr(options, name + "_shape_count", len(extents))
                keeps += [more, extents]
        return options, keeps

    def _extents_of(self, shape: tuple[int, ...]) -> Any:
        """The shape as the library takes it, kept for the next call with it."""
        if shape != self._last[0]:
            self._last = shape, (ctypes.c_uint64 * len(shape))(*shape)
        return self._last[1]

    __call__ = forward

    def backward(self, output_gradient: Numbers) -> Array:
        """Goes back after a forward: adds to the gradients of the weights and returns that of the input, in its shape.

        output_gradient: of the loss by each number of the output, in the output's shape. LoomError in a session that
        was made without backward=True.
        """
        data = _tensors.given(output_gradient, "output_gradient", self._kind)
        pointer, count = _tensors.pointer_to(self._kind), ctypes.c_size_t()
        function = library.loom_network_session_backward_f64 if self._wide else library.loom_network_session_backward
        with self._turns:
            status = function(self._handle.value, data.pointer, data.count, 0, ctypes.byref(pointer),
                              ctypes.byref(count))
            if self._watches.is_set:
                self._watches.raise_again()
            _native.check(status)
            return _tensors.copied(pointer, count.value, self._input, self._kind)

    def watch(self, told: Callable[[LayerEvent], object] | None) -> None:
        """Calls told(event) with a LayerEvent behind every layer of the passes to come; None ends it.

        No bit of a result changes. Returning False ends the watch, too; what it raises comes out of the pass.
        """
        self._watches.set_layers(library.loom_network_session_watch, self._handle.value, told)

    def watch_windows(self, layers: int, told: Callable[[Window], object] | None) -> None:
        """Calls told(window) with a Window after every so many layers of the passes to come; None ends it.

        A window may hold layers of several passes. It runs beside watch(), under the same rules.
        """
        self._watches.set_windows(library.loom_network_session_watch_windows, self._handle.value, layers, told)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer to "http://HOST:PORT/PATH", a POST each, or "tanhi://HOST:PORT", a datagram.

        No pass waits for it. None ends it.
        """
        report_to(library.loom_network_session_report_to, self._handle.value, address)

    def gradient(self, weight: str) -> Array:
        """Returns the gradient of a weight in its shape, added up since clear_gradients().

        KeyError for an unknown name, LoomError in a session that was made without backward=True.
        """
        out, pointer, count = _tensors.room(self.network._about(weight)["shape"])
        _native.check(library.loom_network_session_gradient(self._handle.value, _native.utf8(weight, "weight"),
                                                            pointer, count))
        return out

    def clear_gradients(self) -> None:
        """Sets every gradient to 0."""
        _native.check(library.loom_network_session_clear_gradients(self._handle.value))

    def bind(self, x: Memory, y: Memory) -> None:
        """Names arrays of the caller that run() reads and fills; run() then copies nothing.

        x, y: float32, in row-major order, y writable and of the output's size. TypeError or ValueError otherwise.
        """
        source, count, shape, keeps_x = _tensors.bound(x, "x")
        to, room, _, keeps_y = _tensors.writable(y, "y")
        extents = _tensors.shape_of(shape, "x")
        _native.check(library.loom_network_session_bind(self._handle.value, source, count, extents, len(extents), to,
                                                        room))
        self._bound = keeps_x, keeps_y

    def run(self) -> None:
        """Runs the network from the bound input into the bound output; LoomError where nothing is bound."""
        status = self._run(self._number)
        if self._watches.is_set:
            self._watches.raise_again()
        if status:
            _native.check(status)

    def reset(self) -> None:
        """Begins every sequence and state anew."""
        _native.check(library.loom_network_session_reset(self._handle.value))

    def rewind(self, length: int) -> None:
        """Goes back to where the sequences of a session with a context had so many positions; ValueError beyond now."""
        _native.check(library.loom_network_session_rewind(self._handle.value,
                                                          _native.whole(length, "length", 0, 2**40)))

    def snapshot(self) -> bytes:
        """Returns the state that the next call depends on, bytes."""
        return _native.blob(library.loom_network_session_snapshot, self._handle.value)

    def restore(self, snapshot: Text) -> None:
        """Puts such a state back, into a session of the same network and options."""
        data = _native.data_of(snapshot, "snapshot")
        _native.check(library.loom_network_session_restore(self._handle.value, data, len(data)))

    @property
    def info(self) -> Json:
        """Threads, memory in bytes, element type, positions, a dict."""
        return _native.record(library.loom_network_session_info, self._handle.value)

    def _described(self) -> str:
        return f"of {self.network!r}"

    def close(self) -> None:
        """Gives the session back to the library."""
        super().close()
        self._number, self._bound = 0, None
