"""include/loom/loom.hpp: owning handles, results as return values, errors thrown or returned; C++17 over loom.h alone."""

import re

from bindings.c_types import MADE, camel, described, wrapped

KEYWORDS = {"delete", "new", "export", "import", "register", "default", "template", "operator", "switch", "union", "class"}

HEAD = f"""// Loom for C++17: owning handles over loom.h. {MADE}
//
// A call that fails throws loom::Error, which has the code and the text. With LOOM_NO_EXCEPTIONS defined before this
// header (it is where the compiler has none) each call returns a loom::Result instead: if (auto r = ...) use(*r).
//
//   loom::Model model = loom::Model::open("model.gguf");
//   loom::Session session = loom::Session::create(model);
//   loom::Generator generator = loom::Generator::from_text(session, "What is gravity?", LOOM_PROMPT_AUTO);
//
// Structs are those of loom.h; loom::sized<loom_session_options>() makes one with its size set. Views of memory of the
// library last as long as loom.h says.
#pragma once

#include <loom/loom.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(LOOM_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define LOOM_NO_EXCEPTIONS
#endif
#ifndef LOOM_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace loom {{
// Programs that link the engine itself, or files of both ways of errors, have no two things of one name.
#ifdef LOOM_NO_EXCEPTIONS
inline namespace api_results {{
#else
inline namespace api {{
#endif

// What a call failed with.
#ifdef LOOM_NO_EXCEPTIONS
class Error {{
 public:
  Error(loom_status code, std::string text) : code_(code), text_(std::move(text)) {{}}
  const char* what() const {{ return text_.c_str(); }}
  loom_status code() const {{ return code_; }}

 private:
  loom_status code_;
  std::string text_;
}};
#else
class Error : public std::runtime_error {{
 public:
  Error(loom_status code, const std::string& text) : std::runtime_error(text), code_(code) {{}}
  loom_status code() const {{ return code_; }}

 private:
  loom_status code_;
}};
#endif

#ifdef LOOM_NO_EXCEPTIONS
// A value, or the error that came instead.
template <class T>
class Result {{
 public:
  Result(T value) : value_(std::move(value)), error_(LOOM_OK, {{}}) {{}}
  Result(Error error) : value_(), error_(std::move(error)) {{}}
  explicit operator bool() const {{ return error_.code() == LOOM_OK; }}
  T& operator*() {{ return value_; }}
  T* operator->() {{ return &value_; }}
  const Error& error() const {{ return error_; }}

 private:
  T value_;
  Error error_;
}};
template <>
class Result<void> {{
 public:
  Result() : error_(LOOM_OK, {{}}) {{}}
  Result(Error error) : error_(std::move(error)) {{}}
  explicit operator bool() const {{ return error_.code() == LOOM_OK; }}
  const Error& error() const {{ return error_; }}

 private:
  Error error_;
}};
#else
template <class T>
using Result = T;
#endif

// Contiguous values in memory that the view does not own.
template <class T>
class View {{
 public:
  View() = default;
  View(const T* data, std::size_t size) : data_(data), size_(size) {{}}
  View(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {{}}
  View(std::initializer_list<T> values) : size_(values.size()) {{ data_ = values.begin(); }}  // for the time of a call
  const T* data() const {{ return data_; }}
  std::size_t size() const {{ return size_; }}
  const T* begin() const {{ return data_; }}
  const T* end() const {{ return data_ + size_; }}
  const T& operator[](std::size_t i) const {{ return data_[i]; }}

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
}};

// A struct of loom.h with its size set and all else 0.
template <class S>
S sized() {{
  S out{{}};
  out.struct_size = sizeof out;
  return out;
}}

// Values of the caller as a tensor, to read or to fill. The memory must last as long as the tensor is used.
template <class T>
loom_tensor tensor_of(const T* values, std::size_t count, const uint64_t* shape = nullptr, std::size_t rank = 0) {{
  constexpr loom_element element = std::is_same_v<T, float>          ? LOOM_ELEMENT_FLOAT32
                                   : std::is_same_v<T, double>       ? LOOM_ELEMENT_FLOAT64
                                   : std::is_same_v<T, std::int32_t> ? LOOM_ELEMENT_INT32
                                   : std::is_same_v<T, std::int64_t> ? LOOM_ELEMENT_INT64
                                                                     : LOOM_ELEMENT_NONE;
  static_assert(element != LOOM_ELEMENT_NONE, "expected float, double, int32_t or int64_t");
  auto out = sized<loom_tensor>();
  out.element = element;
  out.data = const_cast<T*>(values), out.data_size = count * sizeof(T);
  out.shape = shape, out.shape_count = rank;
  return out;
}}

namespace detail {{

// The text of an error.
inline std::string error_text() {{
  if (loom_library_abi_version() == LOOM_ABI_VERSION) return loom_last_error();
  return "the library has version " + std::to_string(loom_library_abi_version()) + " of the C interface, loom.h has " +
         std::to_string(LOOM_ABI_VERSION) + ": use the header and the library of one release";
}}

#ifdef LOOM_NO_EXCEPTIONS
template <class T, class Make>
Result<T> finish(loom_status status, Make&& make) {{
  if (status != LOOM_OK) return Error(status, error_text());
  return make();
}}
inline Result<void> finish(loom_status status) {{
  return status == LOOM_OK ? Result<void>() : Result<void>(Error(status, error_text()));
}}
#else
inline void finish(loom_status status) {{
  if (status != LOOM_OK) throw Error(status, error_text());
}}
template <class T, class Make>
T finish(loom_status status, Make&& make) {{
  finish(status);
  return make();
}}
#endif

// Gives the argument of an optional struct: NULL for one without values, which is the default.
inline const loom_batch* given(const loom_batch& batch) {{
  return batch.inputs == nullptr && batch.targets == nullptr ? nullptr : &batch;
}}
inline const loom_tensor* given(const loom_tensor& tensor) {{
  return tensor.data == nullptr && tensor.element == LOOM_ELEMENT_NONE ? nullptr : &tensor;
}}

// Whether the library has the interface of this header; the functions that make objects ask.
inline bool is_same_abi() {{ return loom_library_abi_version() == LOOM_ABI_VERSION; }}

// A handle that is given back at the end. A copy is one more owner of the same object.
class Owner {{
 public:
  Owner() = default;
  explicit Owner(loom_handle handle) : handle_(handle) {{}}
  Owner(const Owner& other) : handle_(other.handle_) {{
    if (handle_ != 0 && loom_retain(handle_) != LOOM_OK) handle_ = 0;
  }}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {{}}
  Owner& operator=(Owner other) noexcept {{
    std::swap(handle_, other.handle_);
    return *this;
  }}
  ~Owner() {{ loom_release(handle_); }}

  // The handle for loom.h; it stays with this object.
  loom_handle get() const {{ return handle_; }}
  // The same, which the caller has to release from now on.
  loom_handle take() {{ return std::exchange(handle_, 0); }}
  explicit operator bool() const {{ return handle_ != 0; }}

 private:
  loom_handle handle_ = 0;
}};

}}  // namespace detail

"""

