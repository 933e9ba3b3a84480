"""examples/c/own_kind.c: a layer kind of the host's own learns, is saved and read, with one digest however it runs.

  own_kind.py PROGRAM
"""

import pathlib
import subprocess
import sys
import tempfile


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        file = str(pathlib.Path(folder, "net.entity"))
        for dtype, most in (("float32", 0.01), ("int8", 0.05), ("ternary", 0.69)):
            digests = set()
            for more in ((), ("1",), ("2",), ("1", "scalar"), ("2", "scalar")):
                code, out, err = run(program, file, dtype, *more)
                print(dtype, *more, out, err)
                lines = dict(line.split(" ", 1) for line in out.splitlines())
                if code or lines["trained"] != lines["loaded"] or lines["trained"] == lines["before"]:
                    return f"{dtype}: {code}"
                loss = float(lines["loss"].split()[-1])
                if not loss < most:
                    return f"{dtype}: a loss of {loss}, expected less than {most}"
                digests.add(lines["trained"])
            if len(digests) != 1:
                return f"{dtype}: {digests}"
        code, out, err = run(program, file, "no_type")
        if code != 1 or "no_type" not in err:
            return f"an unknown type: {code} {err}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
