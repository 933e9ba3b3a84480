"""The package as editors, help() and Sphinx show it: modules, imports, the documentation of every public name."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import os
import pathlib
import pydoc
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "python" / "welvet"
sys.path.insert(0, str(ROOT / "python"))

import welvet  # noqa: E402

# Names that programs import from welvet, as of the first release.
NAMES = """
    LM AdaptationTracker ArgumentError CancelledError Chat Encoder Generation Graph Layer LayerEvent LoomError
    MeshTween Network NotFoundError Population Run Session Step StepMesh StepState Stream Tensor Tokenizer
    Trainer Transformer Tween Window cluster compare compare_dna complementary_matches content_hash convert dna
    dna_points draw_dna evolve export gpu_report group inspect load mutate performance_similarity quantize
    register_kind replay replay_receipt schema silhouette simulate_precision splice system_info tile_sizes train
    unregister_kind verify version weight_groups
""".split()

# Classes that other calls make: their constructors are not for users.
MADE = {"Answer", "ChatStream", "Layer", "MeshTween", "Run", "StepState", "Stream", "Tensor", "Tokenizer"}


def imports_of(name, path, names):
    """The modules of the package that a module imports, in functions and under TYPE_CHECKING too."""
    parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            base = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*base, *((node.module or "").split(".") if node.module else [])])
            inside = {f"{module}.{alias.name}" for alias in node.names}
            yield from inside & names
            if module in names and inside - names:  # a name of the module itself
                yield module


def circle(graph):
    """A list of names, each of which imports the next one, with the first at the end; None if there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return None
        path.append(name)
        found = next((found for other in sorted(graph[name]) if (found := visit(other))), None)
        path.pop()
        done.add(name)
        return found

    return next((found for name in sorted(graph) if (found := visit(name))), None)


