"""The shared library: where it is found, how its errors become exceptions, how its handles are given back."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import pathlib
import sys
import threading
import weakref

from . import _abi

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, SupportsFloat, SupportsIndex, TypeVar

    from ._types import Buffer, Function, Json, Path, Precision, Self, Text, Told

    F = TypeVar("F")
    M = TypeVar("M")
    T = TypeVar("T")

_NAMES = {"win32": "loom.dll", "darwin": "libloom.dylib"}


class LoomError(Exception):
    """An error of the library.

    Args:
        code: Name of the error, as "NotFound"; every language has the same names.
        text: The message, in one line.

    Attributes:
        code: Name of the error.
        text: The message.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text

    def __reduce__(self) -> tuple[type[LoomError], tuple[str, str]]:
        return type(self), (self.code, self.text)


def _load() -> ctypes.CDLL:
    name = _NAMES.get(sys.platform, "libloom.so")
    path = os.environ.get("WELVET_LIBRARY") or str(pathlib.Path(__file__).parent / name)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"welvet: its library cannot be loaded: {error}. A wheel brings it; in a source tree "
            f"build it and set WELVET_LIBRARY to build/{name}"
        ) from error
    version = getattr(library, "loom_library_abi_version", int)()  # libraries before version 1 have no such function
    if version != _abi.ABI_VERSION:
        raise ImportError(
            f"welvet: {path} has version {version} of the C interface, this package needs "
            f"{_abi.ABI_VERSION}: install the package and its library from one release"
        )
    _abi.declare(library)
    return library


library = _load()


_causes = threading.local()


def remember_cause(error: BaseException) -> None:
    """Keeps what a callback raised for the error of the call that it came in, on the same thread."""
    _causes.error = error


def check(status: int) -> None:
    """Raises the exception of a status that is not OK."""
    if status == _abi.OK:
        return
    code = library.loom_status_name(status).decode()
    text = library.loom_last_error().decode("utf-8", "replace")
    cause = _causes.__dict__.pop("error", None)
    error = _error_of(status, code, text)
    if cause is None:
        raise error
    if not isinstance(cause, Exception):  # KeyboardInterrupt, SystemExit: no error of the call
        raise cause
    raise error from cause


def _error_of(status: int, code: str, text: str) -> Exception:
    if status == _abi.OUT_OF_MEMORY:
        return MemoryError(text)
    if status == _abi.CANCELLED:
        return CancelledError(code, text)
    if status == _abi.NOT_FOUND:
        return NotFoundError(code, text)
    if status in (
        _abi.INVALID_ARGUMENT,
        _abi.INVALID_CONFIG,
        _abi.OUT_OF_RANGE,
        _abi.UNKNOWN_NAME,
        _abi.UNKNOWN_KEY,
        _abi.SHAPE_MISMATCH,
        _abi.INDEX_OUT_OF_RANGE,
    ):
        return ArgumentError(code, text)
    return LoomError(code, text)


class NotFoundError(LoomError, FileNotFoundError):
    """The file, model or part does not exist; also a FileNotFoundError."""


class CancelledError(LoomError):
    """The caller ended the call, as by a progress function that returned False."""


class ArgumentError(LoomError, ValueError):
    """An argument has a value that the call does not take; also a ValueError."""


def _release(holder: ctypes.c_uint64) -> None:
    if holder.value:
        library.loom_release(holder.value)


class Handle:
    """Owns one handle of the library and releases it when it is closed or collected.

    It exists before the handle does: an exception right after the call that makes the handle, as that of Ctrl-C,
    loses nothing.
    """

    def __init__(self) -> None:
        self._holder = ctypes.c_uint64()
        self._finalizer = weakref.finalize(self, _release, self._holder)

    def make(self, function: Function, *args: object) -> Handle:
        """Calls a function whose last parameter takes the new handle."""
        check(function(*args, ctypes.byref(self._holder)))
        return self

    @property
    def value(self) -> int:
        if not self._finalizer.alive:
            raise LoomError("BadHandle", "the object was closed")
        return self._holder.value

    @property
    def is_closed(self) -> bool:
        return not self._finalizer.alive

    def close(self) -> None:
        self._finalizer()


class Turns:
    """Calls on one object take turns, its close() too, since the memory that a call returned is copied after it.

    A call from inside of a callback of the object is refused, as the library does.
    """

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise LoomError("Busy", "this call was made from a callback of the object")
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = 0
        self._lock.release()


