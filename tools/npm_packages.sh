#!/bin/sh
# Installs what tests of the JavaScript driver need, by name, where LOOM_NPM says (the user's cache otherwise), and prints that folder.
set -eu
folder=${LOOM_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/loom/npm}
wanted="webgpu@0.6.2"
if [ "$(cat "$folder/packages" 2>/dev/null)" != "$wanted" ]; then
  mkdir -p "$folder"
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent "$wanted" >&2
  printf '%s\n' "$wanted" >"$folder/packages"
fi
printf '%s\n' "$folder"
