"""Shared by the benchmark drivers: reports the load of other processes, measures one process, and names the machine."""
import os
import platform
import subprocess
import time
from collections import namedtuple

HZ = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()
# foreign, steal: cores that other processes and the hypervisor used meanwhile; rss_mb, cpu_s: the process's
# own peak of memory and processor time
Run = namedtuple("Run", "code out error foreign steal rss_mb wall_s cpu_s")


def busy_and_steal():
    """CPU seconds since boot: user + nice + system + irq + softirq, and stolen ones."""
    with open("/proc/stat", encoding="ascii") as file:
        v = [int(x) for x in file.readline().split()[1:]]
    return (v[0] + v[1] + v[2] + v[5] + v[6]) / HZ, v[7] / HZ


def foreign_now(seconds=0.3):
    before, start = busy_and_steal()[0], time.monotonic()
    time.sleep(seconds)
    return (busy_and_steal()[0] - before) / (time.monotonic() - start)


def max_foreign(threads):
    """Cores that other processes may use while `threads` threads are timed: one busy core slows spinning threads at once,
    while one thread keeps its speed as long as a core is left to it."""
    return 0.05 if threads > 1 or CORES == 1 else 0.55 * CORES


def wait_quiet(threads, seconds):
    end = time.monotonic() + seconds
    while foreign_now() > max_foreign(threads):
        if time.monotonic() > end:
            return False
    return True


def measure(command, environment=None):
    """Runs a command and reports its output with what else went on; its children count as its own."""
    (busy, steal), start = busy_and_steal(), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    out, error = process.stdout.read(), process.stderr.read()[-2000:]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    busy_after, steal_after = busy_and_steal()
    foreign = max(0.0, (busy_after - busy - usage.ru_utime - usage.ru_stime) / wall)
    return Run(process.returncode, out, error, foreign, (steal_after - steal) / wall, usage.ru_maxrss / 1024, wall,
               usage.ru_utime + usage.ru_stime)


def describe():
    """CPU, the instruction sets that Loom uses, memory, system."""
    info, memory = {}, "?"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            info.setdefault(key.strip(), value.strip())
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = f"{int(file.readline().split()[1]) // 2**20} GiB"
    flags = info.get("flags", info.get("Features", "")).split()
    wanted = ("sse4_1", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "asimd",
              "asimddp", "i8mm", "sve")
    return {"cpu": info.get("model name", platform.processor() or platform.machine()), "cores": CORES, "family": info.get("cpu family", ""),
            "model": info.get("model", ""), "flags": [f for f in wanted if f in flags], "memory": memory, "kernel": platform.release(),
            "machine": platform.machine()}