class Modules(unittest.TestCase):
    def test_no_module_imports_itself_through_others(self):
        files = {
            ".".join(("welvet", *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): p
            for p in PACKAGE.rglob("*.py")
        }
        graph = {name: set(imports_of(name, path, set(files))) for name, path in files.items()}
        self.assertIn("welvet.lm.options", graph["welvet.lm.chat"])
        self.assertIsNone(circle(graph))
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])

    def test_names_of_programs_stay(self):
        self.assertEqual(sorted(welvet.__all__), sorted(NAMES))
        for name in NAMES:
            self.assertIn(name, dir(welvet))
            self.assertTrue(getattr(welvet, name).__doc__, name)
        with self.assertRaisesRegex(AttributeError, "'nothing'"):
            welvet.nothing

    def test_modules_hold_the_names_of_the_package(self):
        homes = {}
        for module in ("lm", "nn", "train", "evolve"):
            package = importlib.import_module(f"welvet.{module}")
            for name in package.__all__:
                self.assertIn(name, package.__doc__, module)
                homes.setdefault(name, []).append(getattr(package, name))
        for name, (value, *others) in homes.items():
            if name == "Session":
                self.assertEqual([value, *others], [welvet.lm.Session, welvet.nn.Session])
            elif name in NAMES and name not in ("train", "evolve"):
                self.assertIs(getattr(welvet, name), value, name)

    def test_a_module_of_a_functions_name_is_the_function_too(self):
        import welvet.evolve as evolve
        import welvet.train as train

        self.assertIs(train, welvet.train)
        self.assertIs(train.Trainer, welvet.Trainer)
        self.assertEqual(inspect.signature(train), inspect.signature(train.train))
        self.assertEqual(inspect.signature(evolve), inspect.signature(evolve.evolve))
        with self.assertRaisesRegex(welvet.NotFoundError, "nothing.json"):
            welvet.train("nothing.json", progress=False)
        with self.assertRaisesRegex(welvet.NotFoundError, "nothing.json"):
            welvet.evolve("nothing.json")

    def test_each_name_imports_from_a_fresh_interpreter(self):
        program = (
            "import sys, importlib\nfor name in sys.argv[1:]:\n    import welvet\n    getattr(welvet, name)\n"
            "    for key in [k for k in sys.modules if k.partition('.')[0] == 'welvet']: del sys.modules[key]\n"
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", program, *NAMES],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


MODULES = ("lm", "nn", "train", "evolve", "bridge", "ray")


def public():
    """Pairs of a name and an object: functions, classes, methods and properties of every public module."""
    found = {}
    for module in ("", *MODULES):
        package = importlib.import_module(f"welvet.{module}".rstrip("."))
        for name in package.__all__:
            value = getattr(package, name)
            found.setdefault(id(value), (f"{package.__name__}.{name}", value))
    for name, value in found.values():
        if not inspect.ismodule(value):
            yield name, value
        for base in inspect.getmro(value) if inspect.isclass(value) else ():
            if not base.__module__.startswith("welvet") or base is value and issubclass(value, BaseException):
                continue
            for member, inner in vars(base).items():
                if not member.startswith("_") and (
                    callable(inner) or isinstance(inner, (classmethod, staticmethod, property))
                ):
                    yield f"{name}.{member}", inner if isinstance(inner, property) else getattr(value, member)


def sections_of(docstring):
    """A dict from the headings of a docstring in Google's style to the names of their entries, or to their lines."""
    out, heading = {"": []}, ""
    for line in inspect.cleandoc(docstring).split("\n"):
        if line in ("Args:", "Attributes:", "Returns:", "Raises:", "Yields:"):
            heading = line[:-1]
            out[heading] = []
        elif line and not line.startswith(" ") and heading:
            heading = ""
        elif heading in ("Args", "Attributes", "Raises"):
            if line.startswith("    ") and line[4] != " ":
                out[heading].append(line.partition(":")[0].strip().lstrip("*"))
        elif line:
            out[heading].append(line.strip())
    return out


@unittest.skipIf(
    importlib.util.find_spec("ray") is None or importlib.util.find_spec("numpy") is None,
    "welvet.ray needs ray and numpy",
)
class Documentation(unittest.TestCase):
    maxDiff = None

    def test_every_public_name_is_described(self):
        count = 0
        for name, value in public():
            with self.subTest(name=name):
                count += 1
                first = (inspect.getdoc(value) or "").split("\n")[0]
                self.assertRegex(first, r"^[A-Z\"(].*[.:]$")
                self.assertNotRegex(first, r"^(What|The same|Of the|Whose|Those)\b")
        self.assertGreater(count, 250)

    def test_args_are_the_parameters(self):
        for name, value in public():
            if isinstance(value, property):
                continue
            sections = sections_of(inspect.getdoc(value))
            own = not inspect.isclass(value) or not issubclass(value, Exception) or "__init__" in vars(value)
            made = name.rpartition(".")[2] in MADE or getattr(value, "__name__", "") in MADE
            names = (
                [] if made or not own else [n for n in inspect.signature(value).parameters if n not in ("self", "cls")]
            )
            with self.subTest(name=name):
                described = sections.get("Args", [])
                if dataclasses.is_dataclass(value):
                    described = sections.get("Attributes", [])
                self.assertEqual(described, names)

    def test_results_are_described(self):
        for name, value in public():
            if isinstance(value, property) or inspect.isclass(value):
                continue
            sections = sections_of(inspect.getdoc(value))
            result = inspect.signature(value).return_annotation
            with self.subTest(name=name):
                self.assertEqual(bool(sections.get("Returns")), str(result) != "None")

    def test_options_of_answers_are_parameters(self):
        from welvet.lm import LM, Chat, Session, Transformer, generation_options

        options = set(inspect.signature(generation_options).parameters)
        self.assertGreater(len(options), 15)
        for function in (
            LM.generate,
            LM.stream,
            LM.chat,
            Chat,
            Session.generate,
            Session.stream,
            Transformer.generate,
            Transformer.generate_stream,
        ):
            self.assertLessEqual(options, set(inspect.signature(function).parameters), function)
            self.assertNotIn("options", inspect.signature(function).parameters)
            text = pydoc.render_doc(function, renderer=pydoc.plaintext)
            for option in options:
                self.assertIn(f" {option}: ", text)

    def test_typed_options_are_the_parameters(self):
        source = (PACKAGE / "lm" / "options.py").read_text(encoding="utf-8")
        classes = {
            n.name: [f.target.id for f in n.body if isinstance(f, ast.AnnAssign)]
            for n in ast.walk(ast.parse(source))
            if isinstance(n, ast.ClassDef)
        }
        self.assertEqual(
            set(classes["Sampling"] + classes["AnswerOptions"]),
            set(inspect.signature(welvet.lm.generation_options).parameters),
        )

    def test_sphinx_renders_everything_without_a_warning(self):
        if importlib.util.find_spec("sphinx") is None:
            self.skipTest("sphinx is not installed")
        with tempfile.TemporaryDirectory() as folder:
            pages = "".join(
                f".. automodule:: welvet{'.' * bool(m)}{m}\n   :members:\n   :inherited-members: Exception, ndarray\n"
                "   :undoc-members:\n\n"
                for m in MODULES
            )
            pathlib.Path(folder, "index.rst").write_text("welvet\n======\n\n" + pages)
            pathlib.Path(folder, "conf.py").write_text(
                "extensions = ['sphinx.ext.autodoc', 'sphinx.ext.napoleon']\nnapoleon_use_ivar = True\n"
            )
            done = subprocess.run(
                [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", folder, folder + "/out"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            page = pathlib.Path(folder, "out", "index.html").read_text(encoding="utf-8")
            self.assertIn("stop_ids", page)


if __name__ == "__main__":
    unittest.main()
