#!/usr/bin/env python3
"""Shows that every check of the pages can fail: small trees with one fault each, and the message for it."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_commits
import check_docs
import check_lists
import check_spec
import command_page
import decision_index
import join_corpus
import plain_words

MAIN = 'constexpr Command kCommands[] = {\n    {"run", "What", run_command},\n    {"bench", "What", bench_command},\n};\n'
COMMANDS = """
template <class T>
void add_common(CLI::App& app, T& options) {
  app.add_option("-t,--threads", options.threads, "Threads");
}
Run run_command(CLI::App& app) {
  add_path(app, "-o,--output,OUTPUT", o->output, "File");
  app.add_flag("--json", o->json, "One {object}");
  add_common(app, *o);
}
void set_up_matrix(CLI::App& app) { app.add_flag("--csv", o->csv, "Lines"); }
Run bench_command(CLI::App& app) {
  CLI::App* const matrix = app.add_subcommand("matrix", "Kinds");
  set_up_matrix(*matrix);
}
"""
PROGRAM = """#!/bin/sh
case "$*" in
  --commands) echo run; echo bench ;;
  "run --help") echo "Usage: loom run [OPTIONS]"; echo "  -h,--help  x"; echo "  -o,--output TEXT  x"; echo "  --json x"; echo "  -t,--threads INT" %s ;;
  "bench --help") echo "Usage: loom bench [OPTIONS]"; echo "  -h,--help  x" ;;
  "bench matrix --help") echo "Usage: loom bench matrix [OPTIONS]"; echo "  --csv x" ;;
  "--help") echo "Usage: loom [OPTIONS]"; echo "  --version  x" ;;
  *) exit 2 ;;
