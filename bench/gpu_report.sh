#!/bin/sh
# Whether a graphics card has the bits of the CPU, and how fast it is: see bench/gpu_report.py --help.
exec "${PYTHON:-python3}" "$(dirname "$0")/gpu_report.py" "$@"
