#!/bin/sh
# Runs a program with the graphics card of the tests: Mesa's lavapipe, which computes on the CPU, through the library of
# the Python package wgpu.  with_gpu.sh PROGRAM [ARGUMENT...]
# LOOM_WEBGPU_LIB and VK_DRIVER_FILES name others.
set -eu
if [ -z "${LOOM_WEBGPU_LIB:-}" ]; then
  LOOM_WEBGPU_LIB=$("${LOOM_PYTHON:-python3}" -c '
import importlib.util, pathlib, sys
spec = importlib.util.find_spec("wgpu")
found = list(pathlib.Path(spec.origin).parent.glob("resources/*wgpu_native*")) if spec else []
print(found[0] if found else sys.exit("with_gpu.sh: no Python package wgpu"))')
fi
for file in /usr/share/vulkan/icd.d/lvp_icd*.json; do VK_DRIVER_FILES=${VK_DRIVER_FILES:-$file}; done
export LOOM_WEBGPU_LIB VK_DRIVER_FILES LOOM_NEEDS_GPU=1 XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}"
exec "$@"