esac
"""
TABLE = "| Command | Does |\n| --- | --- |\n| `loom run FILE` | Runs |\n| `loom bench` | Measures |\n"
FILES = {"src/cli/main.cpp": MAIN, "src/cli/commands.cpp": COMMANDS, "src/ops/gap/gap.h": "// engine D-01\n", "tools/tool.py": "\n"}


class Tree:
    """A repository of these files under check_docs; `source_...` are read again."""

    def __init__(self, files):
        self.files = files

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        for name, text in self.files.items():
            path = os.path.join(self.folder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["git", "init", "-q"], cwd=self.folder.name, check=True)
        self.root, check_docs.ROOT = check_docs.ROOT, self.folder.name
        self.forget()
        return self.folder.name

    def __exit__(self, *_):
        check_docs.ROOT = self.root
        self.forget()
        self.folder.cleanup()

    @staticmethod
    def forget():
        for cached in (check_docs.source_commands, check_docs.source_functions, check_docs.source_flags, check_docs.flags_of):
            cached.cache_clear()


def faults_of(page, files=None, program=None):
    """Returns the faults of README.md with this text after the table of commands."""
    with Tree({**FILES, "README.md": f"# Page\n\n{TABLE}\n{page}\n", **(files or {})}) as root:
        if program is not None:
            path = os.path.join(root, "program")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            os.chmod(path, 0o700)
            program = path
        return check_docs.faults(program)


class Documents(unittest.TestCase):
    def said(self, page, *words, **more):
        found = faults_of(page, **more)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_right_page_has_no_fault(self):
        page = ("[page](#page), `src/ops/gap/gap.h`, `ops/gap`, `gap.h`, `src/NAME/NAME.h`\n\n```sh\nloom run X -o Y --json -t 2  # as it is\nloom bench matrix --csv\n"
                "./run what is --this\n./run run X --json\n./run -- run along\nbuild/bin/loom --version\nloom COMMAND --any\n```\n\nThere is no server yet: `soon`.")
        self.assertEqual(faults_of(page), [])
        self.assertEqual(faults_of(page, program=PROGRAM % ""), [])

    def test_links(self):
        self.said("[x](gone.md)", "README.md:8", "link to gone.md: no such file")
        self.said("[x](#gone)", "no such heading")

    def test_paths(self):
        self.said("`src/gone.h`", "src/gone.h: no such file")
        self.said("`ops/gone/gap.h`", "ops/gone/gap.h: no such file")
        self.said("`gone.h`", "gone.h: no file of this name")

    def test_figures_without_a_command(self):
        self.said("## Figures\n\n| | a |\n| --- | --- |\n| x | 1.5 |\n", "no command that makes them")

    def test_examples_by_the_source(self):
        self.said("`loom fly`", "loom fly: no such command")
        self.said("`build/bin/loom run X --fast`", "unknown flag --fast")
        self.said("```sh\n$ loom bench matrix --json\n```", "unknown flag --json")
        self.said("```sh\n./run run X --fast\n```", "unknown flag --fast")

    def test_examples_by_the_program(self):
        self.said("`loom fly`", "loom fly: no such command", program=PROGRAM % "")
        self.said("`loom run X --fast`", "unknown flag --fast", program=PROGRAM % "")
        self.said("", "run has --new, which tools/check_docs.py does not find", program=PROGRAM % '; echo "  --new x"')

    def test_commands_without_a_row(self):
        self.said("", "loom fly: no table", files={"src/cli/main.cpp": MAIN.replace("};", '    {"fly", "What", fly_command},\n};')})

    def test_names_that_the_c_header_lacks(self):
        files = {"include/loom/loom.h": "LOOM_API loom_status loom_file_open(const char* path);\n"}
        table = "| Before | Now |\n| --- | --- |\n| `loom_load` | `loom_file_open` |\n"
        right = f"`loom_file_open`, `loom_file_*`, build/loom_x, libloom_y.so\n\n{table}\n```c\nloom_status s = loom_file_open(p);\n```\n"
        self.assertEqual(faults_of(right, files=files), [])
        self.said("`loom_load` opens", "README.md", "loom_load: no such name", files=files)
        self.said("`loom_graph_*`", "loom_graph_*: no such name", files=files)
        self.said("```c\nloom_fly();\n```", "loom_fly: no such name", files=files)
        self.said(f"{table}\n`loom_load`", "loom_load: no such name", files=files)  # the table explains it, the prose does not
        changes = "# Changes\n\n## [Unreleased]\n\n- `loom_%s`\n\n## [0.1.0]\n\n- `loom_older`\n"
        self.assertEqual(faults_of("", files={**files, "CHANGELOG.md": changes % "file_open"}), [])
        self.said("", "CHANGELOG.md:5: loom_load", files={**files, "CHANGELOG.md": changes % "load"})

    def test_folders_without_a_row(self):
        self.said("", "no row for src/ops", files={"docs/internals/architecture.md": "| Folder | Holds |\n| --- | --- |\n| `cli` | x |\n"})

    def test_pages_without_an_index(self):
        pages = {"docs/README.md": "[a](guide/a.md) [b](b/README.md)\n", "docs/guide/a.md": "x\n", "docs/b/README.md": "[c](c.md)\n", "docs/b/c.md": "x\n"}
        self.assertEqual(faults_of("", files=pages), [])
        self.said("", "docs/guide/d.md: no index of docs links to it", files={**pages, "docs/guide/d.md": "x\n"})

    def test_pages_that_sources_name(self):
        self.said("", "src/ops/gap/gap.h:2: docs/gone.md: no such page", files={"src/ops/gap/gap.h": "// engine D-01\n// (docs/gone.md)\n"})

    def test_what_is_said_to_be_absent(self):
        self.said("The wheels are not built yet.", "of nothing that MISSING")
        self.said("## Not done yet\n\nThe server.", "src/server exists", files={"src/server/server.h": "\n"})
        self.said("There is no server yet.", "src/server exists", files={"src/server/server.h": "\n"})
        self.assertEqual(faults_of("", files={"docs/plan.md": "The wheels are not built yet.\n"}), [])


class Requirements(unittest.TestCase):
    PAGES = {"docs/spec/engine.md": "## 4. Types\n\n- **D-01** One.\n- **D-02** Two.\n- **D-03** Three.\n", "docs/spec/numerics.md": "### 1.2 Snap\n"}

    def faults(self, files, pages=None):
        return check_spec.faults({**self.PAGES, **(pages or {})}, files)[0]

    def test_nothing_is_wrong_with_ids_ranges_sections_and_names(self):
        for text in ("// D-01..D-03, engine 4, numerics 1.2", "// D-01 to D-03", "D-01/03 and D-02", "1e-05 UTF-16 D-01 D-02 D-03"):
            self.assertEqual(self.faults({"src/a.h": text}), [])
        self.assertEqual(self.faults({"src/a_test.cpp": "TEST(A, all) {  // D-01, D-02, D-03\n// numerics 1.2\nTEST_P(A, snap) {"}), [])

    def test_faults(self):
        self.assertEqual(self.faults({"src/a.h": "D-01..D-03 W-99"}), ["src/a.h: W-99 has no entry in docs/spec"])
        self.assertEqual(self.faults({"src/a_test.cpp": "TEST(A, all) {  // D-01, D-02, D-03, W-99"}), ["src/a_test.cpp: W-99 has no entry in docs/spec"])
        self.assertEqual(self.faults({"src/a.h": "D-01, D-03"}), ["docs/spec/engine.md:4: nothing cites D-02"])
        self.assertEqual(self.faults({"src/a.h": "D-01..D-03, engine 4.9"}), ["src/a.h: engine 4.9 is no section of docs/spec/engine.md"])
        self.assertEqual(self.faults({"src/a_test.cpp": "// D-01..D-03\n// numerics 7\nTEST(A, snap)"}), ["src/a_test.cpp: numerics 7 is no section of docs/spec/numerics.md"])
        for name in ("D_01_all", "N_1_2_snap", "F4_some_list"):
            self.assertEqual(self.faults({"src/a_test.cpp": f"// D-01..D-03\nTEST(A, {name})"}), [f"src/a_test.cpp: the name {name} begins like an id: ids belong in a comment"])
        twice = {"docs/spec/numerics.md": "### 1.2 Snap\n- **D-03** Again.\n"}
        self.assertIn("docs/spec/numerics.md:2: D-03 has an entry in docs/spec/engine.md:5 too", self.faults({"src/a.h": "D-01..D-03"}, twice))
        swapped = {"docs/spec/engine.md": "## 4. Types\n\n- **D-02** Two.\n- **D-01** One.\n"}
        self.assertIn("docs/spec/engine.md:4: D-01 comes after D-02", self.faults({"src/a.h": "D-01, D-02"}, swapped))


class Lists(unittest.TestCase):
    """Pages of this repository, each with one fault."""

    def rows(self):
        return check_docs.tables(os.path.join(check_lists.ROOT, check_lists.FORMATS))[0][2][1:]

    def models(self):
        return dict(check_docs.tables(os.path.join(check_lists.ROOT, check_lists.MODELS))[0][2][1:])

    def test_counts(self):
        known = {"losses": 12, "(?:numeric )?types": 21}
        self.assertEqual(list(check_lists.wrong_counts({"a.md": "12\nlosses, any of the 21 types, 14 types of it"}, known)), [])
        self.assertEqual(list(check_lists.wrong_counts({"a.md": "11 losses"}, known)), ['a.md: "11 losses": the code has 12'])
        self.assertEqual(len(list(check_lists.wrong_counts({"a.md": "any of the 20 types"}, known))), 1)

    def test_formats(self):
        rows = self.rows()
        self.assertEqual(list(check_lists.wrong_formats(rows)), [])
        for name, word in (("GGUF", "OutputKind::gguf"), ("ONNX", "src/io/onnx"), ("data sets", "src/data/csv"), ("pictures", "OutputKind::svg")):
            left = [row if not row[0].startswith(name) else ["x", *row[1:3], ""] for row in rows] if name != "ONNX" else [row[:3] + [row[3].replace("`src/io/onnx`", "")] for row in rows]
            self.assertIn(word, " ".join(check_lists.wrong_formats(left)))
        unwritten = [[*row[:2], "no", row[3]] for row in rows]
        self.assertIn("is not written", " ".join(check_lists.wrong_formats(unwritten)))
        older = [[row[0].replace("to 28", "to 27"), *row[1:]] for row in rows]
        self.assertIn("the row of ONNX", " ".join(check_lists.wrong_formats(older)))

    def test_models(self):
        page = self.models()
        self.assertEqual(list(check_lists.wrong_models(page)), [])
        for row, word, put in (("Weights in GGUF", "MXFP4", ""), ("Weights in GGUF", "MXFP4", "MXFP4, IQ4_NL"), ("Weights in safetensors", "BF16", ""),
                               ("Language models", "Mistral", ""), ("Processors", "NEON", "")):
            self.assertEqual(len(list(check_lists.wrong_models({**page, row: page[row].replace(word, put)}))), 1, (row, word))

    def test_recipes(self):
        rows = check_docs.tables(os.path.join(check_lists.ROOT, check_lists.ADDING))[0][2][1:]
        self.assertEqual(list(check_lists.wrong_recipes(rows)), [])
        self.assertEqual(list(check_lists.wrong_recipes([["x", "1", "3", "`src/NAME/a.h`"]])), ['docs/internals/adding.md, "x": 1 files and 1 listed ones, but 3 to be complete'])
        self.assertIn("no such file", list(check_lists.wrong_recipes([["x", "1", "2", "`src/gone.h`"]]))[0])

    def test_made_files(self):
        self.assertEqual(list(check_lists.unmarked()), [])
        files = {"a.h": "// Made by tools/a.py.\n", "b.h": "// Generated by tools/b.py.\n", "c.h": "// By hand.\n", ".gitattributes": "b.h linguist-generated\n"}
        with Tree(files) as root:
            self.assertEqual(list(check_lists.unmarked(root)), [".gitattributes: a.h is made by a tool and not marked as linguist-generated"])

    def test_sizes(self):
        self.assertEqual(list(check_lists.too_long({"README.md": "a " * 900, "docs/plan.md": "a\n" * 120})), [])
        self.assertEqual(list(check_lists.too_long({"README.md": "a " * 901, "docs/plan.md": "a\n" * 121})), ["README.md: 901 words, at most 900", "docs/plan.md: 121 lines, at most 120"])

    def test_kinds_and_absence(self):
        text = check_lists.read(check_lists.MODELS)
        self.assertEqual(list(check_lists.wrong_kinds(text)), [])
        self.assertEqual(len(list(check_lists.wrong_kinds(text.replace("kmeans", "means")))), 1)
        self.assertEqual(list(check_lists.wrong_absence("Apps for phones. See plan.md.")), [])
        self.assertEqual(len(list(check_lists.wrong_absence("Training on graphics cards."))), 1)


class Commits(unittest.TestCase):
    def faults(self, text):
        return list(check_commits.faults([("0123456789abcdef", text)]))

    def test_right_messages(self):
        for text in ("lm: encoders read JSON files", "README, run: the measured time", "ops/conv: tiles of 12\n\nWhy.\n", "a: " + 69 * "x"):
            self.assertEqual(self.faults(text), [])

    def test_faults(self):
        for text, said in (("wip", "expected `area"), ("Layout", "expected `area"), ("a : b", "expected `area"), ("a:b", "expected `area"), ("a: " + 70 * "x", "73 characters"),
                           ("a: b.", "full stop"), ("a: b\nc", "second line")):
            self.assertEqual(len(self.faults(text)), 1, text)
            self.assertIn(said.replace("\\", ""), self.faults(text)[0])


class CommandPage(unittest.TestCase):
    HELP = {
        "--help": """Loom.
