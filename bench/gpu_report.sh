#!/bin/sh
# What a graphics card does for a language model, as the rows of docs/gpu.md: the same bits as the CPU, and tokens per
# second.  bench/gpu_report.sh LOOM MODEL [DEVICE]      needs a WebGPU library: LOOM_WEBGPU_LIB
set -eu
loom=${1:?usage: gpu_report.sh LOOM MODEL [DEVICE]} model=${2:?usage: gpu_report.sh LOOM MODEL [DEVICE]} device=${3:-gpu}
for prompt in "What is the capital of France?" "Write a short story about a lighthouse keeper."; do
  for where in cpu "$device"; do
    "$loom" generate "$model" --prompt "$prompt" -n 64 --ignore-eos --json -q --device "$where" >"${TMPDIR:-/tmp}/gpu_report.$$"
    python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); print(sys.argv[2], len(a["ids"]), "ids", a["hash"])' "${TMPDIR:-/tmp}/gpu_report.$$" "$where"
  done
done
rm -f "${TMPDIR:-/tmp}/gpu_report.$$"
"$loom" bench "$model" --device "$device" --json -q | python3 -c '
import json, sys
r = json.load(sys.stdin)
g, tokens = r["gpu"], (r["repeats"] + 1) * (r["new_tokens"] + 1)
print("| adapter | prefill tok/s | decode tok/s | dispatches per token | submits | bytes read | buffers MB |\n| --- | --- | --- | --- | --- | --- | --- |")
d = g["decode"]
print("| %s, %s | %.0f | %.0f | %.0f | %.2f | %.0f | %.0f |" % (g["adapter"], g["driver"], r["prefill_tps"], r["decode_tps"], g["dispatches"] / tokens, d["submits_per_token"], d["bytes_read_per_token"], g["buffer_mb"]))'
