#!/usr/bin/env python3
"""Throughput of `loom serve` with several clients at once, beside one request at a time, `loom bench` and llama-server.

  bench/serving.py MODEL [--streams 1,8,32] [--rounds 3] [--threads 1] [--device cpu] [--llama-server PROGRAM] [--json FILE]
  bench/serving.py MODEL --neighbour 2000 --context 4096 [--rounds 3] [--threads 1] [--llama-server PROGRAM]

Every stream sends one chat whose prompt no other stream has and reads its answer as server-sent events; rounds of all
servers are interleaved. A row reports the median round: tokens per second of all streams together, seconds to the first token and
between pieces of text (median and worst stream); and the best round by tokens per second of the server's own processor
time, which other programs can only lower. "one at a time" is loom serve --parallel 1. `loom bench` reads and writes as many tokens
in as many sequences, by its own processor time. Hashes of loom's answers must be those of the same chats asked one by
one. --neighbour asks one chat 50 ms after another with a prompt of so many words, and prints the seconds to the first token of the second chat.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = "gravity river engine window music copper garden winter planet signal harbour letter circle forest".split()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(process):
    """Processor time that a process has used so far."""
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, name, command, port):
        self.name, self.port = name, port
        # A file, since a server that logs each request would wait for a reader of a pipe.
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        begin = time.monotonic()
        while not self.is_ready():
            if self.process.poll() is not None:
                self.log.seek(0)
                sys.exit(f"{name} ended: {self.log.read()[-2000:]}")
            if time.monotonic() - begin > 120:
                sys.exit(f"{name} is not ready after two minutes")
            time.sleep(0.05)

    def is_ready(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def read_chat(server, prompt, tokens):
    """Seconds from the request to each piece of the answer, tokens of the prompt that were read, and loom's hash; ValueError
    says what else came."""
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": tokens, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}, "ignore_eos": True}
    begin, times, written, read, digest = time.monotonic(), [], 0, 0, None
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}: {response.read()[:500]!r}")
        for line in response:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise ValueError(f"{event['error']}")
            if any(choice["delta"].get("content") for choice in event.get("choices", [])):
                times.append(time.monotonic() - begin)
            if event.get("usage"):
                usage = event["usage"]
                written = usage["completion_tokens"]
                read = usage["prompt_tokens"] - (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            digest = event.get("loom", {}).get("hash", digest)
    finally:
        connection.close()
    if written != tokens:
        raise ValueError(f"{written} tokens came, {tokens} were asked for")
    return times, read, digest


def chat(server, prompt, tokens):
    """Like read_chat(); ends the program where it fails."""
    try:
        return read_chat(server, prompt, tokens)
    except ValueError as error:
        sys.exit(f"{server.name}: {error}")


def prompts(streams, words, seed):
    chooser = random.Random(seed)
    return [" ".join(chooser.choice(WORDS) for _ in range(words)) + "?" for _ in range(streams)]


def measure(server, streams, args, seed):
    texts, used, begin = prompts(streams, args.words, seed), cpu_seconds(server.process.pid), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        answers = list(pool.map(lambda text: chat(server, text, args.new_tokens), texts))
    seconds, used = time.monotonic() - begin, cpu_seconds(server.process.pid) - used
    gaps = [(times[-1] - times[0]) / max(len(times) - 1, 1) for times, _, _ in answers]
    return {"tokens_per_second": streams * args.new_tokens / seconds,
            "tokens_per_cpu_second": streams * args.new_tokens / used, "first_token_seconds": [t[0] for t, _, _ in answers],
            "seconds_per_piece": gaps, "prompt_tokens": statistics.median(read for _, read, _ in answers),
            "hashes": [digest for _, _, digest in answers], "prompts": texts}


def wait_after(server, args, seed):
    """Seconds to the first token of a short chat that begins while the prompt of a long one is read."""
    long, short = prompts(1, args.neighbour, seed)[0], prompts(1, 8, seed + 1)[0]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        neighbour = pool.submit(chat, server, long, 4)
        time.sleep(0.05)
        times, _, _ = chat(server, short, 4)
        _, read, _ = neighbour.result()
    return times[0], read


def compare_waits(args):
    started, waits = start(args, 4), {}
    servers = [server for server in started if server.name != "one at a time"]
    try:
        for server in servers:
            chat(server, prompts(1, 8, 0)[0], 4)  # warms up
        for number in range(args.rounds):
            for server in servers:
                wait, read = wait_after(server, args, 10 * number + 1)
                waits.setdefault(server.name, []).append(wait)
                print(f"{server.name:14}{wait:8.3f} s after a neighbour's prompt of {read} tokens", flush=True)
    finally:
        for server in started:
            server.stop()
    if args.llama_server:
        ratios = sorted(mine / theirs for mine, theirs in zip(waits["loom"], waits["llama-server"]))
        print("loom's time over llama-server's: " + " / ".join(f"{r:.2f}" for r in (ratios[0], statistics.median(ratios), ratios[-1])))


def program_cpu(args, streams, prompt_tokens, repeats):
    """Processor time of `loom bench`."""
    command = [args.loom, "bench", args.model, "--batch", str(streams), "--prompt-tokens", str(prompt_tokens),
               "--new-tokens", str(args.new_tokens), "--repeats", str(repeats), "-t", args.threads, "-q", "--json",
               "--ctx", str(args.context), "--device", args.device]
    run = machine.measure(command)
    if run.code != 0:
        sys.exit(f"loom bench: {run.error}")
    return run.cpu_s


def measure_program(args, streams, prompt_tokens):
    """Tokens per second of processor time of `loom bench`, without what loading and its first passes take."""
    more = max(3, 48 // streams)  # so that loading is little of it
    once, often = (program_cpu(args, streams, prompt_tokens, repeats) for repeats in (1, 1 + more))
    return {"tokens_per_cpu_second": streams * args.new_tokens * more / (often - once)}


def row_of(name, streams, rounds):
    median = lambda values: statistics.median(values)
    row = {"server": name, "streams": streams,
           "tokens_per_cpu_second": max(r["tokens_per_cpu_second"] for r in rounds)}
    if "tokens_per_second" not in rounds[0]:
        return row
    return {**row, "tokens_per_second": median([r["tokens_per_second"] for r in rounds]),
            "first_token_seconds": median([median(r["first_token_seconds"]) for r in rounds]),
            "first_token_seconds_worst": median([max(r["first_token_seconds"]) for r in rounds]),
            "seconds_per_piece": median([median(r["seconds_per_piece"]) for r in rounds]),
            "seconds_per_piece_worst": median([max(r["seconds_per_piece"]) for r in rounds])}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"), help="program to measure")
    parser.add_argument("--llama-server", help="llama.cpp's server, interleaved with loom's")
    parser.add_argument("--streams", default="1,8,32", help="numbers of clients at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--words", type=int, default=24, help="words of a prompt")
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--context", type=int, default=512, help="tokens of one sequence")
    parser.add_argument("--neighbour", type=int, metavar="WORDS", help="measure the wait after a prompt of so many words in place of throughput")
    parser.add_argument("--device", default="cpu", help="where loom computes: cpu, gpu")
    parser.add_argument("--json", help="file for all rounds")
    return parser.parse_args()


def start(args, most):
    servers = []
    for name, parallel in (("loom", most), ("one at a time", 1)):
        port = free_port()
        servers.append(Server(name, [args.loom, "serve", args.model, "--port", str(port), "-t", args.threads, "-q",
                                     "--ctx", str(args.context), "--parallel", str(parallel), "--device", args.device], port))
    if args.llama_server:
        port = free_port()
        servers.append(Server("llama-server", [args.llama_server, "-m", args.model, "--port", str(port), "-np", str(most),
                                               "-t", args.threads, "-c", str(args.context * most)], port))
    return servers


def report(rounds, path):
    rows = [row_of(name, streams, each) for (name, streams), each in rounds.items()]
    print(f"{'server':14}{'streams':>8}{'tok/s':>10}{'per CPU s':>11}{'first':>9}{'worst':>9}{'piece':>9}{'worst':>9}")
    for row in rows:
        line = f"{row['server']:14}{row['streams']:8}"
        if "tokens_per_second" not in row:
            print(f"{line}{'':10}{row['tokens_per_cpu_second']:11.1f}")
            continue
        print(f"{line}{row['tokens_per_second']:10.1f}{row['tokens_per_cpu_second']:11.1f}"
              f"{row['first_token_seconds']:9.3f}{row['first_token_seconds_worst']:9.3f}"
              f"{row['seconds_per_piece']:9.4f}{row['seconds_per_piece_worst']:9.4f}")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "rounds": {f"{name} {streams}": each for (name, streams), each in rounds.items()}},
                      file, indent=1)


def main():
    args = parse()
    if args.neighbour:
        return compare_waits(args)
    counts = sorted({int(n) for n in args.streams.split(",")})
    servers, rounds = start(args, max(counts)), {}
    try:
        for server in servers:
            measure(server, 1, args, seed=0)  # warms up
        for number in range(args.rounds):
            for streams in counts:
                for server in servers:
                    rounds.setdefault((server.name, streams), []).append(measure(server, streams, args, 1000 * number + streams))
                read = int(rounds["loom", streams][-1]["prompt_tokens"])
                if args.device == "cpu":  # processor time says nothing of a card
                    rounds.setdefault(("loom bench", streams), []).append(measure_program(args, streams, read))
            print(f"round {number + 1}", file=sys.stderr, flush=True)
        last = rounds["loom", counts[-1]][-1]
        for text, expected in zip(last["prompts"], last["hashes"]):
            if chat(servers[0], text, args.new_tokens)[2] != expected:
                sys.exit(f"loom: another hash than one of {counts[-1]} streams")
    finally:
        for server in servers:
            server.stop()
        if rounds:
            report(rounds, args.json)


if __name__ == "__main__":
    main()
