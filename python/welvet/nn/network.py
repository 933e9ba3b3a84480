"""Networks of any layers: made of a spec, read from a file, run, changed, drawn."""

from __future__ import annotations

import ctypes
import os
import weakref

from .. import _abi, _native, _tensors
from .._native import library
from .._parameters import takes
from .watch import LayerEvent, Watches, Window, report_to

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from .._types import (
        Array,
        DType,
        ForwardOptions,
        Joined,
        Json,
        Kind,
        Memory,
        Numbers,
        Path,
        Precision,
        Self,
        SessionOptions,
        Shape,
        Text,
        Unpack,
    )


def _json(value: Json | Text, what: str) -> bytes:
    """Converts a dict to JSON; a text is JSON already."""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return _native.data_of(value, what)
    return _native.to_json(value)


def _is_path(spec: object) -> bool:
    """Whether a spec is the path of a file, by mistake: no JSON text of an object begins like that."""
    if isinstance(spec, os.PathLike):
        return True
    if not isinstance(spec, str) or not spec or "\n" in spec or spec.lstrip()[:1] in ("{", "[", '"'):
        return False
    return os.path.splitext(spec)[1] != "" or "/" in spec or os.sep in spec or os.path.exists(spec)


def _restored(cls: type[Network], data: bytes) -> Network:
    """Reads the network of a pickle."""
    return cls.from_bytes(data)


