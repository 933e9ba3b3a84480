"""A function of JAX as a flat list of operations, with marks around the layers that are read as a whole.

A mark is an operation that does nothing: "enter" stands at what goes into a layer, its weights included, "leave" at
what comes out of it. The operations between them are not read.
"""

import contextlib
import functools
import sys

import numpy

_PRIMITIVES: dict[str, object] = {}


def primitives():
    """The marks "enter" and "leave", made when JAX is first used."""
    if _PRIMITIVES:
        return _PRIMITIVES
    from jax import numpy as numpy_of_jax
    from jax.extend import core
    from jax.interpreters import batching, mlir

    for name in ("enter", "leave"):
        mark = core.Primitive("loom_" + name)
        mark.def_impl(lambda x, **_: x)
        mark.def_abstract_eval(lambda x, **_: x)

        def batched(values, axes, mark=mark, **params):
            # The axis of a vmap comes to the front, where a layer has its samples.
            return mark.bind(numpy_of_jax.moveaxis(values[0], axes[0], 0), **params), 0

        batching.primitive_batchers[mark] = batched
        mlir.register_lowering(mark, lambda _, x, **__: [x])
        _PRIMITIVES[name] = mark
    return _PRIMITIVES


class Var:
    """A value of the trace: input, parameter, constant or result of an operation."""

    def __init__(self, aval=None, op=None, value=None, path=None):
        self.aval, self.op, self.value, self.path = aval, op, value, path
        self.depends = False  # on the input
        self.of_parameters = path is not None

    @property
    def shape(self):
        return tuple(self.aval.shape) if self.aval is not None else numpy.shape(self.value)


class Op:
    """An operation: the name of its primitive, parameters, Vars that it reads and makes."""

    def __init__(self, eqn, inputs):
        self.eqn, self.name, self.params, self.inputs = eqn, eqn.primitive.name, eqn.params, inputs
        self.outputs = [Var(v.aval, self) for v in eqn.outvars]


class Trace:
    """All operations in order, from the parameters (by their paths) and the input to the outputs."""

    def __init__(self, function, params, sample):
        import jax

        leaves, self.tree = jax.tree_util.tree_flatten_with_path(params)
        self.leaves = [value for _, value in leaves]
        self.ops = []
        closed, answer = jax.make_jaxpr(
            lambda p, x: function(jax.tree_util.tree_unflatten(self.tree, p), x), return_shape=True
        )(self.leaves, sample)
        self.params = [
            Var(value=value, path=jax.tree_util.keystr(path, simple=True, separator="."), aval=v.aval)
            for (path, value), v in zip(leaves, closed.jaxpr.invars)
        ]
        self.input = Var(closed.jaxpr.invars[-1].aval, value=sample)
        self.input.depends = True
        self.outputs = self._inline(closed, [*self.params, self.input])
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(answer)[0]]
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]
        self.named = dict(zip(names, self.outputs))
        self.marks = self._marked()

    @classmethod
    def of_body(cls, closed):
        """The body of a loop: constants, states and what one step reads are its inputs."""
        self = cls.__new__(cls)
        self.ops, self.inputs = [], [Var(v.aval) for v in closed.jaxpr.invars]
        self.outputs = self._inline(closed, self.inputs)
        self.marks = self._marked()
        return self

    def _marked(self):
        found = {}
        for op in self.ops:
            if op.name == "loom_enter":
                found.setdefault(op.params["tag"], {})[op.params["role"]] = op.inputs[0]
        return found

    def _inline(self, closed, inputs):
        from jax.extend.core import Literal

        known = dict(zip(closed.jaxpr.invars, inputs))
        known.update((v, Var(v.aval, value=c)) for v, c in zip(closed.jaxpr.constvars, closed.consts))

        def of(atom):
            return Var(atom.aval, value=numpy.asarray(atom.val)) if isinstance(atom, Literal) else known[atom]

        for eqn in closed.jaxpr.eqns:
            arguments = [of(a) for a in eqn.invars]
            inner = inner_of(eqn)
            if inner is not None:
                known.update(zip(eqn.outvars, self._inline(inner, arguments)))
                continue
            op = Op(eqn, arguments)
            for v in op.outputs:
                v.depends = any(a.depends for a in arguments)
                v.of_parameters = any(a.of_parameters for a in arguments)
            op.number = len(self.ops)
            self.ops.append(op)
            known.update(zip(eqn.outvars, op.outputs))
        return [of(a) for a in closed.jaxpr.outvars]

    def evaluate(self, sample, wanted, given=None):
        """The values of some Vars for an input; given: values of other Vars to go out from instead."""
        known = {id(self.input): sample}
        known.update(given or {})

        def value(v):
            if id(v) in known:
                return known[id(v)]
            return v.value if v.op is None else None

        for op in self.needed(wanted, given):
            found = run(op, [value(a) for a in op.inputs])
            known.update((id(v), f) for v, f in zip(op.outputs, found))
        return [value(v) for v in wanted]

    def needed(self, wanted, given=None):
        """The operations that some Vars depend on, in order."""
        stop, marked, open_ = (
            set(given or ()),
            set(),
            [v.op for v in wanted if v.op is not None and id(v) not in (given or ())],
        )
        while open_:
            op = open_.pop()
            if id(op) not in marked:
                marked.add(id(op))
                open_ += [a.op for a in op.inputs if a.op is not None and id(a) not in stop]
        return [op for op in self.ops if id(op) in marked]


