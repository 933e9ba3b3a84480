"""tools/digest_matrix without any build: rows that cannot run say so, a column with two values fails, a wrong file is named."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("digest_matrix", str(ROOT / "tools/digest_matrix"))
digest_matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("digest_matrix", loader))
loader.exec_module(digest_matrix)

ROW = {"version": "0.1.0", "numerics_version": 2, "target": "x86_64-linux", "compiler": "GCC 12.2.0", "cpu": "A | <b>CPU</b>", "isa": "avx2",
       "threads": 4, "digest": "aa" * 32, "answer": None, "training_steps": "bb" * 32, "pass": True}


def matrix(folder, *options):
    builds = [f"--build={name}={folder}/none" for name in ("native", "clang", "aarch64", "wasm", "all")]
    done = subprocess.run([sys.executable, "-B", ROOT / "tools/digest_matrix", *builds, *options], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done


def expect(condition, what):
    if not condition:
        raise SystemExit(f"expected {what}")


def check_kept_rows():
    """A part of the rows leaves the page's other rows as they are; all rows leave those that were sent in."""
    first = {"digest": "aa" * 32, "training_steps": "bb" * 32, "how": "loom"}
    sent = ("aarch64-linux, neon, a CPU (sent in)", first)
    begin, end = digest_matrix.BEGIN, digest_matrix.END
    page = f"{begin}\n\n{digest_matrix.table([('C', first), ('Go', {'not_run': 'no go', 'how': 'ask.go'}), ('gone', first), sent])}\n{end}"
    lines, values = digest_matrix.read_page(page)
    expect(list(lines) == ["C", "Go", "gone", sent[0]] and values == {"digest": "aa" * 32, "training_steps": "bb" * 32}, f"rows and values of a page: {lines}")
    names, computed = ["C", "Python", "Go"], [("Python", {"digest": "aa" * 32, "how": "welvet"})]
    shown, known = digest_matrix.with_kept(computed, names, page, True)
    made = digest_matrix.table(shown, known)
    expect([name for name, _ in shown] == ["C", "Python", "Go", sent[0]], "a part of the rows beside those of the page, without one that is gone")
    expect(all(lines[name] in made for name in ("C", "Go", sent[0])), "kept rows as they were")
    expect("| Python |  | welvet | equal | not run | not run | not run |" in made and f"| 500 training steps | `{'bb' * 32}` |" in made, "values of kept rows")
    expect([name for name, _ in digest_matrix.with_kept(computed, names, page, False)[0]] == ["Python", sent[0]], "a whole run to keep what was sent in alone")
    try:
        digest_matrix.with_kept([("Python", {"digest": "ab" * 32})], names, page, True)
    except ValueError as error:
        expect("Python: digest is abab" in str(error) and "run every row" in str(error), "the value that differs to be named")
    else:
        expect(False, "a part with another value than the page's to be refused")


def main():
    check_kept_rows()
    with tempfile.TemporaryDirectory() as folder:
        def file(name, row):
            path = pathlib.Path(folder, name)
            path.write_text(json.dumps(row), "utf-8")
            return f"--add={path}"

        same = file("one.json", ROW), file("two.json", {**ROW, "isa": "neon", "target": "aarch64-linux", "answer": "cc" * 32})
        done = matrix(folder, *same)
        expect(done.returncode == 0, "equal rows to pass")
        lines = done.stdout.splitlines()
        expect(sum("not run: there is no" in line for line in lines) >= 8, "rows without a build to say so")
        sent = [line for line in lines if "sent in" in line]
        expect(len(sent) == 2 and sent[0].count("|") == 8 and "<b>" not in sent[0], "the processor's name without marks of a table")
        expect(sent[0].endswith("| equal | not run | not run | equal |"), "a row of what was computed")
        expect(sent[1].endswith("| equal | not run | equal | equal |"), "a row with an answer")
        other = matrix(folder, *same, file("three.json", {**ROW, "isa": "scalar", "digest": "ad" * 32}))
        expect(other.returncode == 1 and "digest has 2 values" in other.stderr and "DIFFERS" in other.stdout, "two digests to fail")
        part = matrix(folder, *same, file("five.json", {**ROW, "isa": "sse4", "answer": "cc" * 8}))
        expect(part.returncode == 0 and part.stdout.count("| equal | not run | equal | equal |") == 2, "16 digits of a hash to count as equal")
        other = matrix(folder, *same, file("six.json", {**ROW, "isa": "sse4", "answer": "cd" * 8}))
        expect(other.returncode == 1 and "answer has 2 values" in other.stderr, "16 other digits to fail")
        wrong = matrix(folder, file("four.json", {"digest": "aa" * 32}))
        expect(wrong.returncode == 1 and "four.json: no target" in wrong.stderr, "a file that is no row to be named")


if __name__ == "__main__":
    main()
