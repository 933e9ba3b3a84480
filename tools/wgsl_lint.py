#!/usr/bin/env python3
"""Finds arithmetic of floats in shaders that a compiler may fuse, reorder or round as it likes.

usage: wgsl_lint.py [FILE...]      without files: all src/**/*.wgsl

Floats have no operators but in src/backend/webgpu/wgsl, whose functions have the bits of the CPU kernels: + - * / % and comparisons, min, max,
exp and their like, select of floats, conversions. Variables of functions begin with a value, remainders are those of unsigned numbers, and
parentheses stand where the grammar wants them, though some compilers do without (a >> b & c, a & b | c, a + b << c, a < b & c, a && b || c). A line that may have one
all the same, since it is exact however it is compiled, ends in a comment `// exact: why`. A file of bare statements, as traced kernels are, is read as the body of a function with i: u32.

Files are bodies of kernels (backend/webgpu/kernel.h), which are put together: functions and structs of one are known in all, tensors are read by load_x() and
bits_x(), a name that no file declares is a fixed number, a u32, and a call of one without arguments is a number of the call, a u32 unless a comment
`// f32: name, name` of the file says otherwise.

Types are those that are declared, so that an operand whose type is not known is a fault too unless the other one's is.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRELUDE = ROOT / "src/backend/webgpu/wgsl"

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)|(?P<float>0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+[fh]?|\d+\.\d*(?:[eE][+-]?\d+)?[fh]?|\.\d+(?:[eE][+-]?\d+)?[fh]?"
    r"|\d+[eE][+-]?\d+[fh]?|\d+[fh])|(?P<int>0[xX][0-9a-fA-F]+[iu]?|\d+[iu]?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op><<=|>>=|->|&&|\|\||==|!=|<=|>=|<<|>>|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\+\+|--|[-+*/%&|^~!<>=(){}\[\],;:.@])")

# Types are (name, arguments). Literals have types of their own, as in WGSL.
BOOL, INT, UINT, FLOAT = ("bool", ()), ("i32", ()), ("u32", ()), ("f32", ())
SOME_INT, SOME_FLOAT, UNKNOWN, NOTHING = ("int literal", ()), ("float literal", ()), ("unknown", ()), ("nothing", ())
GENERIC = re.compile(r"(array|bitcast|ptr|atomic|vec[234]|mat[234]x[234]|subgroupMatrix(Load|Multiply|Store))$")
SHORT = re.compile(r"(vec[234]|mat[234]x[234])([fiuh])$")
LETTER = {"f": FLOAT, "i": INT, "u": UINT, "h": ("f16", ())}
PRECEDENCE = [{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}]
BITWISE, SHIFTS, LOGICAL = {"&", "|", "^"}, {"<<", ">>"}, {"&&", "||"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Functions of traced statements, and those of simd/record/math_functions.h.
TRACED = re.compile(r"(load_\d+|param|(exp|expm1|log|log1p|tanh|sigmoid|erf|sin|cos|rsqrt|pow)_f)$")
# Functions whose results do not depend on how floats are rounded.
HARMLESS = {"arrayLength", "workgroupBarrier", "storageBarrier", "workgroupUniformLoad"}


def is_float(kind):
    name, arguments = kind
    if name in ("f32", "f16", "float literal"):
        return True
    return (name.startswith("vec") or name.startswith("mat")) and any(is_float(a) for a in arguments)


def may_group(operator, left, right):
    """Does WGSL's grammar take operands whose outermost operators are these, without parentheses? None: it has none."""
    if operator in BITWISE:
        return left in (None, operator) and right is None
    if operator in SHIFTS:
        return left is None and right is None
    if operator in LOGICAL:
        return not {left, right} & BITWISE and left in {left} - LOGICAL | {operator} and right not in LOGICAL
    if operator in PRECEDENCE[5] | PRECEDENCE[6]:
        return not ({left, right} & (BITWISE | LOGICAL | PRECEDENCE[5] | PRECEDENCE[6]))
    return True


class Fault(Exception):
    """The text is not WGSL that this program reads."""