def inner_of(eqn):
    """The function that an operation calls once, as jit and the functions with their own derivatives do."""
    if eqn.primitive.name in ("scan", "while", "cond"):
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(name)
        if inner is not None:
            if hasattr(inner, "consts"):
                return inner
            from jax.extend.core import ClosedJaxpr

            return ClosedJaxpr(inner, ())
    return None


def run(op, values):
    """Evaluates one operation."""
    primitive = op.eqn.primitive
    params = primitive.get_bind_params(op.params)
    functions, params = (
        params if isinstance(params, tuple) else ((), params)
    )  # older versions give the functions beside them
    found = primitive.bind(*functions, *values, **params)
    return found if primitive.multiple_results else [found]


class Layers:
    """The layers that were met while a function was traced, by tag."""

    def __init__(self):
        self.met = []

    def around(self, name, module, path, x, weights, call):
        """Marks what goes in and comes out of a layer. weights: a dict of arrays; call: takes the marked input."""
        tag = len(self.met)
        marks = primitives()
        self.met.append((name, module, path))
        for role, value in weights.items():
            if value is not None:
                marks["enter"].bind(value, tag=tag, role=role)
        y = call(marks["enter"].bind(x, tag=tag, role="x"))
        return leave(y, tag)


def leave(y, tag):
    import jax

    leaves, tree = jax.tree_util.tree_flatten(y)
    marked = [
        primitives()["leave"].bind(v, tag=tag, index=i) if hasattr(v, "shape") else v for i, v in enumerate(leaves)
    ]
    return jax.tree_util.tree_unflatten(tree, marked)


class Patched:
    """Puts another __call__ into classes for the length of a trace."""

    def __init__(self, classes, wrap):
        self._classes, self._wrap, self._before = classes, wrap, {}

    def __enter__(self):
        for cls in self._classes:
            self._before[cls] = cls.__dict__.get("__call__")
            original = cls.__call__

            def call(module, *args, _original=original, _cls=cls, **kwargs):
                if type(module) is not _cls or not args:
                    return _original(module, *args, **kwargs)
                return self._wrap(module, functools.partial(_original, module), *args, **kwargs)

            type.__setattr__(cls, "__call__", call)
        return self

    def __exit__(self, *_):
        for cls, before in self._before.items():
            if before is None:
                type.__delattr__(cls, "__call__")
            else:
                type.__setattr__(cls, "__call__", before)


@contextlib.contextmanager
def deep():
    """Lets long chains of operations be followed by recursion."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 50000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