Usage: loom [OPTIONS] [SUBCOMMAND]

Options:
  -h,--help   Print this help message and exit

Subcommands:
  run         Run a | b
""",
        "run --help": """Run a | b
Usage: loom run [OPTIONS] FILE [SUBCOMMAND]

Positionals:
  FILE TEXT REQUIRED          The file

Options:
  -h,--help                   Print this help message and exit
  -t,--threads INT:INT in [1 - 256]=2
                              Threads, as many as --all says
  --ids TEXT Excludes: --file Token ids: 1,2,3
  --max-memory UINT:SIZE [b, kb(=1024b), ...]=4G
                              Most bytes
  --pass TEXT:{forward,backward} ...
                              One of them
  --token TEXT (Env:LOOM_TOKEN)
                              A word

Subcommands:
  all         Run all

MODEL is a file.
""",
        "run all --help": "Run all\nUsage: loom run all [OPTIONS]\n\nOptions:\n  -h,--help                   Print this help message and exit\n",
    }

    def test_every_option_has_its_row(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "loom")
            cases = "".join(f"  '{arguments}') cat <<'END'\n{text}END\n    ;;\n" for arguments, text in self.HELP.items())
            with open(program, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\ncase "$*" in\n{cases}  *) exit 2 ;;\nesac\n')
            os.chmod(program, 0o700)
            page = command_page.page(program)
        for row in ("| `loom run` | Run a \\| b | [options](#loom-run) |", "| `loom run all` | Run all | [options](#loom-run-all) |", "## loom run\n", "### loom run all\n",
                    "    loom run [OPTIONS] FILE [SUBCOMMAND]\n", "| `FILE` | `TEXT`; required | The file |",
                    "| `-t`, `--threads` | `INT` from 1 to 256; default `2` | Threads, as many as --all says |",
                    "| `--ids` | `TEXT`; not with `--file` | Token ids: 1,2,3 |", "| `--max-memory` | `UINT` as 500M, 6G; default `4G` | Most bytes |",
                    "| `--pass` | `forward` or `backward` ... | One of them |", "| `--token` | `TEXT`; or the variable `LOOM_TOKEN` | A word |"):
            self.assertIn(row, page)
        self.assertEqual(page.count("--help"), 1, page)  # that of the marker


class PlainWords(unittest.TestCase):
    def words(self, name, text):
        return [word for _, word, _, _ in plain_words.places(name, text)]

    def test_words_of_pages(self):
        self.assertEqual(self.words("a.md", "It begins anew\nbehind the file, which lies there.\n"), ["anew", "behind", "lies", "there"])
        self.assertEqual(self.words("a.md", "| A | B |\n| --- | --- |\n| x | told of it |\n\n- Here:\n- It is to\n  be had\n"), ["tells", "here", "to be had"])
        self.assertEqual(self.words("a.md", "## There\n\nThe file is there, and so are you, behind.\n"), ["there", "there", "behind"])

    def test_words_that_do_not_count(self):
        for text in ("There is a file, and there are two: is there a third?", "`behind`, \"lies there\", [text](there.md), https://a.b/behind", "```\nanew\n```",
                     "java.lang.foreign, a/here, there_is, any_file, foreign(), TOLD", "It lies between 0 and 1.", "The words: here, come! and come here", "<!-- anew -->", "<!-- Made by tools/x.py. -->\n\nanew\n"):
            self.assertEqual(self.words("a.md", text), [], text)
        part = "<!-- names: made by tools/x.py -->\nanew\n<!-- end of names -->\n"
        self.assertEqual(self.words("a.md", part + "anew\n"), ["anew"])

    def test_openings(self):
        self.assertEqual(self.words("a.md", "It runs. What is new runs, too. Of the two\none runs.\n\nThe same for files.\n"), ["What ...", "Of the ...", "The same ..."])
        self.assertEqual(self.words("a.md", "Those that run. Whose use is high moves.\n"), ["Those that ...", "Whose ..."])
        self.assertEqual(self.words("a.md", "## What it does\n\nWhat does it do? The same seed gives the same bits.\n\n| What it is |\n| --- |\n| it |\n"), [])

    def test_sources(self):
        text = "// What a thing\n// lies in.\nint there = f(\"here\", \"not \"\n  \"here\", '\"', 1'000);  // anew\n/* told */\n/// It runs; the rest is\n/// behind it.\n"
        self.assertEqual(self.words("src/a.cpp", text), ["What ...", "lies", "here", "anew", "tells", "behind"])
        self.assertEqual(self.words("src/a_test.cpp", text), ["What ...", "lies", "anew", "tells", "behind"])
        text = '"""What it does.\n\n    Told."""\nthere = f"{here} is here"  # anew\nx = "a" "b behind"\n'
        self.assertEqual(self.words("python/a.py", text), ["What ...", "tells", "here", "anew", "behind"])
        self.assertEqual(self.words("api/a.json", '{"here": "behind", "help": "it lies behind"}'), ["lies", "behind"])
        self.assertEqual(self.words("bindings/a.c", "/* Made by tools/x.py. */ // anew\n"), [])

    def test_folders(self):
        names = ("README.md", "docs/a.md", "docs/guide/a.md", "src/a/b/c.h", "src/CMakeLists.txt", "tools/bindings/a.py", "python/welvet/a.py", "tests/a.py", "tools/a.py", "src/a/golden/b.h")
        self.assertEqual([plain_words.folder_of(n) for n in names], ["README.md", "docs", "docs/guide", "src/a", "src", "bindings", "python", None, None, None])

    def test_an_allowance_only_falls(self):
        place = ("docs/a.md", 3, "anew", "again", "It begins anew.")
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "tools"))

            def write(text):
                with open(os.path.join(root, plain_words.ALLOWANCES), "w", encoding="utf-8") as file:
                    file.write("folder\tallowed\n" + text)

            self.assertIn('docs: 1 words or openings to avoid, 0 allowed: docs/a.md:3: "anew" (write: again)', plain_words.faults(root, {"docs": [place]})[0])
            write("docs\t1\n")
            self.assertEqual(plain_words.faults(root, {"docs": [place]}), [])
            self.assertIn("2 words or openings to avoid, 1 allowed", plain_words.faults(root, {"docs": 2 * [place]})[0])
            plain_words.lower(root, {"docs": 2 * [place], "src/a": [place]})
            self.assertEqual(plain_words.allowances(root), {"docs": 1})
            self.assertIn("0 words or openings to avoid, 1 allowed: lower it", plain_words.faults(root, {})[0])
            plain_words.lower(root, {})
            self.assertEqual(plain_words.faults(root, {}), [])

    def test_places_since_a_revision(self):
        with Tree({"docs/a.md": "It begins anew.\n", "docs/b.md": "x\n"}) as root:
            git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
            for arguments in (["add", "-A"], ["commit", "-qm", "a: b"]):
                subprocess.run([*git, *arguments], cwd=root, check=True)
            with open(os.path.join(root, "docs/a.md"), "a", encoding="utf-8") as file:
                file.write("It ends behind it. It begins anew.\n")
            self.assertEqual([place[:3] for place in plain_words.new_since(root, "HEAD")], [("docs/a.md", 1, "behind"), ("docs/a.md", 1, "anew")])
            with self.assertRaises(SystemExit):
                list(plain_words.new_since(root, "gone"))

    def test_the_check_of_the_pages_runs_it(self):
        self.assertIn("README.md: 1 words or openings to avoid, 0 allowed", faults_of("It begins anew.")[0])


class Decisions(unittest.TestCase):
    GOOD = "# Title\n\nSubject: Numbers\n\nReason.\n"

    def faults(self, files):
        return decision_index.decisions(files)[1]

    def test_faults(self):
        self.assertEqual(self.faults({"001-a.md": self.GOOD, "002-b-c.md": self.GOOD}), [])
        self.assertIn("expected the number 002", self.faults({"001-a.md": self.GOOD, "003-b.md": self.GOOD})[0])
        self.assertIn("expected the number 002", self.faults({"001-a.md": self.GOOD, "001-b.md": self.GOOD})[0])
        self.assertIn("expected a name", self.faults({"1-a.md": self.GOOD})[0])
        self.assertIn("unknown subject", self.faults({"001-a.md": self.GOOD.replace("Numbers", "Weather")})[0])
        self.assertIn("expected \"# Title\"", self.faults({"001-a.md": "Title\n"})[0])

    def test_the_index_lists_by_subject(self):
        found, _ = decision_index.decisions({"001-a.md": self.GOOD})
        self.assertIn("## Numbers\n\n- 001 [Title](001-a.md)\n", decision_index.index(found))


class JoinedCorpus(unittest.TestCase):
    def test_every_input_is_in_one_file_and_files_are_short(self):
        inputs = [b"%d" % i * (i % 90 + 1) for i in range(300)] + [b"", b"x" * 5000, b"a\xffb\xffa"]
        texts = join_corpus.joined(inputs)
        self.assertLess(len(texts), 12)
        parts = [part for text in texts for part in text.split(b"\xff")]
        self.assertEqual(sorted(parts), sorted({part for text in inputs for part in text.split(b"\xff")}))
        self.assertEqual([len(text) for text in texts if len(text) > join_corpus.LONGEST], [5000])
        self.assertEqual(join_corpus.joined(texts), texts)

    def test_the_corpus_is_small(self):
        corpus = pathlib.Path(plain_words.ROOT, "fuzz/corpus")
        self.assertLessEqual(sum(file.is_file() for file in corpus.rglob("*")), 150)


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Patience(unittest.TestCase):
    def run_with(self, script, **environment):
        plain = {name: value for name, value in os.environ.items() if name != "LOOM_PATIENCE_MS"}
        return subprocess.run(["node", *script], cwd=plain_words.ROOT, env=plain | environment, capture_output=True,
                              text=True)

    def test_milliseconds_are_those_of_the_variable(self):
        ask = ["--input-type=module", "-e", "import { patienceMs } from './tools/patience.mjs'; console.log(patienceMs(7))"]
        self.assertEqual(self.run_with(ask).stdout, "7\n")
        self.assertEqual(self.run_with(ask, LOOM_PATIENCE_MS="2500").stdout, "2500\n")

    def test_others_are_refused_by_whoever_waits(self):
        for text in ("", "0", "-5", "2.5", "soon", "9999999999"):
            done = self.run_with(["tools/web_table.mjs", "--only", "none"], LOOM_PATIENCE_MS=text)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'LOOM_PATIENCE_MS is "{text}": expected milliseconds', done.stderr)


if __name__ == "__main__":
    unittest.main()