class Owner:
    """Base of objects that own a handle: `with` closes them."""

    _handle: Handle
    _turns: Turns  # of objects whose calls return memory that lasts until the next one

    def close(self) -> None:
        """Releases the object; the garbage collector would do so later."""
        if not hasattr(self, "_handle"):  # an __init__ that fails leaves none
            return
        turns: Turns | None = getattr(self, "_turns", None)
        if turns is None:
            return self._handle.close()
        with turns:
            self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _described(self) -> str:
        """The part of repr() that describes an open object."""
        return ""

    def __repr__(self) -> str:
        name = type(self).__name__
        if not hasattr(self, "_handle") or self._handle.is_closed:
            return f"<welvet.{name}, closed>"
        try:
            about = self._described()
        except (LoomError, ReferenceError, KeyError):  # as while another thread runs it
            about = "in use"
        return f"<welvet.{name} {about}>" if about else f"<welvet.{name}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} lives in this process alone and cannot be copied")


def to_json(value: object) -> bytes:
    """JSON of a value; numbers and arrays of numpy are numbers and lists."""

    def plain(other: Any) -> Any:
        if hasattr(other, "tolist"):
            return other.tolist()
        if hasattr(other, "__fspath__"):
            return os.fspath(other)
        raise TypeError(f"a {type(other).__name__} is no value of a spec or config: {other!r}")

    return json.dumps(value, default=plain).encode()


def config_of(config: Json | None, more: Json) -> bytes:
    """JSON of a config and of further keys, which replace those of the config."""
    return to_json({**mapping({} if config is None else config, "config", "a dict"), **more})


def make(function: Function, *args: object) -> Handle:
    """Calls a function whose last parameter takes a new handle."""
    return Handle().make(function, *args)


def long_call(call: Callable[[], T], cancel: Handle) -> T:
    """Runs call() on a thread of its own, so that Ctrl-C reaches this one: it sets `cancel`, waits and goes on up.

    It is left when call() has ended, never before: C reads the caller's memory until then.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    done: list[T] = []
    raised: list[BaseException] = []
    ended = threading.Event()  # CPython before 3.13 may take an interrupted join() for the thread's end
    begun = threading.Lock()  # taken by the thread, or by an exception in start(), which does not say whether it runs

    def run() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            done.append(call())
        except BaseException as error:
            raised.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=run, daemon=True).start()
        while not ended.wait(0.1):
            pass
    except BaseException:
        while not begun.acquire(blocking=False) and not ended.is_set():
            try:
                library.loom_cancel_set(cancel.value, 1)
                ended.wait()
            except BaseException:  # a second Ctrl-C
                pass
        raise
    if raised:
        raise raised[0]
    return done[0]


def whole(value: SupportsIndex, what: str, least: int, most: int) -> int:
    """A whole number within its range; ctypes would cut it to its low bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{what} is {number}: expected {least} to {most}")
    return number


def real(value: SupportsFloat, what: str) -> float:
    """A number; ctypes would not say which one is none."""
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a number, not {type(value).__name__}")
    return float(value)


def truth(value: object, what: str) -> bool:
    """True or False; a text as "no" would count as true."""
    if not isinstance(value, int) and not hasattr(value, "__index__") and type(value).__name__ not in ("bool_", "bool"):
        raise TypeError(f"{what} must be True or False, not {type(value).__name__}")
    return bool(value)


def items(values: Iterable[T], what: str, expected: str) -> list[T]:
    """A list of an iterable other than a text or a dict, whose characters or keys would be taken for the items."""
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{what} must be {expected}, not {type(values).__name__}")
    return list(values)


def mapping(values: M, what: str, expected: str) -> M:
    """A dict, or another object with keys and items."""
    if not hasattr(values, "items") or not hasattr(values, "keys"):
        raise TypeError(f"{what} must be {expected}, not {type(values).__name__}")
    return values


def instance(value: object, kind: type, what: str, expected: str) -> None:
    """Refuses an object that is not of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {expected}, not {type(value).__name__}")


def callback(function: F, what: str) -> F:
    """A function, or None."""
    if function is not None and not callable(function):
        raise TypeError(f"{what} must be a function or None, not {type(function).__name__}")
    return function


def data_of(text: Text, what: str) -> bytes:
    """Bytes of a text, or bytes as they are."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"{what} must be a text or bytes, not {type(text).__name__}")


