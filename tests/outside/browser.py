"""The golden set by WebAssembly and navigator.gpu: its lines are those of tests/determinism/*.tsv.

  browser.py driver                        js/src/abi/loom_gpu.js by itself, by Dawn in node (tools/npm_packages.sh)
  browser.py node PROGRAM.wasm [N]         every N-th network, by Dawn in node
  browser.py chromium PROGRAM.wasm [N]     the page examples/browser, in Chromium without a window; --screenshot FILE keeps a picture of it
  browser.py serve PROGRAM.wasm            the page, for a browser of your own

Vulkan is that of VK_DRIVER_FILES, or else SwiftShader, which comes with Chromium. A missing program ends the test with 77, which CTest shows as skipped.
"""

import argparse
import functools
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SWIFTSHADER = ["/usr/lib/chromium/vk_swiftshader_icd.json", "/usr/lib64/chromium-browser/vk_swiftshader_icd.json"]
NO_VULKAN = "no Vulkan driver that WebGPU takes: VK_DRIVER_FILES names one"
SKIPPED = 77


class Missing(Exception):
    """A program that this machine does not have."""


def tool(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise Missing(f"none of {', '.join(names)} is installed")


def known_lines():
    return {line for table in ("hashes", "training") for line in (ROOT / f"tests/determinism/{table}.tsv").read_text().splitlines()}


def judge(output):
    """The lines that the program printed, and its own verdict over them."""
    if "there is no graphics adapter" in output:
        raise Missing(NO_VULKAN)
    lines = [line for line in output.splitlines() if "\t" in line]
    strange = [line for line in lines if line not in known_lines()]
    if strange:
        raise SystemExit(f"{len(strange)} lines are not in the tables:\n" + "\n".join(strange[:5]))
    verdict = re.search(r"^PASS  ([0-9a-f]{64})$", output, re.M)
    digest = hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
    if not lines or not verdict or verdict[1] != digest:
        raise SystemExit(f"{output[-2000:]}\nexpected PASS with {digest} over {len(lines)} lines")
    print("\n".join(line for line in output.splitlines() if line and "\t" not in line))


def by_dawn(*words):
    """Returns the output of node with these arguments."""
    command = [tool("node"), "--no-warnings", *words]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = pathlib.Path(os.environ.get("LOOM_NPM") or cache / "loom/npm")
    if not (folder / "node_modules/webgpu").exists():
        raise Missing(f"{folder} has no npm package webgpu: tools/npm_packages.sh installs it")
    driver = os.environ.get("VK_DRIVER_FILES") or next(filter(os.path.exists, SWIFTSHADER), "")
    environment = {"LOOM_NPM": str(folder), "VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver, "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "/tmp")}
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    return done.stdout + done.stderr


def driver(*_):
    output = by_dawn(ROOT / "tests/outside/gpu_driver.mjs")
    if "there is no graphics adapter" in output:
        raise Missing(NO_VULKAN)
    if not re.search("^PASS$", output, re.M):
        raise SystemExit(output)


def node(program, one_in, _):
    judge(by_dawn(ROOT / "tools/run_wasm_gpu.mjs", program, one_in))


class Server(http.server.SimpleHTTPRequestHandler):
    """The sources, the program as /program.wasm, and what a page reports."""

    report, come = "", threading.Event()

    def __init__(self, program, *arguments, **named):
        self.program = program
        super().__init__(*arguments, directory=str(ROOT), **named)

    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def translate_path(self, path):
        return str(self.program) if path == "/program.wasm" else super().translate_path(path)

    def guess_type(self, path):
        return "application/wasm" if path == str(self.program) else super().guess_type(path)

    def do_GET(self):
        if self.path != "/hold":
            return super().do_GET()
        Server.come.wait()
        self.send_error(404)
        return None

    def do_POST(self):
        Server.report = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Server.come.set()
        self.send_response(204)
        self.end_headers()


Server.extensions_map = {**Server.extensions_map, ".js": "text/javascript"}


def serve(program, port):
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Server, pathlib.Path(program).resolve()))


def address(server, **query):
    return f"http://127.0.0.1:{server.server_address[1]}/examples/browser/?" + urllib.parse.urlencode({"program": "/program.wasm", **query})


def chromium(program, one_in, screenshot):
    browser = tool("chromium", "chromium-browser", "google-chrome")
    server = serve(program, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flags = ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu-watchdog", "--enable-unsafe-webgpu", "--enable-features=Vulkan", "--use-webgpu-adapter=swiftshader"]
    with tempfile.TemporaryDirectory() as folder:
        picture = [f"--screenshot={screenshot}", "--window-size=1000,900"] if screenshot else ["--remote-debugging-port=0"]
        hold = {"hold": ""} if screenshot else {}
        command = [browser, *flags, f"--user-data-dir={folder}/profile", *picture, address(server, arg=one_in, report="", **hold)]
        with open(f"{folder}/log", "w+") as log:
            running = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            try:
                if not Server.come.wait(timeout=3000):
                    raise SystemExit("the page did not report: " + pathlib.Path(f"{folder}/log").read_text()[-2000:])
                if screenshot:
                    running.wait(timeout=60)
            finally:
                running.terminate()
                running.wait()
    judge(Server.report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["driver", "node", "chromium", "serve"])
    parser.add_argument("program", type=pathlib.Path, nargs="?")
    parser.add_argument("one_in", type=int, nargs="?", default=1)
    parser.add_argument("--screenshot")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and so does the browser
    if given.program is None and given.way != "driver":
        parser.error("which program?")
    if given.way == "serve":
        server = serve(given.program, 8000)
        print(address(server, arg=given.one_in))
        server.serve_forever()
    try:
        {"driver": driver, "node": node, "chromium": chromium}[given.way](given.program, given.one_in, given.screenshot)
    except Missing as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