TAIL = """
#ifdef LOOM_NO_EXCEPTIONS
}  // namespace api_results
#else
}  // namespace api
#endif
}  // namespace loom
"""

BLOB = """
  // The bytes, which last as long as the blob.
  std::string_view bytes() const {
    const void* data = nullptr;
    std::size_t size = 0;
    if (loom_blob_view(get(), &data, &size) != LOOM_OK) return {};
    return {static_cast<const char*>(data), size};
  }
  std::string text() const { return std::string(bytes()); }
"""


class Argument:
    """One parameter of a C function: what C++ passes, what it gets back."""

    def __init__(self, api, param, own):
        name, kind = param[0], param[1]
        optional, kind = kind.endswith("?"), kind.removesuffix("?")
        self.declared, self.default, self.passed, self.locals, self.result, self.value = None, None, [name], [], None, None
        c_parts = api.params({"params": [param]})
        base = kind.removeprefix("out ")
        if own:
            self.passed = ["get()"]
        elif kind.startswith("view "):
            self.view(name, kind[5:], c_parts)
        elif kind.startswith("out struct "):
            c = f"loom_{kind[11:]}"
            self.locals, self.passed = [f"auto {name} = sized<{c}>();"], [f"&{name}"]
            self.result, self.value = c, name
        elif kind.startswith("out ") and (base in api.handles or base == "handle"):
            self.locals, self.passed = [f"loom_handle {name} = 0;"], [f"&{name}"]
            self.result = camel(base) if base in api.handles else "detail::Owner"
            self.value = f"{self.result}({name})"
        elif kind.startswith("out ") and len(c_parts) == 1 and not base.endswith("]") and c_parts[0][0].count("*") == 1:
            c = c_parts[0][0].removesuffix("*")
            c = "bool" if base == "bool" else c
            self.locals, self.passed = [f"{c_parts[0][0].removesuffix('*')} {name}{{}};"], [f"&{name}"]
            self.result, self.value = c, f"{name} != 0" if c == "bool" else name
        elif kind in api.handles:
            self.declared, self.passed = f"const {camel(kind)}& {name}", [f"{name}.get()"]
            self.default = "{}" if optional else None
        elif kind in ("bytes", "chars"):
            self.declared, self.passed = f"std::string_view {name}", [f"{name}.data()", f"{name}.size()"]
        elif kind == "text" and not optional:
            self.declared, self.passed = f"const std::string& {name}", [f"{name}.c_str()"]
        elif kind == "text":
            self.declared, self.default = f"const char* {name}", "nullptr"
        elif kind == "bool":
            self.declared, self.passed = f"bool {name}", [f"{name} ? 1 : 0"]
        elif kind.startswith("struct "):
            c = f"loom_{kind[7:]}"
            self.declared, self.passed = f"const {c}& {name}", [f"&{name}"]
            self.default = f"sized<{c}>()" if optional else None
            if optional and kind[7:] in ("batch", "tensor"):
                self.passed = [f"detail::given({name})"]
        elif (m := re.fullmatch(r"(\w+)\[\]", kind)) and len(c_parts) == 2:
            item = c_parts[0][0].removeprefix("const ").removesuffix("*") if m[1] != "text" else "const char*"
            self.declared, self.passed = f"View<{item}> {name}", [f"{name}.data()", f"{name}.size()"]
        else:  # as in C
            self.declared = ", ".join(f"{c} {n}" for c, n, _ in c_parts)
            self.passed = [n for _, n, _ in c_parts]

    def view(self, name, kind, c_parts):
        item = c_parts[0][0].removesuffix("*")
        self.locals = [f"{item} {name} = nullptr;", f"std::size_t {name}_count = 0;"]
        self.passed = [f"&{name}", f"&{name}_count"]
        if kind in ("bytes", "chars"):
            self.result = "std::string_view"
            self.value = f"std::string_view(static_cast<const char*>({name}), {name}_count)"
        else:
            self.result = f"View<{item.removesuffix('*').removeprefix('const ').strip()}>"
            self.value = f"{self.result}({name}, {name}_count)"


