"""The scripts of this folder share this module: it runs the program, holds every run to the rules below, and makes temporary folders.

The rules of a run (docs/reference/commands.md, "Exit codes"; SECURITY.md): it ends by itself with one of the documented codes, says what is wrong in one line that
begins "loom: " and names the file, takes no more time and memory than its input is worth, and leaves no temporary file.
"""

import argparse
import dataclasses
import os
import resource
import shutil
import signal
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_LINE = 1500
STOP_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ]
WALL_LIMIT = 120.0  # what waits without computing; a busy machine stays far below it


@dataclasses.dataclass
class Outcome:
    status: int  # exit code, or minus the signal
    out: bytes
    err: str
    cpu: float  # seconds of this run alone, whatever runs beside it
    peak: int  # bytes resident
    timed_out: bool = False

    def lines(self):
        """Returns the lines of stderr but for warnings and the first line of a training."""
        return [line for line in self.err.split("\n") if line and not line.startswith("loom: warning: ") and " parameters, " not in line]


@dataclasses.dataclass
class Limits:
    """These limits hold for one run. None leaves a limit as this process has it."""

    cpu: int = 10  # processor seconds
    memory: int | None = None  # bytes of address space
    file: int | None = None  # bytes of a file
    files: int | None = None  # open at once


class TimeUp(Exception):
    pass


def time_up(*_):
    raise TimeUp


class Program:
    """The program under test. Its streams are files of a folder of its own, so that no run can stall on a full pipe."""

    def __init__(self, path):
        self.path = str(Path(path).resolve())
        self.streams = tempfile.mkdtemp(prefix="loom-streams-")
        signal.signal(signal.SIGALRM, time_up)

    def close(self):
        shutil.rmtree(self.streams, ignore_errors=True)

    def start(self, args, folder, stdin=b"", limits=Limits(), environment=None, stdout=None, stderr=None):
        """A process id. `stdout`, `stderr`: a path, a descriptor or "closed"; otherwise Outcome has the bytes."""
        names = [os.path.join(self.streams, name) for name in ("in", "out", "err")]
        for name, data in zip(names, (stdin, b"", b"")):
            Path(name).write_bytes(data)
        actions = [(os.POSIX_SPAWN_OPEN, 0, names[0], os.O_RDONLY, 0)]
        for fd, name in ((1, stdout or names[1]), (2, stderr or names[2])):
            if name == "closed":
                actions.append((os.POSIX_SPAWN_CLOSE, fd))
            elif isinstance(name, int):
                actions.append((os.POSIX_SPAWN_DUP2, name, fd))
            else:
                actions.append((os.POSIX_SPAWN_OPEN, fd, name, os.O_WRONLY, 0))
        command = [self.path, *map(str, args)]
        if limits.memory is not None:  # too little for this process to spawn anything
            command = ["/bin/sh", "-c", f'ulimit -v {limits.memory // 1024}; exec "$0" "$@"', *command]
        # Soft limits, which the child inherits and this process takes back.
        wanted = {kind: value for kind, value in ((resource.RLIMIT_FSIZE, limits.file), (resource.RLIMIT_NOFILE, limits.files)) if value is not None}
        before = {kind: resource.getrlimit(kind) for kind in wanted}
        here = os.getcwd()
        os.chdir(folder)
        try:
            for kind, value in wanted.items():
                resource.setrlimit(kind, (value, before[kind][1]))
            pid = os.posix_spawn(command[0], command, {**os.environ, **(environment or {})}, file_actions=actions, setsigdef=STOP_SIGNALS)
        finally:
            for kind, value in before.items():
                resource.setrlimit(kind, value)
            os.chdir(here)
        try:  # the time that counts is the child's alone
            resource.prlimit(pid, resource.RLIMIT_CPU, (limits.cpu, limits.cpu + 5))
        except ProcessLookupError:
            pass
        return pid

    def wait(self, pid, wall=WALL_LIMIT):
        timed_out = False
        signal.setitimer(signal.ITIMER_REAL, wall)
        try:
            _, status, usage = os.wait4(pid, 0)
        except TimeUp:
            os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            timed_out = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        code = os.waitstatus_to_exitcode(status)
        out = Path(self.streams, "out").read_bytes()
        err = Path(self.streams, "err").read_bytes().decode("utf-8", "replace")
        return Outcome(code, out, err, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, timed_out or code == -signal.SIGXCPU)

    def run(self, args, folder, **more):
        return self.wait(self.start(args, folder, **more))

    def must(self, args, folder, **more):
        """A run that prepares a test and has to succeed."""
        done = self.run(args, folder, **more)
        if done.status != 0:
            raise SystemExit(f"loom {' '.join(map(str, args))}: {done.status}\n{done.err}")
        return done


