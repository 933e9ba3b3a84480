#!/bin/sh
# Loom beside llama.cpp on the same GGUF files, interleaved: see bench/llama_cpp.py --help.
exec "${PYTHON:-python3}" "$(dirname "$0")/llama_cpp.py" "$@"