def content_of(data: Buffer, what: str) -> bytes:
    """Bytes as they are; other buffers are copied."""
    if isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"{what} must be bytes, not {type(data).__name__}") from None


def bar(**options: object) -> Any:
    """A bar by tqdm, where it is installed and somebody looks on; else None."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm.auto import tqdm  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    return tqdm(**options)


class Progress:
    """Passes the progress of a call on to Python: an exception of Python, as that of Ctrl-C, ends the call. True shows
    a bar.

    Use it as a context manager around the call, with `callback` as its on_progress.
    """

    def __init__(self, told: Told | bool | None) -> None:
        self._bar: Any = bar(total=1, bar_format="{l_bar}{bar}| {elapsed}") if told is True else None
        if not isinstance(told, bool):
            callback(told, "progress")
        self._told = self._show if self._bar is not None else None if isinstance(told, bool) else told
        self._raised: BaseException | None = None
        self.callback = _abi.OnProgress(self._tell)

    def _show(self, fraction: float) -> None:
        self._bar.update(fraction - self._bar.n)

    def _tell(self, _: int | None, fraction: float) -> bool:
        try:
            return self._told is None or self._told(fraction) is not False
        except BaseException as error:  # it must not unwind through C
            self._raised = error
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            if failure is None and self._raised is None:
                self._bar.update(1 - self._bar.n)
            self._bar.close()
        if self._raised is not None:
            raise self._raised from None


def blob(function: Function, *args: object) -> bytes:
    """Calls a function whose last parameter takes a blob, and returns the bytes."""
    with_handle = make(function, *args)
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(library.loom_blob_view(with_handle.value, ctypes.byref(data), ctypes.byref(size)))
    out = ctypes.string_at(data.value or 0, size.value)
    with_handle.close()
    return out


def record(function: Function, *args: object) -> Json:
    """Calls a function whose last parameter takes a blob that holds an object of JSON, and returns it."""
    out: Json = json.loads(blob(function, *args))
    return out


def records(function: Function, *args: object) -> list[Json]:
    """Like record(), for a list of objects."""
    out: list[Json] = json.loads(blob(function, *args))
    return out


def device_name(name: str | None, precision: Precision | None = None) -> bytes | None:
    """The name of a device and a precision as C takes them. Graphics cards are reached through the library of the
    package wgpu, where it is installed and LOOM_WEBGPU_LIB names no other."""
    if precision not in (None, "strict", "fast"):
        raise ValueError(f"precision is {precision!r}: expected strict or fast")
    if precision == "fast" and not str(name).endswith(":fast"):
        name = f"{name or 'cpu'}:fast"
    if precision == "strict" and str(name).endswith(":fast"):
        raise ValueError(f"device {name!r} is fast, and precision strict is asked for")
    if not name:
        return None
    if name != "cpu" and not os.environ.get("LOOM_WEBGPU_LIB"):
        import importlib.util  # pylint: disable=import-outside-toplevel

        found = importlib.util.find_spec("wgpu")
        folders = found.submodule_search_locations if found else None
        for library_path in pathlib.Path(folders[0], "resources").glob("*wgpu_native*") if folders else ():
            os.environ["LOOM_WEBGPU_LIB"] = str(library_path)
    return utf8(name, "device")


def compute(
    threads: int | None = None, isa: str | None = None, device: str | None = None, precision: Precision | None = None
) -> Any:
    """Returns the compute options of a call as the library takes them.

    Args:
        threads: 1 to 256. None: one per physical core.
    """
    return ctypes.pointer(
        _abi.ComputeOptions(
            thread_count=0 if threads is None else whole(threads, "threads", 1, 256),
            isa=utf8(isa, "isa") if isa else None,
            device=device_name(device, precision),
        )
    )


def utf8(text: Path, what: str, expected: str = "a text") -> bytes:
    """Text as C takes it."""
    if not isinstance(text, (str, os.PathLike)):
        raise TypeError(f"{what} must be {expected}, not {type(text).__name__}")
    out = os.fspath(text).encode("utf-8", "surrogateescape")
    if b"\0" in out:
        raise ValueError(f"{what} has a NUL in it")
    return out
