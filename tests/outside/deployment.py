"""The files of packaging/: the command of the systemd unit and that of the image start, answer /health and end in order.

usage: deployment.py LOOM
systemd-analyze checks the unit where it is installed. No image is built: the archive of tools/release, whose program the image holds, is
started in an empty root by release.py.
"""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LOOM = os.path.abspath(sys.argv[1])
MODEL = os.path.join(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")


def answer(command, key=None):
    """Starts the command with a free port, asks /health and /v1/models, and ends it by SIGTERM."""
    port = command.index("--port") + 1
    command = [*command[:port], "0", *command[port + 1:], "--json", "-t", "1"]
    environment = {**os.environ, "LOOM_API_KEY": key} if key else {k: v for k, v in os.environ.items() if k != "LOOM_API_KEY"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    said = ""
    while not said.rstrip().endswith("}"):
        line = server.stdout.readline()
        if not line:
            return server.wait(60), server.stderr.read()
        said += line
    url = json.loads(said)["url"].replace("0.0.0.0", "127.0.0.1")
    request = urllib.request.Request(url + "/models", headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=60) as response:
        assert json.load(response)["data"][0]["owned_by"] == "loom"
    if key:
        try:
            urllib.request.urlopen(url + "/models", timeout=60)
            raise AssertionError("a request without the key is answered")
        except urllib.error.HTTPError as error:
            assert error.code == 401, error
    server.send_signal(signal.SIGTERM)
    status = server.wait(60)
    return status, server.stderr.read()


def check_unit():
    text = (SOURCE / "packaging/loom.service").read_text()
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    command = shlex.split(line.removeprefix("ExecStart="))
    assert command[:3] == ["/usr/local/bin/loom", "serve", "/var/lib/loom/model.gguf"], command
    status, error = answer([LOOM, "serve", MODEL, *command[3:]])
    assert status == 0, (status, error)
    if shutil.which("systemd-analyze") is None:
        return "systemd-analyze is not installed: the unit was not read by it"
    with tempfile.TemporaryDirectory() as folder:
        unit = os.path.join(folder, "loom.service")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/local/bin/loom", LOOM))
        done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "loom.service" not in done.stderr, (done.returncode, done.stderr)
    return "systemd-analyze takes the unit"


def check_image():
    lines = dict(line.split(" ", 1) for line in (SOURCE / "packaging/Dockerfile").read_text().splitlines() if line and line[0] != "#")
    assert lines["FROM"] == "scratch"
    entry, rest = json.loads(lines["ENTRYPOINT"]), json.loads(lines["CMD"])
    assert entry == ["/loom", "serve"] and rest[0] == "/model.gguf", (entry, rest)
    command = [LOOM, "serve", MODEL, *rest[1:]]
    status, error = answer(command, key="secret")
    assert status == 0, (status, error)
    status, error = answer(command)  # an address that other computers reach needs a key
    assert status == 2 and "--api-key" in error and error.count("\n") == 1, (status, error)
    return "the command of the image needs a key and answers with it"


for check in (check_unit, check_image):
    print(check())