class Faults:
    """The library that lets calls of the program fail (tests/support/faults.cpp); it is beside the program."""

    LARGE = 2048  # bytes of a request for memory that counts

    def __init__(self, program):
        self.program, self.library = program, str(Path(program.path).parent / "loom_faults.so")
        if not Path(self.library).is_file():
            raise SystemExit(f"{self.library} is missing")

    def environment(self, **numbers):
        """save, kill, alloc: the call of that kind that fails."""
        names = {"save": "LOOM_FAIL_SAVE", "kill": "LOOM_KILL_SAVE", "alloc": "LOOM_FAIL_ALLOC"}
        return {"LD_PRELOAD": self.library, "LOOM_FAIL_BYTES": str(self.LARGE), **{names[kind]: str(n) for kind, n in numbers.items()}}

    def count(self, run):
        """(calls that save, large requests for memory) of run(environment=...)."""
        path = Path(self.program.streams, "count")
        run(environment=self.environment() | {"LOOM_COUNT": str(path)})
        return tuple(map(int, path.read_text().split()))


def some(rng, count, whole, few):
    """Numbers from 1 to count: all, or the first, the last and so many between. Of a loop's thousands, which are alike, a whole run takes 200."""
    few = min(count, 200 if whole and count > 800 else count if whole else few)
    if few == count:
        return list(range(1, count + 1))
    return sorted({1, count, *rng.sample(range(1, count + 1), few)})


def leftovers(folder):
    return [str(path) for path in Path(folder).rglob("*.part")]


def complaints(done, folder, names, statuses=(0, 3, 4), silent=()):
    """Returns the faults of a run as texts. `names`: files of which the error must name one. `silent`: exit codes
    that need no line."""
    wrong = []
    if done.timed_out:
        wrong.append(f"took more than {done.cpu:.0f} s")
    elif done.status < 0:
        wrong.append(f"ended by signal {-done.status}")
    elif done.status not in statuses:
        wrong.append(f"exit code {done.status}")
    lines = done.lines()
    if done.status > 0 and not done.timed_out and done.status not in silent:
        if len(lines) != 1 or not lines[0].startswith("loom: "):
            wrong.append(f"{len(lines)} lines on stderr, expected one that begins with loom:")
        elif done.status == 3 and names and not any(name in lines[0] for name in (*names, ": cannot open: ")):  # what is not there is named too
            wrong.append(f"names none of {', '.join(names)}")
    if any(len(line) > LONGEST_LINE for line in done.err.split("\n")):
        wrong.append(f"a line of {max(map(len, done.err.split(chr(10))))} characters")
    if any(ord(c) < 32 and c not in "\n" or 127 <= ord(c) < 160 for c in done.err):
        wrong.append("control characters on stderr")
    if done.status >= 0 and leftovers(folder):
        wrong.append(f"left {leftovers(folder)[0]}")
    return wrong


def tree(folder, without=()):
    """The bytes of every file below a folder by its path in it."""
    base = Path(folder)
    return {str(p.relative_to(base)): p.read_bytes() for p in sorted(base.rglob("*")) if p.is_file() and p.name not in without}


def write_tree(folder, files):
    for name, data in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program", help="build/bin/loom")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true", default=os.environ.get("LOOM_OUTSIDE") == "whole",
                        help="the full counts; also with LOOM_OUTSIDE=whole in the environment")
    return parser


class Tally:
    """Counts rounds and failures, and ends the script."""

    def __init__(self):
        self.rounds, self.failures, self.began = 0, 0, time.monotonic()

    def fail(self, what):
        self.failures += 1
        print(f"FAILED {what}", flush=True)

    def end(self, what):
        print(f"{what}: {self.rounds} rounds, {self.failures} failures, {time.monotonic() - self.began:.0f} s", flush=True)
        raise SystemExit(1 if self.failures else 0)
