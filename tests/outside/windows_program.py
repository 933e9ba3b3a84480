"""The program of Windows under Wine: its values, its servers, deep folders, saves onto a mapped file, closed streams.

    windows_program.py LOOM_EXE [MODEL]     after tools/build_all --target x86_64-windows; by hand, since such a build takes long

MODEL: SmolLM2, whose answer is then asked for by loom generate and by loom serve. Exit 77 where there is no Wine: skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WINE = shutil.which("wine64") or "/usr/lib/wine/wine64"
QUESTION = "What is the capital of France?"
GOLDEN = re.search(r'kGoldenDigest\s*=\s*"([0-9a-f]{64})"', "".join(path.read_text("utf-8") for path in (ROOT / "src/verify").glob("golden_*")))[1]
ANSWER = "99554f0d"  # of the README
PATIENCE = 300


def expect(condition, what):
    if not condition:
        raise SystemExit(f"expected {what}")
    print(f"ok: {what}", flush=True)


def shown(code, errors):
    return f": {errors.strip()[-400:]}" if code else ""


class Windows:
    """Starts the program in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder
        # Without the parts that a first start of Wine would install for .NET and HTML.
        self.environment = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe="}

    def start(self, *arguments, **more):
        return subprocess.Popen([WINE, self.program, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True, encoding="utf-8",
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def run(self, *arguments, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def end(self):
        subprocess.run([shutil.which("wineserver") or "/usr/lib/wine/wineserver64", "-k"], env=self.environment, capture_output=True, check=False)


def get(url, body=None):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return reply.read()


def values(windows):
    code, out, err = windows.run("verify", "--report", "--json")
    expect(code == 0 and json.loads(out)["digest"] == GOLDEN, f"the golden digest{shown(code, err)}")


def files(windows):
    """A network in a folder of more than 260 characters, converted onto itself while it is mapped."""
    deep = pathlib.Path(*["a folder with a long name, rün"] * 12)
    (windows.folder / deep).mkdir(parents=True)
    network = deep / "größe.entity"
    expect(len(str(network)) > 260, "a path of more than 260 characters")
    (windows.folder / deep / "spec.json").write_text('{"layers": [{"type": "dense", "input_height": 64, "output_height": 64}]}')
    code, _, err = windows.run("convert", deep / "spec.json", network, "-q")
    expect(code == 0 and (windows.folder / network).exists(), f"a network to be written there{shown(code, err)}")
    (windows.folder / deep / "spec.json").unlink()
    for _ in range(2):
        code, _, err = windows.run("convert", network, network, "--overwrite", "-q")
        expect(code == 0, f"a network to be converted onto itself{shown(code, err)}")
    left = [path.name for path in (windows.folder / deep).iterdir()]
    expect(len(left) <= 2 and "größe.entity" in left, f"one file that the last save has replaced at most, got {left}")
    code, _, err = windows.run("inspect", deep / "none.entity")
    expect(code != 0 and "none.entity" in err, f"a missing file to be named: {err.strip()}")


def streams(windows):
    """Standard streams that are closed, or whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    code, _, _ = windows.run("verify", "--report", "--json", stdout=writer)
    os.close(writer)
    expect(code not in (0, None) and code < 128, f"a reader that has gone to be an error, got {code}")
    code, _, err = windows.run("--help", stdin=subprocess.DEVNULL)
    expect(code == 0, f"no standard input{shown(code, err)}")


def served(windows, *arguments):
    """Starts a server and returns it and its address."""
    process = windows.start(*arguments, "--port", "0", stderr=subprocess.DEVNULL)
    line = process.stdout.readline()
    return process, line.strip()


def servers(windows, model):
    web = windows.folder / "söme/web"
    shutil.copytree(ROOT / "web", web)
    (web.parent / "js/src/wasm").mkdir(parents=True)
    shutil.copy(ROOT / "js/src/wasm/core.js", web.parent / "js/src/wasm")
    (web / "wasm").mkdir()
    (web / "wasm/loom-lm.wasm").write_bytes(b"\0asm")
    page, url = served(windows, "page", "--web", "söme/web")
    expect(url.startswith("http://127.0.0.1:"), f"the address of the page, got {url}")
    expect(b"<html" in get(url).lower() and get(url + "wasm/loom-lm.wasm") == b"\0asm", "the page and its module")
    port = re.search(r":(\d+)", url)[1]
    code, _, err = windows.run("page", "--web", "söme/web", "--port", port)
    expect(code != 0 and "the port is in use" in err, f"a second server at the port to be refused: {err.strip()}")
    page.kill()
    if not model:
        return
    code, out, err = windows.run("generate", "-m", model, "-p", QUESTION, "--json")
    expect(code == 0 and json.loads(out)["hash"].startswith(ANSWER), f"the README's answer{shown(code, err)}")
    server, url = served(windows, "serve", model)
    name = json.loads(get(url + "/models"))["data"][0]["id"]
    body = {"model": name, "messages": [{"role": "user", "content": QUESTION}], "temperature": 0}
    reply = json.loads(get(url + "/chat/completions", body))
    expect("Paris" in reply["choices"][0]["message"]["content"], "an answer of loom serve")
    pieces = get(url + "/chat/completions", {**body, "stream": True}).decode()
    expect(pieces.count("data: ") > 5 and pieces.rstrip().endswith("data: [DONE]"), "an answer piece by piece")
    server.kill()


def main():
    if not os.path.exists(WINE):
        print(f"skipped: {WINE} does not exist")
        return 77
    program, *model = (pathlib.Path(p).resolve() for p in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        windows = Windows(program, pathlib.Path(name))
        try:
            begin = time.monotonic()
            values(windows)
            files(windows)
            streams(windows)
            servers(windows, f"Z:{model[0]}" if model else None)  # a word that begins with / is taken for an option on Windows
            print(f"{time.monotonic() - begin:.0f} s")
        finally:
            windows.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
