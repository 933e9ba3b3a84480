#!/usr/bin/env python3
"""Starts processes of one world on different targets, passes inputs between them and compares a hash of every tick.

  run.py                                        10 000 ticks of 200 characters: C++, Python and Node where they are built
  run.py --ticks 200 --peer cpp --peer python   these two alone
  run.py --peer arm="qemu-aarch64-static -L /usr/aarch64-linux-gnu build/aarch64/bin/example_lockstep"
  run.py --flip python:57:12:layers.1.weight:3:20   provokes a desync, which `compare` then names

Every process is given PORT FOLDER NAME and connects to 127.0.0.1:PORT. Exits with 0 if all hashes are equal, with 3 after a
desync, with 1 if a process fails, with 77 if fewer than two can be started.
"""

import argparse
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PATIENCE = 600  # seconds without a word of a process


def known_peers():
    """Returns (name, command) of the processes that this build can start, and why others cannot."""
    build = pathlib.Path(os.environ.get("LOOM_BUILD", ROOT / "build"))
    library = os.environ.get("WELVET_LIBRARY") or build / "libloom.so"
    wasm = pathlib.Path(os.environ.get("LOOM_WASM") or build / "wasm/bin") / "loom.wasm"
    cpp, python = build / "bin/example_lockstep", os.environ.get("LOOM_PYTHON", sys.executable)
    found, missing = {}, {}
    if cpp.is_file():
        found["cpp"] = [str(cpp)]
    else:
        missing["cpp"] = f"there is no {cpp}"
    if pathlib.Path(library).is_file():
        found["python"] = [python, "-B", str(HERE / "peer.py")]
    else:
        missing["python"] = f"there is no {library}"
    if shutil.which("node") is None:
        missing["node"] = "node is not installed"
    elif wasm.is_file():
        found["node"] = ["node", str(HERE / "peer.mjs"), "--wasm", str(wasm)]
    elif has_koffi() and pathlib.Path(library).is_file():
        found["node"] = ["node", str(HERE / "peer.mjs")]
    else:
        missing["node"] = f"there is no {wasm}, and no package koffi for the native library"
    return found, missing, {"WELVET_LIBRARY": str(library), "PYTHONPATH": str(ROOT / "python")}


def has_koffi():
    look = "require.resolve('koffi')"
    return subprocess.run(["node", "-e", look], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Peer:
    """A process and its connection."""

    def __init__(self, name, command, port, folder, environment, flip):
        more = ["--flip", flip] if flip else []
        self.name, self.right = name, None
        self.errors = open(folder / f"{name}.err", "w+", encoding="utf-8")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([*command, str(port), str(folder), name, *more], env={**os.environ, **environment},
                                        stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        self.connection = self.lines = None

    def say(self, *words):
        self.connection.sendall((" ".join(map(str, words)) + "\n").encode())

    def hear(self, *expected):
        """Returns the next words, which begin with the expected ones."""
        words = self.lines.readline().split()
        if words[:len(expected)] != [str(word) for word in expected]:
            raise ConnectionError(f"{self.name} said {' '.join(words) or 'nothing more'}, expected {expected[0]}")
        return words[len(expected):]


class Relay:
    """The meeting point: collects the inputs of a tick from every process and gives all of them to each."""

    def __init__(self, peers, ticks, characters):
        self.peers, self.ticks, self.characters = peers, ticks, characters

    def accept(self, server):
        """Waits until every process has said hello."""
        waiting = {peer.name: peer for peer in self.peers}
        until = time.monotonic() + PATIENCE
        while waiting:
            ended = [peer.name for peer in waiting.values() if peer.process.poll() is not None]
            if ended or time.monotonic() > until:
                raise ConnectionError(f"{', '.join(ended or waiting)} did not connect")
            try:
                connection, _ = server.accept()
            except socket.timeout:
                continue
            connection.settimeout(PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lines = connection.makefile("r", encoding="ascii", newline="\n")
            words = lines.readline().split()
            peer = waiting.pop(words[1], None) if len(words) == 2 and words[0] == "hello" else None
            if peer is None:
                connection.close()
                continue
            peer.connection, peer.lines = connection, lines
        for place, peer in enumerate(self.peers):
            peer.say("start", place, len(self.peers), self.ticks, self.characters)

    def run(self):
        """Returns the last tick's hash, or None after a desync; the tick; and the hashes by process."""
        for tick in range(self.ticks + 1):
            is_end = tick == self.ticks
            said = [peer.hear("end" if is_end else "tick", tick) for peer in self.peers]
            hashes = {peer.name: words[0] for peer, words in zip(self.peers, said)}
            if len(set(hashes.values())) > 1:
                for peer in self.peers:
                    peer.say("desync", tick - 1)
                return None, tick - 1, hashes
            for peer in self.peers:
                peer.say("equal") if is_end else peer.say("go", *(words[1] for words in said))
        for peer, words in zip(self.peers, said):
            peer.right = int(words[1])
        return said[0][0], self.ticks - 1, hashes


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=10000)
    parser.add_argument("--characters", type=int, default=200)
    parser.add_argument("--peer", action="append", metavar="NAME[=COMMAND]", default=[])
    parser.add_argument("--flip", metavar="PEER:TICK:CHARACTER:WEIGHT:INDEX:BIT", help="flip one bit of a weight in one process")
    parser.add_argument("--folder", type=pathlib.Path, help="keep logs and states in this folder")
    return parser.parse_args()


def chosen_peers(options):
    found, missing, environment = known_peers()
    peers = []
    for text in options.peer or [*found, *missing]:
        name, _, command = text.partition("=")
        if command:
            peers.append((name, shlex.split(command)))
        elif name in found:
            peers.append((name, found[name]))
        else:
            print(f"left out: {name}: {missing.get(name, 'unknown: give NAME=COMMAND')}")
    return peers, environment


def play(options, folder):
    peers, environment = chosen_peers(options)
    if len(peers) < 2:
        print("skipped: a lockstep takes at least two processes")
        return 77
    flipped, _, flip = (options.flip or "").partition(":")
    if flipped and flipped not in dict(peers):
        print(f"--flip: {flipped} is none of {', '.join(dict(peers))}")
        return 1
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        port = server.getsockname()[1]
        started = []
        try:
            for name, command in peers:
                started.append(Peer(name, command, port, folder, environment, flip if name == flipped else None))
            relay = Relay(started, options.ticks, options.characters)
            begin = time.monotonic()
            relay.accept(server)
            digest, tick, hashes = relay.run()
            codes = [peer.process.wait(PATIENCE) for peer in started]
        except (OSError, ConnectionError) as error:
            for peer in started:
                peer.process.kill()
                peer.process.wait()
                peer.errors.seek(0)
                print(f"{peer.name}: {peer.errors.read()}", end="")
            print(f"failed: {error}")
            return 1
        finally:
            for peer in started:
                peer.errors.close()
    if digest is None:
        print(f"desync in tick {tick}")
        for name, value in hashes.items():
            print(f"  {name:10} {value}")
        return 3
    if any(codes):
        print(f"failed: exit codes {codes}")
        return 1
    print(f"{options.ticks} ticks of {options.characters} characters in {', '.join(hashes)}: {time.monotonic() - begin:.0f} s")
    print(f"{started[0].right} of {options.characters} did what they were taught in the last tick")
    print(f"hash {digest}")
    return 0


def main():
    options = read_options()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        for pattern in ("*.ticks", "*.state.json", "*.err"):  # of an earlier run
            for path in options.folder.glob(pattern):
                path.unlink()
        return play(options, options.folder.resolve())
    with tempfile.TemporaryDirectory() as folder:
        return play(options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