class Network(_native.Owner):
    """A grid of layers with their weights.

    Inputs have the samples first, [samples, ...], as in PyTorch; so do outputs. Weights of dense layers are
    [outputs, inputs].

    Args:
        spec: A dict or JSON text (docs/reference/layers.md). Weights that it does not hold are drawn from its seed.
        strict: True refuses unknown keys; False lists them in `info["warnings"]`.

    Raises:
        ValueError: If the spec describes no network; the message begins with the place, as "/layers/0/type".

    >>> net = Network({"seed": 1, "layers": [{"type": "dense", "in_features": 3, "out_features": 2}]})
    >>> net.weights()["layers.0.weight"]["shape"]
    [2, 3]
    >>> net([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]).shape  # four samples
    (4, 2)
    """

    _session: Session | None
    _process: int = 0  # in which the session was made

    def __init__(self, spec: Json | Text, *, strict: bool = True) -> None:
        if _is_path(spec):
            raise ValueError(
                f"spec: expected a dict or JSON text, got the path {str(spec)!r}; Network.from_file(path) reads a file"
            )
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
        """Reads a network file.

        It is an .entity, a spec or checkpoint in JSON, a file of Loom 0.8x, or an ONNX file as a network of one cell.

        Args:
            path: The file.
            strict: True refuses unknown keys of a spec; False lists them in `info["warnings"]`.

        Returns:
            The network.

        Raises:
            NotFoundError: If there is no such file.
            LoomError: If it is no network (Unsupported) or damaged (CorruptData).
        """
        options = _abi.NetworkOptions(lenient=not strict)
        return cls._of(_native.make(library.loom_network_open, _native.utf8(path, "path"), ctypes.byref(options)))

    @classmethod
    def from_bytes(cls, data: Text, *, strict: bool = True) -> Self:
        """Reads the contents of a file of from_file(), as to_bytes() returns them.

        Args:
            data: The contents.
            strict: True refuses unknown keys of a spec; False lists them in `info["warnings"]`.

        Returns:
            The network.

        Raises:
            LoomError: If they are no network (Unsupported) or damaged (CorruptData).
        """
        content, options = _native.data_of(data, "data"), _abi.NetworkOptions(lenient=not strict)
        return cls._of(_native.make(library.loom_network_from_memory, content, len(content), ctypes.byref(options)))

    @classmethod
    def from_arch(cls, config: Json | Text) -> Self:
        """Makes a transformer with random weights.

        Args:
            config: An arch_config, a dict or JSON text (docs/reference/layers.md).

        Returns:
            The network.

        Raises:
            ValueError: If the config has an unknown or wrong key; the message names it.
        """
        data = _json(config, "config")
        return cls._of(_native.make(library.loom_network_from_arch, data, len(data)))

    @classmethod
    def graft(cls, networks: Sequence[Network], mode: Joined = "concat", *, share: bool = False) -> Self:
        """Makes a network of one parallel cell whose branches are copies of cell 0 of each network.

        Args:
            networks: The networks.
            mode: How the outputs of the branches are joined: "concat", "add" or "avg".
            share: True puts the copies into cells of their own, which the branches link to.

        Returns:
            The network.

        Raises:
            ValueError: If the outputs cannot be joined.
        """
        handles = [handle_of(n, "networks") for n in _native.items(networks, "networks", "a list of networks")]
        return cls._of(
            _native.make(
                library.loom_network_graft,
                (ctypes.c_uint64 * len(handles))(*handles),
                len(handles),
                _native.utf8(mode, "mode"),
                share,
            )
        )

    def clone(self) -> Self:
        """Copies the network.

        Returns:
            A network that shares nothing with this one that can change.
        """
        return self._of(_native.make(library.loom_network_clone, self._handle.value))

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: object) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Callable[..., Network], tuple[type[Network], bytes]]:
        """Pickles the network as an .entity, with exact masters."""
        return _restored, (type(self), self.to_bytes(keep_master=True))

    def save(self, path: Path, *, keep_master: bool = False, overwrite: bool = False) -> None:
        """Writes the network into a file, whole or not at all.

        Args:
            path: The file, which is replaced if it holds a network; with the ending .json it becomes a checkpoint in
                JSON, with any other an .entity. welvet.export() writes .onnx and .safetensors.
            keep_master: True keeps exact masters beside packed weights, for further training.
            overwrite: True replaces a file of another kind, too.

        Raises:
            ValueError: If the ending is that of another format, or the file exists and holds no network, or is no file,
                such as a folder or a device.
        """
        name = _native.utf8(path, "path")
        if not _native.truth(overwrite, "overwrite") or not os.path.lexists(name):
            _native.check(library.loom_network_save(self._handle.value, name, keep_master))
            return
        if not os.path.isfile(name):
            raise ValueError(f"{os.fsdecode(name)}: is no regular file; not replaced")
        # In a folder of its own, so that the name and its ending are those that messages know.
        folder, file = os.path.split(name)
        beside = os.path.join(folder, b"." + os.urandom(8).hex().encode())
        unfinished = os.path.join(beside, file)
        os.mkdir(beside)
        try:
            _native.check(library.loom_network_save(self._handle.value, unfinished, keep_master))
            os.replace(unfinished, name)
        except ValueError as error:
            raise ValueError(str(error).replace(os.fsdecode(unfinished), os.fsdecode(name))) from None
        finally:
            os.rmdir(beside)

    def to_bytes(self, format: Literal["entity", "json"] = "entity", *, keep_master: bool = False) -> bytes:
        """Returns the contents of the file that save() would write.

        Args:
            format: "entity" or "json".
            keep_master: True keeps exact masters beside packed weights, for further training.

        Returns:
            The contents, for from_bytes().
        """
        formats = {"entity": _abi.FORMAT_ENTITY, "json": _abi.FORMAT_JSON}
        if format not in formats:
            raise ValueError(f"format is {format!r}: expected entity or json")
        return _native.blob(library.loom_network_to_bytes, self._handle.value, formats[format], keep_master)

    @property
    def spec(self) -> Json:
        """The spec, a dict, without weights: every setting that is not the default. Widths are in_features and the like."""
        return _native.record(library.loom_network_spec, self._handle.value)

    @property
    def info(self) -> Json:
        """A dict: grid, layers, types, memory in bytes, shapes, warnings."""
        return _native.record(library.loom_network_info, self._handle.value)

    def hash(self) -> str:
        """Hashes all weights. Equal networks have equal hashes on every machine.

        Returns:
            The SHA-256, hexadecimal.
        """
        return _native.blob(library.loom_network_hash, self._handle.value).decode()

    def weights(self) -> dict[str, Json]:
        """Lists the weights.

        Returns:
            A dict from the name of each weight, as "layers.0.weight", to a dict with shape, dtype, role and more.
        """
        listed = _native.records(library.loom_network_weights, self._handle.value)
        return {w.pop("name"): w for w in listed}

    def get(self, name: str) -> Array:
        """Returns a copy of the values of a weight.

        Args:
            name: Name of the weight, as "layers.0.weight".

        Returns:
            An array of float32 in the shape of the weight, of float64 if the weight is float64. The codes of a packed
            weight, as one of int8, are decoded.

        Raises:
            KeyError: If the network has no such weight.
        """
        about = self._about(name)
        wide = about["dtype"] == "float64"
        out, pointer, count = _tensors.room(about["shape"], "d" if wide else "f")
        to = _tensors.tensor_at(pointer, count, "d" if wide else "f")
        _native.check(library.loom_network_get_weight(self._handle.value, _native.utf8(name, "name"), ctypes.byref(to)))
        return out

    def set(self, name: str, values: Numbers) -> None:
        """Replaces the values of a weight. A packed weight encodes them.

        Args:
            name: Name of the weight, as "layers.0.weight".
            values: Numbers in the shape of the weight.

        Raises:
            KeyError: If the network has no such weight.
            ValueError: If the values have another shape.
            LoomError: If a value is not finite (NonFinite).
        """
        self._set(name, self._values_of(name, self._about(name), values))

    @staticmethod
    def _values_of(name: str, about: Json, values: Numbers) -> _tensors.Given:
        data = _tensors.given(values, name, "d" if about["dtype"] == "float64" else "f")
        if list(data.shape) != about["shape"]:
            raise ValueError(f"{name} has the shape {tuple(about['shape'])}, the values {data.shape}")
        return data

    def _set(self, name: str, data: _tensors.Given) -> None:
        _native.check(
            library.loom_network_set_weight(self._handle.value, _native.utf8(name, "name"), ctypes.byref(data.tensor()))
        )

    def _about(self, name: str) -> Json:
        about = self.weights().get(name)
        if about is None:
            raise KeyError(f"the network has no weight {name!r}")
        return about

    def state_dict(self) -> dict[str, Array]:
        """Copies all weights.

        Returns:
            A dict from name to array, as get() returns it.
        """
        return {name: self.get(name) for name in self.weights()}

    def load_state_dict(self, values: Mapping[str, Numbers]) -> None:
        """Replaces the values of weights.

        Args:
            values: A dict from name to numbers in the shape of that weight; weights that it does not name stay.

        Raises:
            KeyError: If the network has no such weight.
            ValueError: If values have another shape.
            LoomError: If a value is not finite (NonFinite).

        After an error no weight has been replaced.
        """
        _native.mapping(values, "values", "a dict from name to array")
        listed = self.weights()
        unknown = [name for name in values if name not in listed]
        if unknown:
            raise KeyError(f"the network has no weight {unknown[0]!r}")
        checked = {name: self._values_of(name, listed[name], value) for name, value in values.items()}
        for name, data in checked.items():
            if not data.is_finite():  # before any other is replaced; set_weight() says where
                self._set(name, data)
        for name, data in checked.items():
            self._set(name, data)

    def codes(self, name: str) -> Json:
        """Returns a weight as it is stored.

        Args:
            name: Name of the weight, as "layers.0.weight".

        Returns:
            A dict: dtype; codes, scales and zero points in Base64.

        Raises:
            NotFoundError: If the network has no such weight.
        """
        return _native.record(library.loom_network_weight_codes, self._handle.value, _native.utf8(name, "name"))

    def prepare(self, shape: Shape) -> tuple[int, ...]:
        """Infers all shapes from that of the input.

        Args:
            shape: Shape of the input, samples first.

        Returns:
            The shape of the output.

        Raises:
            ValueError: If a layer does not fit; the message names it.
        """
        extents = _tensors.shape_of(shape, "shape")
        output, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        _native.check(
            library.loom_network_prepare(
                self._handle.value, extents, len(extents), ctypes.byref(output), ctypes.byref(count)
            )
        )
        return tuple(output[: count.value])

    def place(self, address: Sequence[int], layer: Json | Text | None) -> None:
        """Puts a layer into a cell of the grid.

        Args:
            address: The cell, (z, y, x, l).
            layer: A dict or JSON text as in a spec; None empties the cell.

        Raises:
            ValueError: If the grid has no such cell, or the layer is wrong.
        """
        data = b"" if layer is None else _json(layer, "layer")
        place = _native.items(address, "address", "a list of 4 whole numbers, (z, y, x, l)")
        where = (ctypes.c_uint64 * len(place))(*[_native.whole(a, "address", 0, 2**32 - 1) for a in place])
        _native.check(library.loom_network_place(self._handle.value, where, len(where), data, len(data)))

    def morph(self, dtype: DType, path: str | None = None) -> Self:
        """Changes the numeric type of matrices.

        Args:
            dtype: The type, as "int8".
            path: Path of a layer, which counts with all layers in it, as "layers.3"; None: all layers.

        Returns:
            The network itself.

        Raises:
            ValueError: If there is no such type; the message lists the types.
            NotFoundError: If there is no such layer.
        """
        _native.check(
            library.loom_network_morph(
                self._handle.value, _native.utf8(path, "path") if path else None, _native.utf8(dtype, "dtype")
            )
        )
        return self

    def freeze(self, path: str | None = None, *, frozen: bool = True) -> None:
        """Excludes layers from training.

        Args:
            path: Path of a layer, which counts with all layers in it, as "layers.3"; None: all layers.
            frozen: False lets them learn again.

        Raises:
            NotFoundError: If there is no such layer.
        """
        _native.check(
            library.loom_network_freeze(self._handle.value, _native.utf8(path, "path") if path else None, frozen)
        )

    def release_masters(self) -> None:
        """Frees the exact masters of weights whose type holds their values."""
        _native.check(library.loom_network_release_masters(self._handle.value))

    def merge_adapters(self) -> None:
        """Adds every enabled adapter to its matrix and removes it."""
        _native.check(library.loom_network_merge_adapters(self._handle.value))

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Makes a Session, which runs this network.

        Args:
            **options: those of Session.

        Returns:
            The session.

        Raises:
            ValueError: If an option is out of range.
        """
        return Session(self, **options)

    def __call__(self, x: Numbers, **options: Unpack[ForwardOptions]) -> Array:
        """Runs the network in a session of its own.

        Args:
            x: Numbers [samples, ...].
            **options: those of Session.forward().

        Returns:
            An array of the output's shape.

        Raises:
            ValueError: If the shape does not fit the first layer.
            TypeError: If `x` holds no numbers.
        """
        if self._session is None or self._process != os.getpid():  # a session does not live on after a fork
            self._session, self._process = Session(self), os.getpid()
            itself: Any = weakref.proxy(self)  # in a cycle both would wait for the garbage collector
            self._session.network = itself
        return self._session.forward(x, **options)

    def blueprint(self) -> Json:
        """Describes the structure.

        Returns:
            A dict with every layer, nested ones included, and its numbers of parameters and bytes.
        """
        return _native.record(library.loom_network_blueprint, self._handle.value)

    def close(self) -> None:
        """Releases the network, and the session of its calls."""
        session: Session | None = getattr(self, "_session", None)  # an __init__ that fails leaves none
        if session is not None:
            session.close()
        super().close()

    def draw(self, title: str | None = None) -> str:
        """Draws the grid.

        Args:
            title: Title of the picture; None: the name of the network.

        Returns:
            The picture, SVG.
        """
        name = _native.utf8(title, "title") if title else None
        return _native.blob(library.loom_network_draw, self._handle.value, name).decode()

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        info = self.info
        grid = " x ".join(str(n) for n in info["grid"])
        return f"<welvet.Network {info['name'] or info['id']}: grid {grid}, {info['weights']} weights>"


class Session(_native.Owner):
    """One user of a network: activations, gradients, states. Network.session() makes one.

    Several sessions may run one network at the same time, on several threads.

    Args:
        network: The network.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        backward: True keeps the activations of a forward for backward().
        context: Above 0 attention and recurrent layers go on from call to call, up to this number of positions.
        kv_dtype: Numeric type of keys and values: "float32" (or None), "bfloat16", "int8".
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        checkpoint_every: Above 0 backward() computes cells again from every n-th one, for less memory.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.

    Attributes:
        network: The network.

    Raises:
        ValueError: If an option is out of range.
    """

    def __init__(
        self,
        network: Network,
        *,
        threads: int | None = None,
        backward: bool = False,
        context: int = 0,
        kv_dtype: str | None = None,
        isa: str | None = None,
        checkpoint_every: int = 0,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        network_handle = handle_of(network)
        options = _abi.NetworkSessionOptions(
            compute=_native.compute(threads, isa, device, precision),
            backward=_native.truth(backward, "backward"),
            context=_native.whole(context, "context", 0, 2**24),
            kv_dtype=_native.utf8(kv_dtype, "kv_dtype") if kv_dtype else None,
            checkpoint_every=_native.whole(checkpoint_every, "checkpoint_every", 0, 2**24),
        )
        self.network = network
        self._bound: object = None
        self._watches = Watches()
        self._kind: Kind = kind_of(network)
        self._handle = _native.make(library.loom_network_session_create, network_handle, ctypes.byref(options))
        self._number, self._run = self._handle.value, library.loom_network_session_run
        # A forward of a small network takes microseconds: its arguments are made once, and pass as plain addresses.
        self._x, self._y, self._turns = _abi.Tensor(), _abi.Tensor(), _native.Turns()
        self._x.element, self._size = _tensors.NUMBERS[self._kind]
        self._last: tuple[int, ...] | None = None  # shape of _x
        self._places = ctypes.addressof(self._x), ctypes.addressof(self._y)
        self._forward = library["loom_network_session_forward"]
        self._forward.argtypes = [ctypes.c_uint64, *[ctypes.c_void_p] * 3]

    def forward(
        self,
        x: Numbers,
        *,
        training: bool = False,
        step: int = 0,
        lengths: Sequence[int] | None = None,
        external: Numbers | None = None,
        mask: Numbers | None = None,
    ) -> Array:
        """Runs the network.

        Args:
            x: Numbers [samples, ...].
            training: True drops in dropout layers, and uses the statistics of the batch.
            step: Step of the random streams of dropout.
            lengths: Number of valid steps of each sample, in a batch of sequences of several lengths.
            external: Numbers for layers that read an external input.
            mask: Mask of attention layers.

        Returns:
            An array of the output's shape.

        Raises:
            ValueError: If the shape does not fit the first layer.
            TypeError: If `x` holds no numbers.
        """
        data = _tensors.given(x, "x", self._kind)
        options, keeps = None, None
        if training or step or lengths is not None or external is not None or mask is not None:
            options, keeps = self._pass(training, step, lengths, external, mask)
        with self._turns:  # the output lasts until the next call
            x, y = self._x, self._y
            x.data, x.data_size = data.address, data.count * self._size
            if data.shape != self._last:
                x.shape, x.shape_count, self._last = data.extents(), len(data.shape), data.shape
            status = self._forward(
                self._number, self._places[0], None if options is None else ctypes.addressof(options), self._places[1]
            )
            if self._watches.is_set:
                self._watches.raise_again()
            if status:
                _native.check(status)
            self._input = data.shape
            return _tensors.copied(y.data or 0, y.data_size // self._size, tuple(y.shape[: y.shape_count]), self._kind)

    def _pass(
        self, training: bool, step: int, lengths: Sequence[int] | None, external: Numbers | None, mask: Numbers | None
    ) -> tuple[_abi.Pass, list[object]]:
        """Returns the options of a forward, and the objects that its pointers need alive."""
        options = _abi.Pass(
            training=_native.truth(training, "training"), step=_native.whole(step, "step", 0, 2**63 - 1)
        )
        keeps: list[object] = []
        if lengths is not None:
            given = [
                _native.whole(n, "lengths", 0, 2**40)
                for n in _native.items(lengths, "lengths", "a list of whole numbers")
            ]
            steps = (ctypes.c_uint64 * len(given))(*given)
            options.lengths, options.lengths_count = steps, len(steps)
            keeps.append(steps)
        for name, value in (("external", external), ("mask", mask)):
            if value is not None:
                more = _tensors.given(value, name)
                setattr(options, name, ctypes.pointer(more.tensor()))
                keeps.append(more)
        return options, keeps

    __call__ = forward

    def backward(self, output_gradient: Numbers) -> Array:
        """Adds the gradients of the last forward to those of the weights.

        Args:
            output_gradient: Gradient of the loss by each number of the output, in the output's shape.

        Returns:
            The gradient of the input, an array in its shape.

        Raises:
            ValueError: If the gradient has another shape.
            LoomError: If the session was made without backward=True, or there was no forward (InvalidState).
        """
        data = _tensors.given(output_gradient, "output_gradient", self._kind)
        dx = _abi.Tensor()
        with self._turns:
            status = library.loom_network_session_backward(
                self._handle.value, ctypes.byref(data.tensor()), 0, ctypes.byref(dx)
            )
            if self._watches.is_set:
                self._watches.raise_again()
            _native.check(status)
            return _tensors.copied(dx.data or 0, dx.data_size // self._size, self._input, self._kind)

    def watch(self, callback: Callable[[LayerEvent], object] | None) -> None:
        """Calls a function after every layer of the passes to come. No bit of a result changes.

        Args:
            callback: Function that takes a LayerEvent; returning False ends the watch. An exception in it ends the
                watch and the pass raises it. None: ends the watch.
        """
        self._watches.set_layers(library.loom_network_session_watch, self._handle.value, callback)

    def watch_windows(self, layers: int, callback: Callable[[Window], object] | None) -> None:
        """Calls a function after every so many layers of the passes to come. It runs beside watch().

        Args:
            layers: Number of layers of a window, which may be of several passes.
            callback: Function that takes a Window, under the rules of watch(). None: ends the watch.
        """
        self._watches.set_windows(library.loom_network_session_watch_windows, self._handle.value, layers, callback)

    def report_to(self, address: str | None) -> None:
        """Sends a report of every layer to another program. No pass waits for it.

        Args:
            address: "http://HOST:PORT/PATH" for a POST each, "tanhi://HOST:PORT" for a datagram each; None: ends it.

        Raises:
            ValueError: If the address has another form.
        """
        report_to(library.loom_network_session_report_to, self._handle.value, address)

    def gradient(self, weight: str) -> Array:
        """Returns the gradient of a weight, added up since clear_gradients().

        Args:
            weight: Name of the weight, as "layers.0.weight".

        Returns:
            An array in the shape of the weight.

        Raises:
            KeyError: If the network has no such weight.
            LoomError: If the session was made without backward=True (InvalidState).
        """
        out, pointer, count = _tensors.room(self.network._about(weight)["shape"])
        to = _tensors.tensor_at(pointer, count, "f")
        _native.check(
            library.loom_network_session_gradient(self._handle.value, _native.utf8(weight, "weight"), ctypes.byref(to))
        )
        return out

    def clear_gradients(self) -> None:
        """Sets every gradient to 0."""
        _native.check(library.loom_network_session_clear_gradients(self._handle.value))

    def bind(self, x: Memory, y: Memory) -> None:
        """Binds arrays of the caller, which run() reads and fills without a copy.

        Args:
            x: Input, float32 in row-major order.
            y: Output, float32 in row-major order, writable and of the output's size.

        Raises:
            TypeError: If an array has another type or order.
            ValueError: If an array has another size, or `y` is read-only.
        """
        source, count, shape, keeps_x = _tensors.bound(x, "x")
        to, room, _, keeps_y = _tensors.writable(y, "y")
        given = _tensors.tensor_at(source, count, "f", _tensors.shape_of(shape, "x"))
        filled = _tensors.tensor_at(to, room, "f")
        _native.check(library.loom_network_session_bind(self._handle.value, ctypes.byref(given), ctypes.byref(filled)))
        self._bound = keeps_x, keeps_y

    def run(self) -> None:
        """Runs the network from the bound input into the bound output.

        Raises:
            LoomError: If nothing is bound (InvalidState).
        """
        status = self._run(self._number)
        if self._watches.is_set:
            self._watches.raise_again()
        if status:
            _native.check(status)

    def reset(self) -> None:
        """Resets every sequence and state to its beginning."""
        _native.check(library.loom_network_session_reset(self._handle.value))

    def rewind(self, length: int) -> None:
        """Drops the positions of all sequences after the first ones, in a session with a context.

        Args:
            length: Number of positions to keep.

        Raises:
            ValueError: If the sequences have fewer positions.
            LoomError: If there was no run (InvalidState).
        """
        _native.check(
            library.loom_network_session_rewind(self._handle.value, _native.whole(length, "length", 0, 2**40))
        )

    def snapshot(self) -> bytes:
        """Returns the state that the next call depends on.

        Returns:
            Bytes for restore().

        Raises:
            LoomError: If there was no run (InvalidState).
        """
        return _native.blob(library.loom_network_session_snapshot, self._handle.value)

    def restore(self, snapshot: Text) -> None:
        """Replaces the state.

        Args:
            snapshot: Bytes of snapshot(), of a session with the same network and options.

        Raises:
            LoomError: If the bytes are of another network or damaged (CorruptData), or this session has run nothing
                (InvalidState).
        """
        data = _native.data_of(snapshot, "snapshot")
        _native.check(library.loom_network_session_restore(self._handle.value, data, len(data)))

    @property
    def info(self) -> Json:
        """A dict: threads, memory in bytes, element type, positions."""
        return _native.record(library.loom_network_session_info, self._handle.value)

    def _described(self) -> str:
        return f"of {self.network!r}"

    def close(self) -> None:
        """Releases the session."""
        super().close()
        self._number, self._bound = 0, None


takes(Session)(Network.session)
takes(Session.forward)(Network.__call__)


def handle_of(network: Network, what: str = "network") -> int:
    """The handle of a network; TypeError for another object."""
    _native.instance(network, Network, what, "a Network")
    return network._handle.value


def kind_of(network: Network) -> Kind:
    """The kind of the numbers in which a network computes."""
    return "d" if network.info["element"] == "f64" else "f"