def method(api, function, owner, indent):
    """One member, or a free function where there is no owner."""
    own = owner is not None and function["params"] and function["params"][0][1] == owner
    arguments = [Argument(api, p, own and i == 0) for i, p in enumerate(function["params"])]
    name = function["name"].removeprefix(f"{owner}_") if owner else function["name"]
    name = name + "_" if name in KEYWORDS else name
    declared, defaults = [], True
    for argument in reversed([a for a in arguments if a.declared]):
        defaults = defaults and argument.default is not None
        declared.insert(0, argument.declared + (f" = {argument.default}" if defaults else ""))
    calls = f"loom_{function['name']}({', '.join(p for a in arguments for p in a.passed)})"
    words = wrapped(described(function), indent, "// ")
    kind = "" if own else "static " if owner else "inline "
    tail = " const" if own else ""
    if "returns" in function:
        c_type = api.c_value(function["returns"])
        return words + f"{indent}{kind}{c_type} {name}({', '.join(declared)}){tail} {{ return {calls}; }}\n"
    results = [a for a in arguments if a.result]
    returned = "void" if not results else results[0].result if len(results) == 1 else \
        f"std::tuple<{', '.join(a.result for a in results)}>"
    value = f"{returned}({', '.join(a.value for a in results)})" if len(results) > 1 else "".join(a.value for a in results)
    if not own and any(a.result and a.value.endswith(f"({a.passed[0][1:]})") for a in results if a.passed[0].startswith("&")):
        calls = f"detail::is_same_abi() ? {calls} : LOOM_UNSUPPORTED"
    body = [line for a in arguments for line in a.locals]
    body.append(f"return detail::finish<{returned}>({calls}, [&] {{ return {value}; }});" if results else
                f"return detail::finish({calls});")
    lines = "".join(f"{indent}  {line}\n" for line in body)
    return words + f"{indent}{kind}Result<{returned}> {name}({', '.join(declared)}){tail} {{\n{lines}{indent}}}\n"


def owner_of(api, function):
    """The handle whose name the function begins with, the longest that fits."""
    fitting = [h for h in api.handles if function["name"].startswith(h + "_")]
    return max(fitting, key=len) if fitting else None


def aliases(api):
    """[(the specification's word, what it is in loom.hpp or None, words)] of engine C-14."""
    functions = {f["name"]: f for f in api.functions()}
    out = []
    for word, target in api.json["mission_names"]:
        kind, _, name = target.partition(" ")
        there = name if kind == "class" and name in api.handles else name if kind == "function" and name in functions else None
        if there is None:
            out.append((word, None, kind))
        elif kind == "class":
            out.append((word, camel(name), kind))
        else:
            owner = owner_of(api, functions[name])
            own = owner and functions[name]["params"] and functions[name]["params"][0][1] == owner
            short = name.removeprefix(f"{owner}_") if owner else name
            out.append((word, f"{camel(owner)}::{short}" if owner else name, "method" if own else "function"))
    return out