class Reader:
    def __init__(self, text, functions, in_kernel=False, structs=()):
        self.in_kernel = in_kernel
        self.floats = set(re.split(r"[ ,]+", " ".join(re.findall(r"^// f32: (.*)$", text, re.M))))
        self.tokens, at = [], 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise Fault(f"{text.count(chr(10), 0, at) + 1}: what is {text[at:at + 10]!r}")
            if found.lastgroup != "space":
                self.tokens.append((found.lastgroup, found.group(), text.count("\n", 0, at) + 1))
            at = found.end()
        self.tokens.append(("end", "", text.count("\n") + 1))
        self.at, self.faults = 0, []
        self.functions, self.structs, self.aliases, self.scopes = dict(functions), dict(structs), {}, [{}]

    # Tokens
    def peek(self, ahead=0):
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)][1]

    def kind(self):
        return self.tokens[self.at][0]

    def line(self):
        return self.tokens[self.at][2]

    def take(self, expected=None):
        _, text, line = self.tokens[self.at]
        if expected is not None and text != expected:
            raise Fault(f"{line}: {text!r} where {expected!r} should stand")
        self.at += 1
        return text

    def passes(self, text):
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def split_shift(self):
        """>> and >= that close a list of arguments are two tokens."""
        kind, text, line = self.tokens[self.at]
        if len(text) > 1 and text[0] == ">":
            self.tokens[self.at:self.at + 1] = [(kind, ">", line), (kind, text[1:], line)]

    def fault(self, line, message):
        self.faults.append((line, message))

    # Types
    def type(self):
        name = self.take()
        if short := SHORT.match(name):
            return (short[1], (LETTER[short[2]],))
        arguments = []
        if self.passes("<"):
            self.split_shift()
            while self.peek() != ">":
                # Sizes of arrays and address spaces are expressions or names; the check reads only types.
                if self.kind() == "name" and self.peek(1) in (",", ">", ">>", ">=", "<"):
                    arguments.append(self.type())
                else:
                    self.expression(no_greater=True)
                self.passes(",")
                self.split_shift()
            self.take(">")
        return self.aliases.get(name, (name, tuple(arguments)))

    def attributes(self):
        while self.passes("@"):
            self.take()
            if self.passes("("):
                self.skip_to_closing()

    def skip_to_closing(self):
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self.peek(), 0)
            if self.kind() == "end":
                raise Fault(f"{self.line()}: a ) is missing")
            self.take()

    # Names
    def lookup(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return UINT if self.in_kernel else UNKNOWN

    def declare(self, name, kind):
        self.scopes[-1][name] = {SOME_INT: INT, SOME_FLOAT: FLOAT}.get(kind, kind)

    # Expressions
    def expression(self, level=0, no_greater=False):
        if level == len(PRECEDENCE):
            kind = self.unary()
            self.outermost = None
            return kind
        left = self.expression(level + 1, no_greater)
        while self.peek() in PRECEDENCE[level] and not (no_greater and self.peek() in (">", ">>", ">=")):
            line, operator, before = self.line(), self.take(), self.outermost
            right = self.expression(level + 1, no_greater)
            if not may_group(operator, before, self.outermost):
                self.fault(line, f"{before or self.outermost} beside {operator}: WGSL wants parentheses")
            left = self.binary(line, operator, left, right)
            self.outermost = operator
        return left

    def binary(self, line, operator, left, right):
        compares = operator in ("==", "!=", "<", ">", "<=", ">=")
        if operator in ("&&", "||"):
            return BOOL
        if operator in ("<<", ">>"):
            return left
        if is_float(left) or is_float(right):
            self.fault(line, f"{operator} of floats")
        elif left == right == UNKNOWN:
            self.fault(line, f"{operator} of operands whose types are not known")
        elif operator == "%" and INT in (left, right):
            self.fault(line, "% of signed numbers, which Vulkan leaves open where one is negative")
        if compares:
            return BOOL
        if left in (UNKNOWN, SOME_INT, SOME_FLOAT) or right[0].startswith(("vec", "mat")):
            return left if right == UNKNOWN else right
        return left

    def unary(self):
        line, operator = self.line(), self.peek()
        if operator in ("-", "!", "~", "*", "&"):
            self.take()
            is_literal = self.kind() in ("float", "int")
            kind = self.unary()
            if operator == "-" and is_float(kind) and not is_literal:
                self.fault(line, "- of a float")
            if operator == "*" and kind[0] == "ptr":
                return kind[1][1] if len(kind[1]) > 1 else UNKNOWN
            if operator == "&":
                return ("ptr", (UNKNOWN, kind))
            return kind
        return self.postfix(self.primary())

    def primary(self):
        kind, text = self.kind(), self.peek()
        if kind == "float":
            self.take()
            return SOME_FLOAT if text[-1] not in "fh" or text[:2] in ("0x", "0X") and "p" not in text.lower() else FLOAT
        if kind == "int":
            self.take()
            return {"i": INT, "u": UINT}.get(text[-1], SOME_INT)
        if text == "(":
            self.take()
            inner = self.expression()
            self.take(")")
            return inner
        if kind != "name":
            raise Fault(f"{self.line()}: {text!r} where a value should stand")
        if text in ("true", "false"):
            self.take()
            return BOOL
        if self.peek(1) == "(" or (GENERIC.match(text) and self.peek(1) == "<"):
            return self.call()
        self.take()
        return self.lookup(text)

    def call(self):
        line, name = self.line(), self.peek()
        called = self.type() if GENERIC.match(name) or SHORT.match(name) else (self.take(), ())
        self.take("(")
        given = []
        while self.peek() != ")":
            given.append(self.expression())
            self.passes(",")
        self.take(")")
        name = called[0]
        if name in ("bitcast", "subgroupMatrixLoad"):
            return called[1][0]
        if name.startswith("subgroupMatrix"):
            return NOTHING if name == "subgroupMatrixStore" else UNKNOWN
        if name in self.functions:
            return self.functions[name]
        if name in self.structs or name in self.aliases:
            return self.aliases.get(name, called)
        if TRACED.match(name) or (self.in_kernel and (name.startswith("load_") or name in self.floats)):
            return FLOAT
        if self.in_kernel and (name.startswith("bits_") or (not given and not GENERIC.match(name) and not SHORT.match(name))):
            return UINT
        if self.in_kernel and name.startswith("put_"):
            return NOTHING
        if name.startswith("store_") or name in HARMLESS:
            return UINT if name == "arrayLength" else given[0][1][1] if name == "workgroupUniformLoad" and given[0][0] == "ptr" else NOTHING
        if GENERIC.match(name):
            if not called[1] and given:
                inner = given[0] if name == "array" or not given[0][0].startswith("vec") else given[0][1][0]
                return (name, ({SOME_INT: INT, SOME_FLOAT: FLOAT}.get(inner, inner),))
            if name[:3] in ("vec", "mat") and is_float(called) and not all(is_float(k) or k == SOME_INT for k in given):
                self.fault(line, f"{name} of floats from what is none: to_float_i(), to_float_u()")
            return called
        if name in ("f32", "f16"):
            if given and given[0] not in (SOME_INT, SOME_FLOAT, FLOAT):
                self.fault(line, f"{name}(): to_float_i() and to_float_u() are exact or rounded to the nearest even")
            return (name, ())
        if name in ("i32", "u32", "bool"):
            if any(is_float(kind) and kind != SOME_FLOAT for kind in given):
                self.fault(line, f"{name}() of a float: round_to_int()")
            return (name, ())
        if any(is_float(kind) for kind in given):
            self.fault(line, f"{name}() of floats")
        if name.startswith("atomic") and given and given[0][0] == "ptr":
            inner = given[0][1][1]
            return inner[1][0] if inner[0] == "atomic" and inner[1] else UNKNOWN
        if name.startswith("dot4"):
            return UINT if name.startswith("dot4U") else INT
        if name in ("all", "any"):
            return BOOL
        return next((kind for kind in given if kind not in (SOME_INT, UNKNOWN)), given[0] if given else UNKNOWN)

    def postfix(self, kind):
        while True:
            if kind[0] == "ptr" and self.peek() in ("[", "."):
                kind = kind[1][1] if len(kind[1]) > 1 else UNKNOWN
            if self.passes("["):
                self.expression()
                self.take("]")
                if kind[0].startswith("mat"):
                    kind = ("vec" + kind[0][-1], kind[1])
                else:
                    kind = kind[1][0] if kind[1] else UNKNOWN
            elif self.passes("."):
                member = self.take()
                if kind[0].startswith("vec"):
                    kind = kind[1][0] if len(member) == 1 else ("vec" + str(len(member)), kind[1])
                else:
                    kind = self.structs.get(kind[0], {}).get(member, UNKNOWN)
            else:
                return kind

    # Statements
    def block(self):
        self.take("{")
        self.scopes.append({})
        while not self.passes("}"):
            self.statement()
        self.scopes.pop()

    def variable(self):
        self.take()  # let, var, const, override
        if self.passes("<"):
            while not self.passes(">"):
                self.take()
        name, kind = self.take(), None
        if self.passes(":"):
            kind = self.type()
        if self.passes("="):
            value = self.expression()
            kind = kind or value
        self.declare(name, kind)

    def simple(self):
        """A declaration, an assignment, a call or a count, without its semicolon."""
        if self.peek() in ("let", "var", "const"):
            line, is_var, before = self.line(), self.peek() == "var", self.at
            self.variable()
            if is_var and "=" not in (token[1] for token in self.tokens[before:self.at]):
                self.fault(line, "a variable without a value, which some compilers set to 0 only once in a loop")
            return None
        if self.passes("_"):
            self.take("=")
            return self.expression()
        line, left = self.line(), self.unary()
        operator = self.peek()
        if operator in ASSIGNMENTS:
            self.take()
            right = self.expression()
            if operator != "=":
                self.binary(line, operator[:-1], left, right)
        elif operator in ("++", "--"):
            self.take()
        return None

    def statement(self):
        self.attributes()
        word = self.peek()
        if self.kind() == "end":
            raise Fault(f"{self.line()}: a }} is missing")
        if word == "{":
            return self.block()
        if word in ("if", "while"):
            self.take()
            self.expression()
            self.block()
            while self.passes("else"):
                if self.passes("if"):
                    self.expression()
                self.block()
            return None
        if word == "for":
            self.take()
            self.take("(")
            self.scopes.append({})
            for end in (";", ";", ")"):
                if self.peek() != end:
                    self.expression() if end == ";" and self.tokens[self.at - 1][1] == ";" else self.simple()
                self.take(end)
            self.block()
            self.scopes.pop()
            return None
        if word in ("loop", "continuing"):
            self.take()
            return self.block()
        if word == "switch":
            self.take()
            self.expression()
            self.take("{")
            while not self.passes("}"):
                if not self.passes("default"):
                    self.take("case")
                    while self.peek() not in (":", "{"):
                        self.take() if self.peek() in (",", "default") else self.expression()
                self.passes(":")
                self.block()
            return None
        if word == "return":
            self.take()
            if self.peek() != ";":
                self.expression()
        elif word in ("break", "continue", "discard"):
            self.take()
            if self.passes("if"):
                self.expression()
        elif word != ";":
            self.simple()
        self.take(";")
        return None

    # Declarations of a module
    def members(self, closing):
        out = {}
        while not self.passes(closing):
            self.attributes()
            name = self.take()
            self.take(":")
            out[name] = self.type()
            self.passes(",")
        return out

    def function(self):
        self.take("fn")
        name = self.take()
        self.take("(")
        arguments, result = self.members(")"), NOTHING
        if self.passes("->"):
            self.attributes()
            result = self.type()
        self.functions[name] = result
        return arguments

    def signatures(self):
        """Reads the functions of a module first: they may be used before their declaration."""
        depth, start = 0, self.at
        while self.kind() != "end":
            word = self.peek()
            if depth == 0 and word == "fn":
                self.function()
            elif depth == 0 and word == "struct":
                self.take()
                name = self.take()
                self.take("{")
                self.structs[name] = self.members("}")
            elif depth == 0 and word == "alias":
                self.take()
                name = self.take()
                self.take("=")
                self.aliases[name] = self.type()
            elif depth == 0 and self.kind() == "name" and self.peek(1) == ":":
                name = self.take()
                self.take()
                self.declare(name, self.type())
            else:
                depth += {"{": 1, "}": -1}.get(word, 0)
                self.take()
        self.at = start

    def module(self):
        self.signatures()
        self.scopes[0].setdefault("i", UINT)
        while self.kind() != "end":
            self.attributes()
            word = self.peek()
            if word == "fn":
                self.scopes.append(self.function())
                self.block()
                self.scopes.pop()
            elif word == "struct":
                while self.take() != "}":
                    pass
                self.passes(";")
            elif word in ("alias", "enable", "requires", "diagnostic"):
                while self.take() != ";":
                    pass
            elif word in ("override", "const", "var"):
                self.variable()
                self.take(";")
            else:
                self.statement()
        return self.faults


def read_signatures(path):
    reader = Reader(path.read_text(encoding="utf-8"), {})
    reader.signatures()
    return reader


def prelude_functions():
    functions = {}
    for path in sorted(PRELUDE.glob("*.wgsl")):
        functions.update(read_signatures(path).functions)
    return functions


def check(text, functions, in_kernel=False, structs=()):
    """Lines and messages, but for those of lines that say why they are exact."""
    lines = text.split("\n")
    try:
        faults = Reader(text, functions, in_kernel, structs).module()
    except Fault as fault:
        line, message = str(fault).split(": ", 1)
        return [(int(line), message)]
    return [(line, message) for line, message in faults if not re.search(r"// exact: \S", lines[line - 1])]


def main(files):
    functions, structs, bad = prelude_functions(), {}, False
    bodies = [p for p in sorted((ROOT / "src").rglob("*.wgsl")) if p.parent != PRELUDE]
    names = {}
    for path in bodies:
        if path.stem in names:  # each is a constant of this name (cmake/LoomWgsl.cmake)
            print(f"{path}:1: a shader of this name is {names[path.stem]} too")
            bad = True
        names[path.stem] = path
        found = read_signatures(path)
        functions.update(found.functions)
        structs.update(found.structs)
    for path in [pathlib.Path(file) for file in files] or bodies:
        for line, message in check(path.read_text(encoding="utf-8"), functions, in_kernel=True, structs=structs):
            print(f"{path}:{line}: {message}")
            bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