def library(api):
    handles = defaults_first(api)
    members = {h: [f for f in api.functions() if owner_of(api, f) == h and f["name"] != "blob_view"] for h in handles}
    out = [HEAD] + [f"class {camel(h)};\n" for h in handles] + ["\n"]
    # A class is defined before the members of another take or give one: members are declared first, their bodies follow.
    helps = {h["name"]: h["help"] for h in api.json["handles"]}
    for name in handles:
        out.append(wrapped(helps[name], "", "// ") + f"class {camel(name)} : public detail::Owner {{\n public:\n"
                   f"  using Owner::Owner;\n" + (BLOB if name == "blob" else ""))
        for function in members[name]:
            out.append("\n" + declaration(method(api, function, name, "  ")))
        out.append("};\n\n")
    for name in handles:
        out += [definition(method(api, f, name, ""), camel(name)) + "\n" for f in members[name]]
    skipped = {"retain", "release", "last_error"}
    out += [method(api, f, None, "") + "\n" for f in api.functions() if owner_of(api, f) is None and f["name"] not in skipped]
    out.append("// Names of the specification (engine C-14) whose functions exist.\n")
    for word, target, kind in aliases(api):
        if kind == "class" and target:
            out.append(f"using {word} = {target};\n")
        elif kind == "method" and target:
            owner, name = target.split("::")
            out.append(f"inline constexpr auto {word} = [](const {owner}& self, auto&&... given) {{\n"
                       f"  return self.{name}(std::forward<decltype(given)>(given)...);\n}};\n")
        elif target:
            out.append(f"inline constexpr auto {word} = [](auto&&... given) {{\n"
                       f"  return {target}(std::forward<decltype(given)>(given)...);\n}};\n")
    return "".join(out) + TAIL


def defaults_first(api):
    """Names of handles; those that are defaults of parameters first, since their classes must be known by then."""
    optional = {p[1].removesuffix("?") for f in api.functions() for p in f["params"] if p[1].endswith("?")}
    return sorted((h["name"] for h in api.json["handles"]), key=lambda name: name not in optional)


def declaration(text):
    """A member without its body."""
    if text.count("\n") and text.rstrip().endswith("}") and " { return loom_" in text:
        return text
    lines = text.splitlines(keepends=True)
    head = next(i for i, line in enumerate(lines) if line.rstrip().endswith("{"))
    return fit("".join(lines[:head]) + lines[head].rstrip().removesuffix(" {") + ";\n")


def definition(text, owner):
    """The body of a member after all classes: no comment, no default arguments, not static."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("//")]
    head = lines[0].removeprefix("static ")
    head = re.sub(r" = (nullptr|\{\}|sized<\w+>\(\))", "", head)
    returned = head[:head.index("> ") + 1] if "(" not in head[:head.index("> ")] else ""
    head = f"inline {returned} {owner}::{head[len(returned) + 1:]}"
    return fit(head + "".join(lines[1:]))


def fit(text):
    """Lines over 118 columns are broken between parameters."""
    out = []
    for line in text.splitlines():
        while len(line) > 118 and ", " in line[:118]:
            at = line[:118].rindex(", ") + 1
            indent = re.match(r" *", line)[0]
            out.append(line[:at])
            line = indent + "    " + line[at:].lstrip()
        out.append(line)
    return "\n".join(out) + "\n"


GLOSSARY = ("<!-- Names: made by tools/gen_bindings.py -->\n", "<!-- end of the names -->\n")


def glossary(api, text):
    """docs/reference/glossary.md with the table of the specification's names."""
    begin, end = GLOSSARY
    words = {}  # by what they are in loom.hpp
    for word, target, _ in aliases(api):
        words.setdefault(f"`loom::{target}`" if target else "waits for its function of loom.h", []).append(f"`{word}`")
    rows = [f"| {target} | {', '.join(names)} |\n" for target, names in words.items()]
    table = "\n| In loom.hpp | Names |\n| --- | --- |\n" + "".join(rows) + "\n"
    return text[:text.index(begin) + len(begin)] + table + text[text.index(end):]


def test_program(api):
    """A program that names each alias, so that one which resolves to nothing does not compile."""
    out = [f"// Names every word of the specification that loom.hpp resolves. {MADE}\n#include <loom/loom.hpp>\n\n"
           "template <class T>\nvoid exists() {\n  static_assert(sizeof(T) > 0);\n}\n\nint main() {\n"]
    for word, target, kind in aliases(api):
        if target:
            out.append(f"  exists<{'loom::' + word if kind == 'class' else f'decltype(loom::{word})'}>();\n")
    return "".join(out) + "}\n"


def outputs(api):
    return {"include/loom/loom.hpp": library(api), "bindings/cpp/names.cpp": test_program(api),
            "docs/reference/glossary.md": glossary(api, (api.root / "docs/reference/glossary.md").read_text())}
